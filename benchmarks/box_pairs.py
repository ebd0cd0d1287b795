"""The pairs that the packaged aligner learns from, and the links that teach it first.

    python box_pairs.py DATA ENCODER OUT [LANGUAGE...] [--origins PREFIX...]

Of DATA/parallel/en-XX.tsv.gz only rows from Tatoeba (CC BY 2.0 FR) and TICO-19 (CC0), or of other origins to compare,
none that is held out for a test set. Chinese and Japanese are cut twice: into the pieces of the encoder's tokenizer,
which stand for words, and into characters, which get the links of the piece they stand in. OUT/en-XX.jsonl holds words,
the intersected links of the HMM and, as ``likely``, what both its directions together give 0.02 or more;
OUT/en-XX.characters.jsonl the second cut.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.words import split_words

ALLOWED = ("tatoeba/", "tico19/")
HELD_OUT = {"laser_tatoeba", "flores", "ntrex"}
UNSPACED = ("zh", "ja")
LIKELY = 0.02
LONGEST = 100
"""Words of a side."""


def rows(path: Path, origins: Sequence[str] = ALLOWED) -> Iterator[tuple[str, str]]:
    """The sentences of each pair that may teach, once."""
    seen = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            english, other, origin, *flags = line.rstrip("\n").split("\t")
            if not origin.startswith(tuple(origins)) or HELD_OUT & set("".join(flags).split(",")):
                continue
            if (pair := (english.strip(), other.strip())) not in seen and all(pair):
                seen.add(pair)
                yield pair


def pieces(tokenizer: Any, text: str) -> list[str]:
    """What the tokenizer cuts a text into that is not written with spaces; punctuation stands alone."""
    cut = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    # A piece that is a space alone claims the character behind it.
    spans = [span for span, piece in zip(cut.offsets, cut.tokens, strict=True) if piece != "▁"]
    return [word for a, b in spans for word in joined(split_words(text[a:b]))]


def joined(words: list[str]) -> list[str]:
    """Characters of one piece as one word again, marks of punctuation apart."""
    found: list[str] = []
    for word in words:
        if found and found[-1][-1].isalnum() and word[0].isalnum():
            found[-1] += word
        else:
            found.append(word)
    return found


def characters(pair: dict[str, Any]) -> dict[str, Any]:
    """The same pair with every character of the other side a word, linked as the word it stands in."""
    cut = [list(split_words(word)) for word in pair["target"]]
    first = [0]
    for word in cut:
        first.append(first[-1] + len(word))
    links = [[i, k] for i, j in pair["links"] for k in range(first[j], first[j + 1])]
    pair = {name: value for name, value in pair.items() if name != "likely"}
    return {**pair, "target": [c for word in cut for c in word], "links": links}


def aligned(
    pairs: list[tuple[list[str], list[str]]],
) -> Iterator[tuple[tuple[list[str], list[str]], dict[str, Any]]]:
    """Each pair with the links of an HMM that learned from all of them."""
    aligner = StatisticalAligner("hmm", symmetrisation="intersect", threshold=LIKELY, lowercase=True)
    sides = [list(side) for side in zip(*pairs, strict=True)]
    links = aligner.fit_words(*sides).tables(*sides).links.lists()
    aligner.symmetrisation = "agreement"
    table = aligner.tables(*sides).links
    bounds, likely = table.offsets.tolist(), table.lists()
    for number, (pair, own) in enumerate(zip(pairs, links, strict=True)):
        assert table.probability is not None  # the HMM gives one to every link
        values = table.probability[bounds[number] : bounds[number + 1]].tolist()
        both = [[int(i), int(j), round(p, 3)] for (i, j), p in zip(likely[number], values, strict=True)]
        yield pair, {"links": [[int(i), int(j)] for i, j in own], "likely": both}


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
    parser.add_argument("--origins", nargs="+", default=ALLOWED, help="how the origin of a row begins")
    given = parser.parse_intermixed_args()
    out = given.out
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(given.encoder)
    for path in sorted((given.data / "parallel").glob("en-*.tsv.gz")):
        language = path.name[3:5]
        if (given.languages and language not in given.languages) or (out / f"en-{language}.jsonl").exists():
            continue
        cut = (lambda text: pieces(tokenizer, text)) if language in UNSPACED else split_words
        pairs = [(split_words(english), cut(other)) for english, other in rows(path, given.origins)]
        pairs = [pair for pair in pairs if all(0 < len(words) <= LONGEST for words in pair)]
        found = [{"source": source, "target": target, **own} for (source, target), own in aligned(pairs)]
        if language in UNSPACED:
            write(out / f"en-{language}.characters.jsonl", [characters(pair) for pair in found])
        write(out / f"en-{language}.jsonl", found)
        words = [sum(len(pair[side]) for pair in found) for side in ("source", "target")]
        print(language, len(found), *words, sum(len(pair["links"]) for pair in found), flush=True)


if __name__ == "__main__":
    main()
