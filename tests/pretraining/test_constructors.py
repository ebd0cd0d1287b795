"""A callable's signature as the schema of its section."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Literal

import pytest
from datasets import Dataset

from isoglot.errors import ConfigurationError
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.masked_lm import MaskedLM
from isoglot.pretraining.constructors import Constructor, constructor
from isoglot.recipe.document import Document
from isoglot.testing import tiny_model, tiny_tokenizer
from isoglot.views import VIEWS


@dataclass
class Base:
    share: float = field(default=0.5, kw_only=True)


@dataclass
class Thing(Base):
    tokenizer: InitVar[object]
    needed: int = field(kw_only=True)
    mode: Literal["a", "b"] = field(default="a", kw_only=True)
    lexicon: Dataset | None = field(default=None, kw_only=True)
    max_length: int | None = field(default=None, kw_only=True)


def plain(
    model: object, *, layers: tuple[int, ...] = (1,), seed: int = 0, tokenizer: object = None, **rest: object
):  # type: ignore[no-untyped-def]
    """A function with open options."""
    return (model, layers, seed, tokenizer, rest)


THING = Constructor("thing", Thing, ("max_length",))
PLAIN = Constructor("plain", plain, ("tokenizer", "seed"))


def test_options_are_the_parameters_that_isoglot_does_not_give() -> None:
    assert list(THING.options) == ["share", "needed", "mode", "lexicon", "max_length"]
    assert list(PLAIN.options) == ["layers", "seed"]
    assert THING.corpora == {"lexicon"}


def problems(made_by: Constructor, **options: object) -> list[str]:
    document = Document(values={"streams": {"words": {}}})
    made_by.check(document, ("views", "x"), options)
    return [str(p).removeprefix("recipe: ") for p in document.problems]


def test_unknown_wrong_and_missing_options() -> None:
    assert problems(THING, needed=1) == []
    assert problems(THING, needed=1, share=1, mode="b", lexicon="words") == []
    assert problems(THING, needed=1, lexicon="word") == [
        "views.x.lexicon: 'word' is not a stream, and a corpus is needed; did you mean 'words'?"
    ]
    assert problems(THING) == ["views.x: option 'needed' is missing; add `needed: ...`"]
    assert problems(THING, needed=1, mod="a") == ["views.x.mod: unknown option; did you mean 'mode'?"]
    assert problems(THING, needed=1, mode="c") == ["views.x.mode: 'c' given; known: a, b"]
    assert problems(PLAIN, anything=3, layers=[1, 2]) == []
    assert len(problems(PLAIN, layers=["one"])) == 1


def test_what_isoglot_fills_in_and_what_a_recipe_gives() -> None:
    words = Dataset.from_dict({"source": ["a"]})
    made = THING.build("tokenizer", {"needed": 1, "lexicon": "words"}, {"words": words}, max_length=9, seed=3)
    assert (made.lexicon, made.max_length) == (words, 9)
    assert THING.build("tokenizer", {"needed": 1, "max_length": 4}, {}, max_length=9).max_length == 4
    assert PLAIN.build("m", {"layers": [1], "x": 2}, {}, tokenizer="t", seed=5) == (
        "m",
        (1,),
        5,
        "t",
        {"x": 2},
    )
    assert PLAIN.build("m", {"seed": 7}, {}, tokenizer="t", seed=5)[2] == 7
    with pytest.raises(ConfigurationError, match=r"thing does not take these options \(TypeError: .*needed"):
        THING.build("tokenizer", {}, {})


def test_types_of_a_recipe() -> None:
    assert constructor("objectives", "masked_lm").make is MaskedLM
    with pytest.raises(ConfigurationError, match="unknown view 'masked_par'; did you mean 'masked_pair'"):
        constructor("views", "masked_par")


@pytest.mark.parametrize(
    ("section", "name"), [*(("views", v) for v in VIEWS), *(("objectives", o) for o in OBJECTIVES)]
)
def test_options_are_attributes(section: str, name: str) -> None:
    """What a constructor settles from a default of `None` can be shown; the contract of views and objectives."""
    made_by = constructor(section, name)
    first = tiny_tokenizer() if section == "views" else tiny_model("bert", tokenizer=tiny_tokenizer())
    given = {"copied_vocabulary": 40} if "copied_vocabulary" in made_by.options else {}
    made = made_by.build(first, given, {}, tokenizer=tiny_tokenizer(), max_length=32)
    unset = {n for n, p in made_by.options.items() if p.default is None} - {
        "lexicon",
        *given,
        *made_by.corpora,
    }
    assert {option for option in unset if not hasattr(made, option)} == set()
