"""Sentence pairs written in the formats that every verb reads, with what their rows say and what is known of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair, Tags
from isoglot.formats.sources import LANGUAGE_TAG, UNNAMED, by_suffix
from isoglot.formats.table_writer import RowWriter, TableWriter
from isoglot.runs.files import text_output
from isoglot.runs.xml_text import XmlText

WritePair = Callable[[SentencePair, Mapping[str, Any]], None]
"""Takes a pair and what is known of it, by name, in the same order for every pair."""
_TMX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
    '<header creationtool="isoglot" creationtoolversion="1" segtype="sentence" o-tmf="isoglot" adminlang="en" '
    'srclang={source} datatype="plaintext"/>\n<body>\n'
)
_ATTRIBUTES = frozenset(
    ["changedate", "changeid", "creationdate", "creationid", "creationtool", "creationtoolversion", "datatype",
     "lastusagedate", "o-encoding", "o-tmf", "segtype", "srclang", "usagecount"]
)  # fmt: skip
"""Attributes of TMX's units and translations, beside their ids and languages."""
_NO_LANGUAGE = "a TMX file names its languages; add --source-lang en --target-lang de"


def _format(paths: Sequence[str]) -> str:
    """The format of pairs in one file, by its name, or of the two files of a Moses pair."""
    if len(paths) == 2 and "-" not in paths:
        return "moses"
    name = "tsv" if paths[0] == "-" else by_suffix(paths[0])
    if len(paths) != 1 or name not in ("tsv", "csv", "jsonl", "tmx"):
        raise ConfigurationError(
            f"{' '.join(paths)}: the format is not clear from its name; name a .tsv, .csv, .jsonl or .tmx file (also "
            ".gz, .xz, .zst, .bz2), or two files, one per side"
        )
    return name


@contextmanager
def pair_writer(
    paths: Sequence[str], languages: Sequence[str] = ("", ""), *, form: str | None = None
) -> Iterator[WritePair]:
    """Write pairs; the files take their places when the block ends without an error.

    ``.jsonl``: an object with all that the row says, and the values by name; ``.tsv`` and ``.csv``: the columns of a
    table as they were, with its header, or source and target, then the values, numbers with four digits; ``.tmx``: what
    the row says, as in-line tags, notes, properties and attributes, and the values as properties, without characters
    that XML forbids, which are counted; the two files of a Moses pair: the sentences alone. ``-`` is TSV on standard
    output.

    ``languages``: Those of a TMX file, which has to name them; its header has the source's as the first pair does.
    ``form``: The format, whatever the file is called.
    """
    form, legal = form or _format(paths), XmlText()
    if form == "tmx" and not all(map(_is_language, languages)):
        raise ConfigurationError(f"{paths[0]}: {_NO_LANGUAGE}")
    writer: TableWriter | RowWriter | None = None
    if form in ("moses", "tsv", "csv"):
        writer = TableWriter(paths, comma=form == "csv")
    elif form == "jsonl":
        writer = RowWriter(paths[0])
    with ExitStack() as stack:
        files: list[IO[str]] = [stack.enter_context(text_output(path)) for path in paths]

        header = form == "tmx"  # it is not written yet

        def write(pair: SentencePair, values: Mapping[str, Any]) -> None:
            nonlocal header
            if header:
                label = str(pair.row_values().get("source_language", languages[0]))
                files[0].write(_TMX.format(source=quoteattr(label if _is_language(label) else languages[0])))
                header = False
            lines = writer.lines(pair, values) if writer else [legal(_unit(pair, values, paths[0]))]
            for file, line in zip(files, lines, strict=True):
                file.write(line)

        yield write
        if header:
            files[0].write(_TMX.format(source=quoteattr(languages[0])))
        if form == "tmx":
            files[0].write("</body>\n</tmx>\n")
            legal.warn(paths[0])
        if writer is not None:
            writer.warn()


def _is_language(tag: str) -> bool:
    return tag not in UNNAMED and LANGUAGE_TAG.fullmatch(tag.lower()) is not None


def _unit(pair: SentencePair, values: Mapping[str, Any], path: str) -> str:
    """The line of a translation unit; what TMX has no place for, and the values, are properties of their names."""
    rest = pair.row_values()
    match rest.get("properties"):
        case dict(known):  # values of an earlier command give way
            rest["properties"] = {kind: text for kind, text in known.items() if kind not in values}
    rest |= {
        name: f"{value:.4f}" if isinstance(value, float) else str(value) for name, value in values.items()
    }
    name = "" if pair.id is None else f" tuid={quoteattr(str(pair.id))}"
    sides = []
    for side, text, tags, tag in zip(
        ("source", "target"), pair.texts, pair.tags, pair.languages, strict=True
    ):
        label = str(rest.pop(f"{side}_language", tag))
        language = label if _is_language(label) else tag
        if not _is_language(language):
            raise ConfigurationError(f"{path}: {_NO_LANGUAGE}")
        attributes, notes = _about(rest, f"{side}_")
        attributes = f"xml:lang={quoteattr(language)}{attributes}"
        sides.append(f"<tuv {attributes}>{notes}<seg>{segment(text, tags)}</seg></tuv>")
    attributes, notes = _about(rest, "")
    properties = "".join(_property(key, value) for key, value in rest.items())
    return f"<tu{name}{attributes}>{notes}{properties}{''.join(sides)}</tu>\n"


def _about(rest: dict[str, Any], prefix: str) -> tuple[str, str]:
    """Attributes, and notes and properties, taken from what a row says of its unit or of a side."""
    attributes = notes = ""
    match rest.get(name := f"{prefix}attributes"):
        case dict(values):
            known = {
                key: value for key, value in values.items() if key in _ATTRIBUTES and isinstance(value, str)
            }
            attributes = "".join(f" {key}={quoteattr(value)}" for key, value in known.items())
            rest[name] = {key: value for key, value in values.items() if key not in known}
            if not rest[name]:
                del rest[name]
    match rest.get(name := f"{prefix}notes"):
        case list(texts) if all(isinstance(text, str) for text in texts):
            notes = "".join(f"<note>{escape(text)}</note>" for text in texts)
            del rest[name]
    match rest.get(name := f"{prefix}properties"):
        case dict(values):
            several = ((key, value if isinstance(value, list) else [value]) for key, value in values.items())
            notes += "".join(_property(key, text) for key, texts in several for text in texts)
            del rest[name]
    return attributes, notes


def _property(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<prop type={quoteattr(name)}>{escape(text)}</prop>"


def segment(text: str, tags: Tags = ()) -> str:
    """A text with its in-line tags."""
    parts, end = [], 0
    for offset, tag in tags:
        parts += [escape(text[end:offset]), tag]
        end = offset
    return "".join([*parts, escape(text[end:])])
