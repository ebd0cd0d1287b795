"""Scored sentence pairs written in the formats that `isoglot prepare` and `align` read."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from isoglot.corpus.read.sources import bare_suffix, by_suffix
from isoglot.errors import ConfigurationError
from isoglot.runs.files import text_output
from isoglot.runs.xml_text import XmlText

WritePair = Callable[[str, str, Mapping[str, Any]], None]
"""Takes both sides of a pair and what is known of it, by name, in the same order for every pair."""
_TMX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="isoglot" '
    'creationtoolversion="1" segtype="sentence" o-tmf="isoglot" adminlang="en" srclang={source} '
    'datatype="plaintext"/>\n<body>\n'
)


def _format(paths: Sequence[str]) -> str:
    """The format of pairs in one file, by its name, or of the two files of a Moses pair."""
    if len(paths) == 2 and "-" not in paths:
        return "moses"
    name = "tsv" if paths[0] == "-" else by_suffix(paths[0])
    packed = Path(paths[0]).suffix if bare_suffix(paths[0]) != Path(paths[0]).suffix.lower() else ".gz"
    if len(paths) != 1 or name not in ("tsv", "jsonl", "tmx") or packed != ".gz":
        raise ConfigurationError(
            f"{' '.join(paths)}: the format is not clear from its name; name a .tsv, .jsonl or .tmx file (or .gz), "
            "or two files, one per side"
        )
    return name


@contextmanager
def pair_writer(paths: Sequence[str], languages: Sequence[str] = ("", "")) -> Iterator[WritePair]:
    """Write pairs; the files take their places when the block ends without an error.

    ``.tsv``: source, target, then the values, numbers with four digits; ``.jsonl``: an object with them by name;
    ``.tmx`` and the two files of a Moses pair have the sentences alone. ``-`` is TSV on standard output.
    Characters that XML forbids are left out of TMX, and counted.
    """
    form, legal = _format(paths), XmlText()
    with ExitStack() as stack:
        files = [stack.enter_context(text_output(path)) for path in paths]

        def write(source: str, target: str, values: Mapping[str, Any]) -> None:
            match form:
                case "moses":
                    lines = [source, target]
                case "jsonl":
                    row = {"source": source, "target": target, **values}
                    lines = [json.dumps(row, ensure_ascii=False)]
                case "tmx":
                    sides = zip(map(quoteattr, languages), map(escape, (source, target)), strict=True)
                    inside = [f"<tuv xml:lang={tag}><seg>{text}</seg></tuv>" for tag, text in sides]
                    lines = [legal(f"<tu>{''.join(inside)}</tu>")]
                case _:
                    cells = [f"{one:.4f}" if isinstance(one, float) else str(one) for one in values.values()]
                    lines = ["\t".join([source, target, *cells])]
            for file, line in zip(files, lines, strict=True):
                file.write(f"{line}\n")

        if form == "tmx":
            files[0].write(_TMX.format(source=quoteattr(languages[0])))
        yield write
        if form == "tmx":
            files[0].write("</body>\n</tmx>\n")
            legal.warn(paths[0])
