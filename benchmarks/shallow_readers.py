"""What shallow readers reach on a task: the bar below which a score says nothing.

Majority classes, bags of words of a pair or of its second sentence alone, the commonest tag of each word, the commonest
answer of a question word, and the sentence with most words of the question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from datasets import Dataset
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from isoglot.tasks.metrics.chunks import entity_score

__all__ = ["Baseline", "pair_baselines", "span_baselines", "tag_baselines", "tree_baselines"]

Tokens = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Baseline:
    """One shallow reader's score on held-out rows."""

    task: str
    name: str
    metric: str
    value: float


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]+|[^\w\s]", text.lower())


def _both(first: str, second: str) -> list[str]:
    return [f"1 {w}" for w in _words(first)] + [f"2 {w}" for w in _words(second)]


def _second(first: str, second: str) -> list[str]:
    del first
    return [f"2 {w}" for w in _words(second)]


def _overlap(first: str, second: str) -> list[str]:
    """Which words come, which go, how many of each, and how long the sentences are."""
    a, b = set(_words(first)), set(_words(second))
    counts = [f"new {min(len(b - a), 6)}", f"lost {min(len(a - b), 6)}", f"longer {len(b) - len(a) > 0}"]
    return counts + [f"+{w}" for w in b - a] + [f"-{w}" for w in a - b]


def pair_baselines(train: Dataset, test: Dataset, *, task: str) -> list[Baseline]:
    """Accuracy of the majority label and of logistic regressions on bags of words.

    Args:
        train: PAIR rows to fit.
        test: PAIR rows to score.
        task: name for the report.

    Returns:
        ``majority``, ``second only`` (hypothesis-only), ``bag of words`` of both sides, and ``overlap`` (words that
        come and go).
    """
    readers: dict[str, Tokens] = {"second only": _second, "bag of words": _both, "overlap": _overlap}
    common = Counter(train["label"]).most_common(1)[0][0]
    found = [Baseline(task, "majority", "accuracy", float(np.mean([x == common for x in test["label"]])))]
    for name, reader in readers.items():
        made = [
            [reader(a, b) for a, b in zip(rows["first"], rows["second"], strict=True)]
            for rows in (train, test)
        ]
        value = _logistic_accuracy(made[0], list(train["label"]), made[1], list(test["label"]))
        found.append(Baseline(task, name, "accuracy", value))
    return found


def _logistic_accuracy(
    rows: Sequence[Sequence[str]],
    labels: list[str],
    test_rows: Sequence[Sequence[str]],
    test_labels: list[str],
) -> float:
    """Softmax regression on the words that occur in two rows or more."""
    reader = make_pipeline(
        CountVectorizer(analyzer=list, binary=True, min_df=2), LogisticRegression(max_iter=500)
    )
    return float(reader.fit(rows, labels).score(test_rows, test_labels))


def tag_baselines(train: Dataset, test: Dataset, *, task: str) -> list[Baseline]:
    """Token accuracy of the majority tag and of each word's commonest tag; entity F1 too if the tags are IOB2."""
    per_word: dict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in zip(train["words"], train["tags"], strict=True):
        for word, tag in zip(words, tags, strict=True):
            per_word[word][tag] += 1
    overall = Counter(t for c in per_word.values() for t, n in c.items() for _ in range(n))
    common = overall.most_common(1)[0][0]
    best = {w: c.most_common(1)[0][0] for w, c in per_word.items()}
    gold = list(test["tags"])
    guesses = {
        "majority": [[common] * len(words) for words in test["words"]],
        "word's commonest tag": [[best.get(w, common) for w in words] for words in test["words"]],
    }
    found = []
    for name, guess in guesses.items():
        right = [a == b for g, h in zip(guess, gold, strict=True) for a, b in zip(g, h, strict=True)]
        found.append(Baseline(task, name, "accuracy", float(np.mean(right))))
        if any(t.startswith("B-") for t in overall):
            found.append(Baseline(task, name, "entity F1", entity_score(gold, guess)["f1"].value / 100))
    return found


def tree_baselines(test: Dataset, *, task: str = "treebank") -> list[Baseline]:
    """Unlabelled attachment when every word depends on the next, or on the one before."""
    found = []
    for name, step in (("next word", 1), ("previous word", -1)):
        right = [h == i + step for heads in test["heads"] for i, h in enumerate(heads, start=1)]
        found.append(Baseline(task, name, "UAS", float(np.mean(right))))
    return found


def span_baselines(train: Dataset, test: Dataset, *, task: str = "qa") -> list[Baseline]:
    """Exact match of readers that know answer types, and of one that matches words.

    ``commonest answer``: of the training answers to the question's first word, the commonest that the story has.
    ``first of type``: the first such answer in the story. ``most overlap``: the first such answer, not named in the
    question, in the sentence with most of the question's words.
    """
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for question, answers in zip(train["question"], train["answers"], strict=True):
        seen[question.split()[0]].update(a.lower() for a in answers["text"])
    right: Counter[str] = Counter()
    for question, context, answers in zip(test["question"], test["context"], test["answers"], strict=True):
        gold = {a.lower() for a in answers["text"]}
        known = seen[question.split()[0]]
        here = _candidates(context, known)
        if not here:
            continue
        asked = set(_words(question))
        # The last of equally good sentences or the first is a coin's toss: the first.
        best = max(re.findall(r".+?[.?](?= |$)", context), key=lambda s: len(asked & set(_words(s))))
        near = [c for c in _candidates(best, known) if c not in question.lower()] or here
        right["commonest answer"] += max(here, key=lambda c: known[c]) in gold
        right["first of type"] += here[0] in gold
        right["most overlap"] += near[0] in gold
    return [
        Baseline(task, name, "exact match", right[name] / len(test))
        for name in ("commonest answer", "first of type", "most overlap")
    ]


def _candidates(text: str, known: Counter[str]) -> list[str]:
    """Known answers that occur in a text, in its order: spans of one to four words."""
    words = text.lower().replace(",", " ").replace(".", " ").split()
    spans = (
        " ".join(words[i : i + n]) for i in range(len(words)) for n in (4, 3, 2, 1) if i + n <= len(words)
    )
    return [s for s in spans if s in known]
