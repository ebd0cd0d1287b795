"""The pairs that the packaged aligner learns from, with the links of an HMM.

    python pairs.py DATA ENCODER OUT [LANGUAGE...] [--most 6000]

Of DATA/parallel/en-XX.tsv.gz only rows from Tatoeba (CC BY 2.0 FR) and TICO-19 (CC0), none that is held out for a test
set. OUT/en-XX.jsonl holds words, the HMM's intersected links and, as ``likely``, what both its directions together give
0.02 or more. Text without spaces is cut twice: into words as the aligner cuts it later, and into characters, which get
the links of their word (OUT/en-XX.characters.jsonl). OUT/en-XX.tsv holds 300 pairs as running text.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.formats.words import joined_spans, split_words, word_spans

ALLOWED = ("tatoeba/", "tico19/")
HELD_OUT = {"laser_tatoeba", "flores", "ntrex"}
UNSPACED = ("ja", "km", "my", "th", "zh")
UNTAUGHT = ("eo", "la", "ug", "yi")
"""Languages of the data that the aligner does not learn."""
LIKELY = 0.02
LONGEST = 100
"""Words of a side."""
RUNNING = 300
"""Pairs of running text, which teach vectors of sentences."""

Row = tuple[str, str]


def taught(data: Path, languages: list[str]) -> list[tuple[str, Path]]:
    """Codes and files of the languages to learn, or of some of them."""
    files = [(path.name[3:5], path) for path in sorted((data / "parallel").glob("en-??.tsv.gz"))]
    return [
        (code, path) for code, path in files if code in (languages or {c for c, _ in files} - {*UNTAUGHT})
    ]


def rows(path: Path) -> Iterator[Row]:
    """The sentences of each pair that may teach, without repetitions."""
    seen = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, translation, origin, *flags = line.rstrip("\n").split("\t")
            pair = english.strip(), translation.strip()
            allowed = origin.startswith(ALLOWED) and not HELD_OUT & set("".join(flags).split(","))
            if allowed and pair not in seen and all(pair):
                seen.add(pair)
                yield pair


def cut(tokenizer: Any, text: str, language: str) -> list[str]:
    """The words of running text as the aligner cuts it."""
    if language not in UNSPACED:
        return split_words(text)
    encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    # A piece that is a space alone claims the character behind it.
    pieces = [span for span, piece in zip(encoding.offsets, encoding.tokens, strict=True) if piece != "▁"]
    return [text[start:end] for start, end in joined_spans(text, word_spans(text), pieces)]


def characters(pair: dict[str, Any]) -> dict[str, Any]:
    """The pair with every character of the target a word, linked as the word it is part of."""
    parts = [split_words(word) for word in pair["target"]]
    first = [0]
    for part in parts:
        first.append(first[-1] + len(part))
    links = [[i, k] for i, j in pair["links"] for k in range(first[j], first[j + 1])]
    return {"source": pair["source"], "target": [c for part in parts for c in part], "links": links}


def aligned(pairs: list[tuple[list[str], list[str]]]) -> list[dict[str, Any]]:
    """Each pair with the links of an HMM that learned from all of them."""
    aligner = StatisticalAligner("hmm", symmetrisation="intersect", threshold=LIKELY, lowercase=True)
    sides = [list(side) for side in zip(*pairs, strict=True)]
    links = aligner.fit_words(*sides).tables(*sides).links.lists()
    aligner.symmetrisation = "agreement"
    table = aligner.tables(*sides).links
    assert table.probability is not None  # the HMM gives one to every link
    bounds, probabilities = table.offsets.tolist(), table.probability.round(3).tolist()
    return [
        {
            "source": pair[0],
            "target": pair[1],
            "links": [[int(i), int(j)] for i, j in intersected],
            "likely": [
                [int(i), int(j), p] for (i, j), p in zip(likely, probabilities[slice(*ends)], strict=True)
            ],
        }
        for pair, intersected, likely, ends in zip(pairs, links, table.lists(), pairwise(bounds), strict=True)
    ]


def write(path: Path, pairs: list[dict[str, Any]]) -> None:
    with (part := path.with_suffix(".part")).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)
    part.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("encoder")
    parser.add_argument("out", type=Path)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--most", type=int, help="pairs of a language, drawn at random")
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(options.encoder)
    for language, path in taught(options.data, options.languages):
        if (out := options.out / f"en-{language}.jsonl").exists():
            continue
        texts = list(rows(path))
        random.Random(f"0 {language}").shuffle(texts)
        lines = ["\t".join(side.replace("\t", " ") for side in pair) for pair in texts[:RUNNING]]
        out.with_suffix(".tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        texts = texts[: options.most]
        pairs = [(split_words(english), cut(tokenizer, text, language)) for english, text in texts]
        pairs = [pair for pair in pairs if all(0 < len(words) <= LONGEST for words in pair)]
        linked = aligned(pairs)
        if language in UNSPACED:
            write(out.with_suffix(".characters.jsonl"), [characters(pair) for pair in linked])
        write(out, linked)
        words = [sum(len(pair[side]) for pair in linked) for side in ("source", "target")]
        print(language, len(linked), *words, sum(len(pair["links"]) for pair in linked), flush=True)


if __name__ == "__main__":
    main()
