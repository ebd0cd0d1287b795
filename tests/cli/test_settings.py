from __future__ import annotations

import pytest

from isoglot.cli.settings import parse_settings
from isoglot.errors import ConfigurationError
from isoglot.finetuning.options import FinetuneOptions


def test_values_are_typed_as_in_a_recipe() -> None:
    given = ["a=5e-5", "b=no", "c=null", "d=[1, 2]", "f=true", "g=0:0", "h=x=y"]
    assert parse_settings(given, example="--set a=1") == {
        "a": 5e-5, "b": "no", "c": None, "d": (1, 2), "f": True, "g": "0:0", "h": "x=y"
    }  # fmt: skip
    assert parse_settings(["e=3,4e-1", "d=[1, 2]"], example="--set a=1") == {"e": (3, 0.4), "d": (1, 2)}
    assert parse_settings(["language_ids={en: 2, xx: 3}"], example="") == {"language_ids": {"en": 2, "xx": 3}}
    chosen = FinetuneOptions.build(select="joint", **parse_settings(["select_languages=de"], example=""))
    assert chosen.select_languages == ("de",), "one language is several too"


@pytest.mark.parametrize(
    ("given", "message"),
    [(["a"], "for example --set level=word"), (["=1"], "KEY=VALUE is needed"), (["a=1", "a=2"], "given twice"),
     (["a=[1"], "is not YAML")],
)  # fmt: skip
def test_mistakes(given: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_settings(given, example="--set level=word")
