"""Options of `isoglot world`: a field is an argument in Python and a flag."""

from typing import Annotated

from pydantic import Field

from isoglot.core.options import Options, option

_ROWS = "How much (0: none)"
_Rows = Annotated[int, Field(ge=0, le=10_000_000)]  # all of a file are in memory


class WorldRequest(Options):
    """The world, and the number of rows of each kind; see :class:`isoglot.synthetic.world.World`."""

    # All fields are in the record of a world. A new one needs the default None: a key that a record lacks counts as
    # None, so worlds that were written before are still recognised. One that is on or off is a `bool | None`, which
    # becomes a plain flag.
    seed: int = option(0, "Start of the random numbers: the same one gives the same world.")
    size: int | None = option(None, "How many dictionary words the world has; by default all.", ge=200)
    text: _Rows = option(20_000, "Lines of text to train on.", group=_ROWS)
    pos: _Rows = option(4_000, "Trees to train on.", group=_ROWS)
    ner: _Rows = option(4_000, "Sentences with names to train on.", group=_ROWS)
    nli: _Rows = option(12_000, "Inference pairs to train on.", group=_ROWS)
    paws: _Rows = option(8_000, "Paraphrase pairs to train on.", group=_ROWS)
    qa: _Rows = option(4_000, "Questions to train on.", group=_ROWS)
    dev: _Rows = option(500, "Development rows of each kind.", group=_ROWS)
    test: _Rows = option(1_000, "Test rows of each kind.", group=_ROWS)

    def rows(self, kind: str, split: str) -> int:
        """The number of rows of a file; a kind without rows to train on has none to test on either."""
        train: int = getattr(self, kind)
        if not train or split == "train":
            return train
        return int(getattr(self, split))
