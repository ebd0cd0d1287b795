from __future__ import annotations

import pytest

from isoglot.synthetic.lexicon import inflect_noun, inflect_verb, number_word, suffixed, to_adverb


@pytest.mark.parametrize(
    ("entry", "plural"),
    [
        ("box", "boxes"),
        ("baby", "babies"),
        ("day", "days"),
        ("church", "churches"),
        ("wolf/wolves", "wolves"),
    ],
)
def test_plural_examples(entry: str, plural: str) -> None:
    assert inflect_noun(entry) == {"sg": entry.partition("/")[0], "pl": plural}


@pytest.mark.parametrize(
    ("entry", "forms"),
    [
        ("walk", "walk walks walked walked walking"),
        ("stop*", "stop stops stopped stopped stopping"),
        ("bake", "bake bakes baked baked baking"),
        ("carry", "carry carries carried carried carrying"),
        ("go/went/gone", "go goes went gone going"),
        ("run/ran/run", "run runs ran run running"),
        ("forget*/forgot/forgotten", "forget forgets forgot forgotten forgetting"),
        ("tie/tied/tied", "tie ties tied tied tying"),
        ("see/saw/seen", "see sees saw seen seeing"),
        ("play", "play plays played played playing"),
        ("rebuild/rebuilt/rebuilt", "rebuild rebuilds rebuilt rebuilt rebuilding"),
        ("draw/drew/drawn", "draw draws drew drawn drawing"),
    ],
)
def test_inflect_verb_examples(entry: str, forms: str) -> None:
    assert list(inflect_verb(entry).values()) == forms.split()


def test_suffixed_degrees_and_to_adverb() -> None:
    assert [suffixed(a, "er") for a in ("big", "happy", "wide", "tall", "weak")] == [
        "bigger",
        "happier",
        "wider",
        "taller",
        "weaker",
    ]
    assert [suffixed(a, "est") for a in ("thin", "heavy", "large")] == ["thinnest", "heaviest", "largest"]
    assert [to_adverb(a) for a in ("happy", "gentle", "quick", "sole", "full")] == [
        "happily",
        "gently",
        "quickly",
        "solely",
        "fully",
    ]


def test_number_word_examples() -> None:
    assert [number_word(n) for n in (2, 19, 20, 42)] == ["two", "nineteen", "twenty", "forty-two"]
