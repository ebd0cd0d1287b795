"""Exact match and F1 of answers: SQuAD's normalisation, and MLQA's for each language.

XTREME scores XQuAD and TyDiQA with SQuAD's *English* normalisation whatever the language, and MLQA with its own; so
does this module, and the tasks report MLQA's beside the first.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from isoglot.results.example_counts import ExampleCounts, shares

_ARTICLES = {
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "hi": None,
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": r"\sال^|ال",  # the first branch can match nothing; kept, for it is what the published scores were made with
    "zh": None,
}
MLQA_LANGUAGES = tuple(_ARTICLES)
"""Languages that MLQA's normalisation knows."""

_HAN = re.compile("[\u4e00-\u9fa5]")


def normalise_squad(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces.

    Example:
        >>> normalise_squad("The  U.S.A.")
        'usa'
    """
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def normalise_mlqa(text: str, language: str) -> str:
    """Lower case, no punctuation of any script, no articles of the language; Chinese in single characters.

    A language without articles here is treated as Hindi.

    Example:
        >>> normalise_mlqa("Das Haus, eines der „alten“", "de")
        'haus alten'
        >>> normalise_mlqa("在2008年", "zh")
        '在 2008 年'
    """
    text = "".join(
        c for c in text.lower() if c not in string.punctuation and unicodedata.category(c)[0] != "P"
    )
    articles = _ARTICLES.get(language)
    if articles is not None:
        text = re.sub(articles, " ", text)
    if language == "zh":
        text = _HAN.sub(lambda match: f" {match[0]} ", text)
    return " ".join(text.split())


def answer_score(
    gold: Mapping[str, Sequence[str]], predicted: Mapping[str, str], *, mlqa_language: str | None = None
) -> dict[str, ExampleCounts]:
    """``f1`` and ``exact_match`` of each question, after normalisation, with the nearest gold answer.

    A question without a prediction scores 0. One without gold answers is right when the prediction is empty.

    Other ids than the gold ones are ignored; without ``mlqa_language`` answers are normalised as SQuAD's.
    """
    normalise: Callable[[str], str] = (
        normalise_squad if mlqa_language is None else partial(normalise_mlqa, language=mlqa_language)
    )
    exact, f1 = np.zeros(len(gold)), np.zeros(len(gold))
    for number, (name, answers) in enumerate(gold.items()):
        if name not in predicted:
            continue
        answer, right = normalise(predicted[name]), [normalise(text) for text in answers] or [""]
        exact[number] = answer in right
        f1[number] = max(_f1(answer.split(), text.split()) for text in right) if answers else answer == ""
    return {"f1": shares(f1), "exact_match": shares(exact)}


def _f1(words: list[str], gold: list[str]) -> float:
    common = sum((Counter(words) & Counter(gold)).values())
    return 2 * common / (len(words) + len(gold)) if common else 0.0
