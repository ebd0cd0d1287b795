"""A setting of the process has its old value again, however blocks overlap."""

from contextlib import ExitStack

import pytest

from isoglot.runs.process_wide import ProcessWide, Restore


@pytest.mark.parametrize("first_out", [0, 1])
def test_overlapping_blocks_give_the_first_value_back(first_out: int) -> None:
    setting = ["old"]

    def change() -> Restore:
        before = setting[0]
        setting[0] = "new"
        return lambda: setting.__setitem__(0, before)

    block = ProcessWide(change).block
    stacks = ExitStack(), ExitStack()  # as of two threads
    for stack in stacks:
        stack.enter_context(block())
    stacks[first_out].close()
    assert setting == ["new"], "the other one is inside still"
    stacks[1 - first_out].close()
    assert setting == ["old"]
    with pytest.raises(KeyError), block():
        raise KeyError
    assert setting == ["old"]
