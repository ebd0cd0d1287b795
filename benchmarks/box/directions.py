"""UPOS projected between all pairs of PUD's languages, which have the same sentences: accuracy (%) over all words.

    python directions.py DATA [--model box] [--encoder FOLDER]

For each of the thirty directions: the aligner's links, its links by way of English (composed), SimAlign's itermax with
an encoder as it is, and an HMM that learns from the thousand pairs.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import kept_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.formats.labelled.tags import tagged_rows
from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.rule import project_word_tags

LANGUAGES = ("en", "de", "es", "fr", "hi", "zh")
Texts = dict[str, list[list[str]]]
Links = list[SentencePair]


def sentences(path: Path, language: str) -> tuple[list[list[str]], list[list[str]]]:
    """Words and tags of a treebank."""
    rows = [[pair for _, pair in row] for _, row in tagged_rows(path, language=language)]
    return [[word for word, _ in row] for row in rows], [[tag for _, tag in row] for row in rows]


def composed(first: SentencePair, second: SentencePair) -> SentencePair:
    """Links by way of a third text: the best product of the probabilities on the way."""
    onward = defaultdict(list)
    for (j, k), q in zip(second.links, second.probabilities, strict=True):
        onward[j].append((k, q))
    best: dict[tuple[int, int], float] = {}
    for (i, j), p in zip(first.links, first.probabilities, strict=True):
        for k, q in onward[j]:
            best[i, k] = max(p * q, best.get((i, k), 0.0))
    links = sorted(best)
    return SentencePair(links=links, probabilities=[best[link] for link in links])


def turned(links: SentencePair) -> SentencePair:
    pairs = sorted(zip([(j, i) for i, j in links.links], links.probabilities, strict=True))
    return SentencePair(
        links=[link for link, _ in pairs], probabilities=[p for _, p in pairs], score=links.score
    )


def accuracy(tags: list[list[str]], gold: list[list[str]], links: Iterable[SentencePair]) -> float:
    pairs = [
        (projected, tag)
        for source, target, link in zip(tags, gold, links, strict=True)
        for projected, tag in zip(project_word_tags(source, link, len(target)), target, strict=True)
    ]
    return 100 * sum(projected == tag for projected, tag in pairs) / len(pairs)


def encoder_links(model: str, **how: Any) -> Callable[[list[list[str]], list[list[str]]], Links]:
    aligner = EmbeddingAligner(model, options=EmbeddingOptions.build(dtype="bfloat16", **how))
    return lambda source, target: [
        replace(pair, probabilities=pair.probabilities or [1.0] * len(pair.links))
        for pair in aligner.align_pairs(list(zip(source, target, strict=True)))
    ]


def hmm_links(source: list[list[str]], target: list[list[str]]) -> Links:
    aligner = StatisticalAligner("hmm", symmetrisation="agreement", threshold=0.3, lowercase=True)
    tables = aligner.fit_words(source, target).tables(source, target).links
    return [
        SentencePair(links=[(int(i), int(j)) for i, j in links], probabilities=[1.0] * len(links))
        for links in tables.lists()
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="box")
    parser.add_argument("--encoder", help="for SimAlign's method")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--no-hmm", action="store_true")
    options = parser.parse_args()
    words: Texts = {}
    tags: Texts = {}
    for language in LANGUAGES:
        path = options.data / "ud" / f"{language}_pud-ud-test.conllu"
        words[language], tags[language] = (side[: options.pairs] for side in sentences(path, language))
    systems = {"box": encoder_links(options.model, **kept_choice(options.model))}
    if options.encoder:
        systems["SimAlign"] = encoder_links(options.encoder, method="itermax", layer=8)
    if not options.no_hmm:
        systems["HMM"] = hmm_links
    links: dict[str, dict[tuple[str, str], Links]] = {}
    for name, align in systems.items():
        links[name] = {}
        for one, two in permutations(LANGUAGES, 2):
            turn = links[name].get((two, one))
            links[name][one, two] = list(map(turned, turn)) if turn else align(words[one], words[two])
    totals: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for one, two in permutations(LANGUAGES, 2):
        rows = {name: table[one, two] for name, table in links.items()}
        english = "en" in (one, two)
        if not english:
            rows["English"] = list(map(composed, links["box"][one, "en"], links["box"]["en", two]))
        figures = {name: accuracy(tags[one], tags[two], row) for name, row in rows.items()}
        for name, figure in figures.items():
            totals[name, english].append(figure)
        print(
            f"{one}-{two} |",
            json.dumps({name: round(figure, 1) for name, figure in figures.items()}),
            flush=True,
        )
    for (name, english), column in totals.items():
        print("with English" if english else "without", name, round(fmean(column), 1))


if __name__ == "__main__":
    main()
