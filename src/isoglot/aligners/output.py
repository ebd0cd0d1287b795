"""What an aligner found, as lines of a format or as an ALIGNED corpus, complete or not there at all."""

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from isoglot.aligners.alignment import column
from isoglot.aligners.options import NUMBERED, LinkFormat
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.given_row import with_values
from isoglot.formats.inline_tags import offsets_and_xml
from isoglot.formats.link_files import FORMATS
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.runs.files import text_output, whole_file
from isoglot.runs.json_lines import json_line

_OF_LINKS = frozenset(["links", "probabilities", "similarities", "spans", "score", "src", "tgt", "src_text", "tgt_text",
                       "src_spans", "tgt_spans", "sure", "possible"])  # fmt: skip
"""What JSON lines of links say: an input's values of these names are of other links, or of other words."""

_GOLD = frozenset(["links", "sure", "possible"])
"""Links that an input has, which are not those that are written."""


def write_lines(
    pairs: Iterable[SentencePair],
    out: str | Path,
    form: LinkFormat,
    *,
    values: str = "probabilities",
    languages: Sequence[str] = ("", ""),
    paused: Callable[[], bool] = lambda: False,
) -> int:
    """Write one line (or, in ``alignv2`` and ``naacl``, one line a link) a pair; ``-`` is standard output.

    The formats are those of :mod:`isoglot.formats.link_files`; ``offsets`` with character spans ``[source start,
    end, target start, end]`` in the text as given; ``words`` with the linked words; ``tmx`` with links, their values
    and the score as properties. ``values`` is the name of what JSON lines and TMX have for each link; they also have
    what else the row of a pair says. ``languages`` are those of the first pair, which a TMX file names.
    ``paused``: Whether the input waits for now, so that whoever reads the output gets what there is.
    """
    first, count = FORMATS.get(form.output, 0) if form.base is None else form.base, 0
    written = (pair.transpose() if form.reverse else pair for pair in pairs)
    if form.output == "tmx":
        sides = languages[::-1] if form.reverse else languages
        with pair_writer([str(out)], sides, form="tmx") as write:
            for pair in written:
                write(pair, _properties(pair, first, values))
                count += 1
        return count
    with text_output(out) as file:
        for pair in written:
            file.write(_lines(pair, count, form.output, first, values))
            count += 1
            if paused():
                file.flush()
    return count


def _properties(pair: SentencePair, first: int, values: str) -> dict[str, Any]:
    """What a unit of TMX says of its links."""
    pair.more = {name: value for name, value in pair.more.items() if name not in _OF_LINKS}
    properties: dict[str, Any] = {"links": " ".join(f"{i + first}-{j + first}" for i, j in pair.links)}
    if pair.probabilities:
        properties[values] = " ".join(f"{value:.4f}" for value in pair.probabilities)
    return properties if math.isnan(pair.score) else {**properties, "score": pair.score}


def _lines(pair: SentencePair, number: int, name: str, first: int, values: str) -> str:
    """A pair's lines; ``first`` is what the first word counts as."""
    if name in ("alignv2", "naacl"):
        width = 4 if name == "naacl" else 1
        return "".join(f"{number + 1:0{width}d} {i + first} {j + first} S\n" for i, j in sorted(pair.links))
    if name in NUMBERED:
        return " ".join([f"{i + first}-{j + first}" for i, j in sorted(pair.links)]) + "\n"
    if name == "words":
        source, target = ([*map(column, side)] for side in pair.words)
        return "\t".join(f"{source[i]}|||{target[j]}" for i, j in pair.links) + "\n"
    row: dict[str, Any] = {} if pair.id is None else {"id": pair.id}
    texts, (source_spans, target_spans) = pair.texts_and_spans
    if name == "offsets":
        row["source"], row["target"] = texts
        row["spans"] = [[*source_spans[i], *target_spans[j]] for i, j in pair.links]
    else:
        row["src"], row["tgt"] = pair.words
        row["src_text"], row["tgt_text"] = texts
        row["src_spans"], row["tgt_spans"] = source_spans, target_spans
        if any(pair.tags):
            row["src_tags"], row["tgt_tags"] = map(offsets_and_xml, pair.tags)
        row["links"] = [[i + first, j + first] for i, j in pair.links]
    row[values] = [round(p, 6) for p in pair.probabilities]
    if name == "jsonl":
        row["score"] = None if math.isnan(pair.score) else round(pair.score, 6)
    return json_line(with_values(row, _without_earlier_links(pair.row_values())))


def _without_earlier_links(more: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a row without its earlier links, in whose place the new links stand."""
    earlier = _OF_LINKS if isinstance(more.get("links"), list) and "src_spans" in more else _GOLD
    return {name: value for name, value in more.items() if name not in earlier}


def has_gold(pair: SentencePair) -> bool:
    """Whether the row of a pair has links by hand, which JSON lines and TMX of new links leave out."""
    return any(pair.more.get(name) for name in ("sure", "possible"))


def with_words_written(
    pairs: Iterable[SentencePair], path: Path, *, reverse: bool = False
) -> Iterator[SentencePair]:
    """Pass pairs on, and write the words that their links number: lines of ``source ||| target``.

    White space inside a word, which would shift the numbers of those behind it, is written as ``_``.
    """
    with whole_file(path) as file:
        for pair in pairs:
            source, target = (" ".join("_".join(word.split()) or "_" for word in side) for side in pair.words)
            file.write(f"{target} ||| {source}\n" if reverse else f"{source} ||| {target}\n")
            yield pair


def write_corpus(linked: Iterable[SentencePair], out: Path) -> int:
    """Write an ALIGNED corpus folder, as ``isoglot prepare`` does; recipes take it with ``kind: aligned``.

    Probabilities and scores are not kept: links that training should not see are left out before, by
    ``min_probability`` and ``min_score``. Pairs with an empty side have no row.
    """
    from isoglot.corpus.prepare import prepare  # noqa: PLC0415 - `datasets` is slow to import

    pairs = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        sources = []
        # One file for each run of pairs of the same languages, so that the rows keep their order.
        for number, (languages, run) in enumerate(groupby(linked, key=attrgetter("languages"))):
            if not all(languages):
                raise ConfigurationError(
                    "an ALIGNED corpus names the languages of its pairs; give [[source_language]] and "
                    "[[target_language]]"
                )
            path = Path(folder) / f"{number:06d}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for pair in run:
                    row = {"source": pair.words[0], "target": pair.words[1], "links": pair.links}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    pairs += 1
            named = dict(zip(("source_language", "target_language"), languages, strict=True))
            sources.append(Source(path=str(path), format="jsonl", **named))
        prepare(sources, out, options=PrepareOptions(kind="aligned"))
    return pairs
