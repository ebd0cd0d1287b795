"""Write linked pairs as lines of a format or as an ALIGNED corpus; what is written is complete or not there at all.

A new format is added to ``output`` of ``LinkFormat`` (``options.py``) and, if it leaves words or probabilities out, to
the lists above that class; here to ``_lines``.
"""

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
from isoglot.aligners.phrases import spaceless
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.given_row import with_values
from isoglot.formats.inline_tags import offsets_and_xml
from isoglot.formats.link_files import LINK_FORMATS
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.runs.files import text_output, whole_file
from isoglot.runs.json_lines import json_line

_OF_LINKS = frozenset(["links", "probabilities", "similarities", "spans", "score", "src", "tgt", "src_text", "tgt_text",
                       "src_spans", "tgt_spans", "sure", "possible"])  # fmt: skip
"""Names under which JSON lines have links and what belongs to them.

A row that was read from such lines has values of these names, but of its earlier links.
"""

_GIVEN_LINKS = frozenset(["links", "sure", "possible"])
"""Names of links that any row may have, for example gold links."""


def write_lines(
    pairs: Iterable[SentencePair],
    out: str | Path,
    form: LinkFormat,
    *,
    values: str = "probabilities",
    languages: Sequence[str] = ("", ""),
    paused: Callable[[], bool] = lambda: False,
) -> int:
    """Write the links of each pair as a line; returns the number of pairs.

    ``alignv2`` and ``naacl`` have a line for each link instead. :mod:`isoglot.formats.link_files` describes the formats
    that are also read; three more are only written:

    - ``offsets``: JSON lines with character spans ``[source start, end, target start, end]`` in the text as given.
    - ``words``: the linked words, ``house|||Haus``, separated by tabs.
    - ``tmx``: a translation memory whose units have links, their values and the score as properties.

    Args:
        pairs: Pairs with links.
        out: File to write; ``-`` is standard output.
        form: Format, base and order of the sides.
        values: Name of the numbers that JSON lines and TMX have for each link. Both also keep what else the row of a
            pair says.
        languages: Languages of the first pair, which the header of a TMX file names.
        paused: Returns whether no more input is waiting. Then the file is flushed, so that whoever reads the output
            through a pipe sees every line so far.
    """
    # `LINK_FORMATS` lists formats that are read; those that are only written count words from 0.
    base = LINK_FORMATS.get(form.output, 0) if form.base is None else form.base
    written = (pair.transpose() if form.reverse else pair for pair in pairs)
    count = 0
    if form.output == "tmx":
        sides = languages[::-1] if form.reverse else languages
        with pair_writer([str(out)], sides, form="tmx") as write:
            for pair in written:
                write(pair, _tmx_properties(pair, base, values))
                count += 1
        return count
    with text_output(out) as file:
        for pair in written:
            file.write(_lines(pair, count, form.output, base, values))
            count += 1
            if paused():
                file.flush()
    return count


def _tmx_properties(pair: SentencePair, base: int, values: str) -> dict[str, Any]:
    """Return the properties of a unit of TMX: links, their values and the score.

    Properties of earlier links are taken out of the pair's row, which the writer adds to the unit.
    """
    pair.more = {name: value for name, value in pair.more.items() if name not in _OF_LINKS}
    properties: dict[str, Any] = {"links": " ".join(f"{i + base}-{j + base}" for i, j in pair.links)}
    if pair.probabilities:
        properties[values] = " ".join(f"{value:.4f}" for value in pair.probabilities)
    if not math.isnan(pair.score):
        properties["score"] = pair.score
    return properties


def _lines(pair: SentencePair, number: int, format_name: str, base: int, values: str) -> str:
    """Return the lines of a pair in a format, such as ``pharaoh``.

    ``number``: Pairs written before. ``base``: Number of the first word, 0 or 1.

    Of the links 1-0 and 0-0 of the first pair, counted from 0: ``pharaoh`` has ``0-0 1-0``, ``naacl`` has
    ``0001 0 0 S`` and ``0001 1 0 S``.

    Links of isoglot's aligners are sorted. Those of a user's class, and of sides that were exchanged, need not be: the
    formats of numbers sort them. The other formats keep the order, in which the probabilities stand too.
    """
    if format_name in ("alignv2", "naacl"):
        width = 4 if format_name == "naacl" else 1
        return "".join(f"{number + 1:0{width}d} {i + base} {j + base} S\n" for i, j in sorted(pair.links))
    if format_name in NUMBERED:
        return " ".join([f"{i + base}-{j + base}" for i, j in sorted(pair.links)]) + "\n"
    if format_name == "words":
        source = [column(word) for word in pair.words[0]]
        target = [column(word) for word in pair.words[1]]
        return "\t".join(f"{source[i]}|||{target[j]}" for i, j in pair.links) + "\n"
    return json_line(_json_row(pair, format_name, base, values))


def _json_row(pair: SentencePair, format_name: str, base: int, values: str) -> dict[str, Any]:
    """Return the row of a pair as ``jsonl`` or ``offsets`` has it."""
    row: dict[str, Any] = {} if pair.id is None else {"id": pair.id}
    texts, (source_spans, target_spans) = pair.texts_and_spans
    if format_name == "offsets":
        row["source"], row["target"] = texts
        row["spans"] = [[*source_spans[i], *target_spans[j]] for i, j in pair.links]
    else:
        row["src"], row["tgt"] = pair.words
        row["src_text"], row["tgt_text"] = texts
        row["src_spans"], row["tgt_spans"] = source_spans, target_spans
        if any(pair.tags):
            row["src_tags"], row["tgt_tags"] = map(offsets_and_xml, pair.tags)
        row["links"] = [[i + base, j + base] for i, j in pair.links]
    row[values] = [round(p, 6) for p in pair.probabilities]
    if format_name == "jsonl":
        row["score"] = None if math.isnan(pair.score) else round(pair.score, 6)
    return with_values(row, _without_earlier_links(pair.row_values()))


def _without_earlier_links(more: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of a row's other values its earlier links, which the new links replace.

    A row that isoglot wrote has spans beside its links, and then probabilities, words and texts of the earlier links go
    with them. In any other row only links go: a ``score`` there may be anything.
    """
    was_written_by_us = isinstance(more.get("links"), list) and "src_spans" in more
    replaced = _OF_LINKS if was_written_by_us else _GIVEN_LINKS
    return {name: value for name, value in more.items() if name not in replaced}


def has_gold(pair: SentencePair) -> bool:
    """Whether the row of a pair has links by hand, which JSON lines and TMX of new links leave out."""
    return any(pair.more.get(name) for name in ("sure", "possible"))


def with_words_written(
    pairs: Iterable[SentencePair], path: Path, *, reverse: bool = False
) -> Iterator[SentencePair]:
    """Pass pairs on, and write the words that their links number: lines of ``source ||| target``.

    White space inside a word would shift the numbers of the words behind it, so it is written as ``_``.
    """
    with whole_file(path) as file:
        for pair in pairs:
            source, target = (" ".join(spaceless(side)) for side in pair.words)
            file.write(f"{target} ||| {source}\n" if reverse else f"{source} ||| {target}\n")
            yield pair


def write_corpus(linked: Iterable[SentencePair], out: Path) -> int:
    """Write an ALIGNED corpus folder, as ``isoglot prepare`` does; recipes take it with ``kind: aligned``.

    Probabilities and scores are not kept: links that training should not see are left out before, by
    ``min_probability`` and ``min_score``. A pair with an empty side has no row, but counts in the number of pairs that
    is returned.
    """
    from isoglot.corpus.prepare import prepare  # noqa: PLC0415 - `datasets` is slow to import

    pairs = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        sources = []
        # `prepare` takes files, each in one pair of languages. Whenever the languages change a new file begins, so
        # that the rows keep their order.
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
            source_language, target_language = languages
            sources.append(
                Source(
                    path=str(path),
                    format="jsonl",
                    source_language=source_language,
                    target_language=target_language,
                )
            )
        prepare(sources, out, options=PrepareOptions(kind="aligned"))
    return pairs
