"""How often `isoglot project` puts tags that stand between sentences between them in the translation.

    ISOGLOT_DATA=... python benchmarks/inline_tags.py de ru ja

Lines are two or three sentence pairs of ``parallel/en-LANGUAGE.tsv.gz`` after each other, so where they meet is known.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import isoglot as iso

__all__ = ["FORMS", "main", "wrong"]

FORMS = ("{}<br/>{}", "{} <br/>{}", "<p>{}</p><p>{}</p>", "{}<br/><br/>{}<br/>{}")
_SENTENCES, _LONGEST = 300, 120


def _pairs(language: str) -> list[tuple[str, str]]:
    """Pairs of sentences that end as such."""
    with gzip.open(
        f"{os.environ['ISOGLOT_DATA']}/parallel/en-{language}.tsv.gz", "rt", encoding="utf-8"
    ) as file:
        rows = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    random.Random(0).shuffle(rows)
    good = (
        (a, b)
        for a, b in rows
        if len(a) < _LONGEST and a.endswith((*".?!",)) and b.endswith((*".?!。？！",)) and "&" not in a + b
    )
    return [pair for pair, _ in zip(good, range(_SENTENCES), strict=False)]


def wrong(language: str, form: str, folder: Path) -> Iterator[tuple[str, str] | None]:
    """For each line none, or, where its sentences are not apart, the line and its translation."""
    pairs, size = _pairs(language), form.count("{}")
    lines = [pairs[n : n + size] for n in range(0, len(pairs) - size + 1, size)]
    space = "" if language in ("ja", "zh", "th") else " "
    source, target, out = (folder / name for name in ("source", "target", "out"))
    source.write_text("".join(form.format(*(escape(a) for a, _ in part)) + "\n" for part in lines))
    target.write_text("".join(space.join(b for _, b in part) + "\n" for part in lines))
    iso.project(source, target, out, kind="markup", target_language=language)
    for part, line, text in zip(
        lines, source.read_text().splitlines(), out.read_text().splitlines(), strict=True
    ):
        pieces = [unescape(piece).strip() for piece in re.split("<[^>]*>", text)]
        right = list(filter(None, pieces)) == [b.strip() for _, b in part]
        yield None if right else (line, text)


def main() -> None:
    """Print a row for each language: lines, and those that are wrong in each form."""
    for language in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            results = [list(wrong(language, form, Path(folder))) for form in FORMS]
        counts = (f"{sum(map(bool, lines))}/{len(lines)}" for lines in results)
        print(" ".join([language, *counts]), flush=True)


if __name__ == "__main__":
    main()
