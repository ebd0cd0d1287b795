"""What an aligner found, as lines of a format or as an ALIGNED corpus, complete or not there at all."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from isoglot.align.alignment import PairLinks
from isoglot.align.files.formats import FORMATS
from isoglot.align.files.pairs import RawPair
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.read.sources import Source
from isoglot.errors import ConfigurationError
from isoglot.runs.files import whole_file

Found = Iterable[tuple[RawPair, PairLinks]]
NUMBERED = ("pharaoh", "talp", "alignv2", "naacl")
"""Formats of :mod:`isoglot.align.files.formats` that hold word numbers alone, for which no words are needed."""


def _numbers(name: str) -> Callable[[Iterable[tuple[Any, PairLinks]], int | None, bool], Iterator[str]]:
    def sentences(found: Iterable[tuple[Any, PairLinks]], base: int | None, reverse: bool) -> Iterator[str]:
        start = FORMATS[name] if base is None else base
        for _, own in found:
            pairs = sorted((j, i) for i, j in own.links) if reverse else own.links
            yield " ".join([f"{i + start}-{j + start}" for i, j in pairs])

    def rows(found: Iterable[tuple[Any, PairLinks]], base: int | None, reverse: bool) -> Iterator[str]:
        start, width = FORMATS[name] if base is None else base, 4 if name == "naacl" else 1
        for number, (_, own) in enumerate(found, 1):
            for i, j in sorted((j, i) for i, j in own.links) if reverse else own.links:
                yield f"{number:0{width}d} {i + start} {j + start} S"

    return rows if name in ("alignv2", "naacl") else sentences


def _jsonl(found: Found, base: int | None, reverse: bool) -> Iterator[str]:
    start = base or 0
    for number, (pair, links) in enumerate(found):
        turn = -1 if reverse else 1
        source, target = pair.words[::turn]
        yield json.dumps(
            {
                "id": number,
                "src": source,
                "tgt": target,
                "links": [[i + start, j + start][::turn] for i, j in links.links],
                "probabilities": [round(p, 6) for p in links.probabilities],
                "score": None if math.isnan(links.score) else round(links.score, 6),
            },
            ensure_ascii=False,
        )


def _offsets(found: Found, base: int | None, reverse: bool) -> Iterator[str]:
    del base
    for number, (pair, links) in enumerate(found):
        turn = -1 if reverse else 1
        texts, spans = pair.placed
        source, target = texts[::turn]
        yield json.dumps(
            {
                "id": number,
                "source": source,
                "target": target,
                "spans": [[*spans[0][i], *spans[1][j]] if not reverse
                          else [*spans[1][j], *spans[0][i]] for i, j in links.links],
                "probabilities": [round(p, 6) for p in links.probabilities],
            },
            ensure_ascii=False,
        )  # fmt: skip


def _words(found: Found, base: int | None, reverse: bool) -> Iterator[str]:
    del base
    for pair, links in found:
        turn = -1 if reverse else 1
        yield "\t".join("|||".join((pair.words[0][i], pair.words[1][j])[::turn]) for i, j in links.links)


OUTPUT_FORMATS: dict[str, Callable[[Found, int | None, bool], Iterator[str]]] = {
    **{name: _numbers(name) for name in NUMBERED},
    "jsonl": _jsonl,
    "offsets": _offsets,
    "words": _words,
}
"""Line formats: those of :mod:`isoglot.align.files.formats`; ``jsonl`` with words, probabilities and scores;
``offsets`` with character spans ``[source start, end, target start, end]`` in the text as given;
``words`` with the linked words."""


def write_lines(
    found: Iterable[tuple[Any, PairLinks]],
    out: str | Path,
    *,
    name: str = "pharaoh",
    base: int | None = None,
    reverse: bool = False,
) -> int:
    """Write one line (or, in ``alignv2`` and ``naacl``, one line a link) a pair; ``-`` is standard output.

    A file is written beside its place and renamed when it is whole.
    """
    if name not in OUTPUT_FORMATS:
        raise ConfigurationError(
            f"output format {name!r} given; there are {', '.join(OUTPUT_FORMATS)}, and corpus for a folder"
        )
    count = 0

    def counted() -> Iterator[tuple[Any, PairLinks]]:
        nonlocal count
        for item in found:
            count += 1
            yield item

    with _target(out) as file:
        for line in OUTPUT_FORMATS[name](counted(), base, reverse):
            file.write(f"{line}\n")
    return count


def write_corpus(found: Found, out: Path) -> int:
    """Write an ALIGNED corpus folder, as ``isoglot prepare`` does; recipes take it with ``kind: aligned``.

    The folder has the columns of :data:`isoglot.schema.ALIGNED` and no others, so probabilities and scores are not
    kept: links that training should not see are left out before, by ``min_probability`` and ``min_score``.
    Pairs with an empty side teach nothing and have no row.
    """
    from isoglot.corpus.prepare import prepare  # noqa: PLC0415 - `datasets` is slow to import

    count = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        sources = []
        # One file for each run of pairs of the same languages, so that the rows keep their order.
        for number, (languages, run) in enumerate(groupby(found, key=lambda item: item[0].languages)):
            if not all(languages):
                raise ConfigurationError(
                    "pairs without languages given, but an ALIGNED corpus names them: "
                    "give --source-lang and --target-lang"
                )
            path = Path(folder) / f"{number:06d}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for pair, links in run:
                    row = {"source": pair.words[0], "target": pair.words[1], "links": links.links}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    count += 1
            sources.append(
                Source(
                    path=str(path),
                    format="jsonl",
                    source_language=languages[0],
                    target_language=languages[1],
                )
            )
        prepare(sources, out, options=PrepareOptions(kind="aligned"))
    return count


@contextmanager
def _target(out: str | Path) -> Iterator[IO[str]]:
    if str(out) == "-":
        yield sys.stdout
        return
    with whole_file(out) as file:
        yield file
