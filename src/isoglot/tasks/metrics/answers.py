"""Exact match and F1 of answers: SQuAD's normalisation, and MLQA's for each language.

XTREME normalises answers of XQuAD and TyDiQA as SQuAD's, as if they were *English*, whatever their language, and
answers of MLQA by MLQA's own rules. So does this module; the tasks report the scores by MLQA's rules beside the others.
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
    # The first branch can match nothing (^ behind a letter). It is kept: the published scores were made with it.
    "ar": r"\sال^|ال",
    "zh": None,
}
MLQA_LANGUAGES = tuple(_ARTICLES)
"""Languages that MLQA's normalisation knows."""

_HAN = re.compile("[\u4e00-\u9fa5]")


def normalise_squad(text: str) -> str:
    """Normalise an answer as SQuAD's script does: lower case, no ASCII punctuation, no English articles, single spaces.

    Example:
        >>> normalise_squad("The  U.S.A.")
        'usa'
    """
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def normalise_mlqa(text: str, language: str) -> str:
    """Normalise an answer as MLQA's script does: lower case, no punctuation of any script, no articles of the language.

    Chinese text is cut into single characters, which then count as words. Of a language that the script does not know
    no articles are removed.

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
    """Score the answers of each question by ``f1`` and ``exact_match``, after normalisation.

    1. A question with several gold answers counts the best score over them.
    2. A question without a prediction scores 0.
    3. A question without gold answers is right if the prediction is empty.
    4. Predictions for ids that are not among the gold ones are ignored.

    Args:
        gold: Id of a question to its gold answers.
        predicted: Id of a question to the predicted answer.
        mlqa_language: Normalise as MLQA's answers in this language; ``None`` for SQuAD's normalisation.
    """
    normalise: Callable[[str], str] = (
        normalise_squad if mlqa_language is None else partial(normalise_mlqa, language=mlqa_language)
    )
    exact, f1 = np.zeros(len(gold)), np.zeros(len(gold))
    for number, (question, gold_answers) in enumerate(gold.items()):
        if question not in predicted:  # 2
            continue
        answer = normalise(predicted[question])
        if not gold_answers:  # 3
            exact[number] = f1[number] = answer == ""
            continue
        right_answers = [normalise(text) for text in gold_answers]
        exact[number] = answer in right_answers  # 1
        f1[number] = max(_f1(answer.split(), text.split()) for text in right_answers)
    return {"f1": shares(f1), "exact_match": shares(exact)}


def _f1(words: list[str], gold: list[str]) -> float:
    """Return F1 of the words of an answer; a word counts as often as it occurs on both sides."""
    common = sum((Counter(words) & Counter(gold)).values())
    return 2 * common / (len(words) + len(gold)) if common else 0.0
