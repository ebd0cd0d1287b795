"""Read sentences of tagged words: CoNLL-U, PAN-X, indexed tokens, CoNLL-2002/2003 columns, tab-separated pairs."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.checks import is_number
from isoglot.core.errors import InputError
from isoglot.core.languages import SCRIPTS, codes, two_letters
from isoglot.formats.labelled.withheld import without_labels
from isoglot.formats.line_files import blocks, each, numbered_lines
from isoglot.formats.treebanks import word_columns

if TYPE_CHECKING:
    from datasets import Dataset

UPOS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
        "SYM", "VERB", "X")  # fmt: skip
"""Universal Dependencies' parts of speech."""

UNLABELLED = "_"
"""Tag of a word without a label: the word is neither learned from nor scored."""

_ENTITY = re.compile(r"O|[BI]-.+")
_PREFIXED = re.compile(r"([a-z][a-z-]{1,11}):")
_BLANKS = re.compile(r"[ \t]+")
_GUESSED_LINES = 200

Row = tuple[str, str]


def read_tags(
    path: str | Path,
    *,
    language: str,
    labels: Collection[str] | None = None,
    name: str | None = None,
    surface: bool = False,
) -> "Dataset":
    """Read tagged sentences. In column files IOB1 is turned into IOB2 (an ``I-`` that opens an entity becomes ``B-``).

    ``labels``: Tags that may occur; by default those of an IOB2 scheme or, in CoNLL-U, :data:`UPOS`.
    ``name``: Name of the format, one of :data:`TAG_FORMATS`; detected from the first lines by default.
    ``surface``: In CoNLL-U, read words as they are written (:func:`surface_rows`).
    """
    words: list[list[str]] = []
    tags: list[list[str]] = []
    for form, rows in tagged_rows(path, language=language, name=name, surface=surface):
        allowed = UPOS if labels is None and form == "conllu" else labels
        each(lambda row, allowed=allowed: check_tag(row[1], allowed), rows, path)  # type: ignore[misc]
        words.append([word for _, (word, _) in rows])
        tags.append([tag for _, (_, tag) in rows])
        if form == "columns":
            tags[-1] = iob2(tags[-1])
    if not words:
        raise InputError("holds no tagged sentence; check the path and the format", path=path)
    from datasets import Dataset  # noqa: PLC0415 - loads torch, which rows of words do without

    from isoglot.formats.schema import TAGGED  # noqa: PLC0415 - loads datasets

    return Dataset.from_dict(
        {"words": words, "tags": tags, "language": [language] * len(words)}, features=TAGGED
    )


def iob2(tags: Sequence[str]) -> list[str]:
    """Turn the tags of a sentence from IOB1 into IOB2.

    CoNLL-2003 has IOB1: ``B-`` stands only where an entity follows another one of its type directly. In IOB2 every
    entity begins with ``B-``. Tags that are IOB2 already stay as they are.

    Example:
        >>> iob2(["I-PER", "I-PER", "I-LOC", "O", "B-LOC"])
        ['B-PER', 'I-PER', 'B-LOC', 'O', 'B-LOC']
    """
    converted = []
    for before, tag in pairwise(["O", *tags]):
        opens = tag.startswith("I-") and before[2:] != tag[2:]
        converted.append(f"B-{tag[2:]}" if opens else tag)
    return converted


def tagged_rows(
    path: str | Path, *, language: str, name: str | None = None, surface: bool = False
) -> Iterator[tuple[str, list[tuple[int, Row]]]]:
    """Yield each sentence: its format, and its numbered lines as word and tag; tags are not checked.

    The arguments are those of :func:`read_tags`. One sentence is in memory at a time.
    """
    lines = numbered_lines(path)
    first = list(islice(lines, 5 * _GUESSED_LINES))
    name = name or tell_format([text for _, text in first])
    if name not in TAG_FORMATS:
        raise InputError(f"unknown format {name!r}; tagged files are {', '.join(TAG_FORMATS)}", path=path)
    words = [text for _, text in first if text.strip()]
    if name == "columns" and words and all(len(_BLANKS.split(text.strip(" \t"))) == 1 for text in words):
        raise InputError(without_labels("word has a tag"), path=path)
    if surface and name != "conllu":
        raise InputError(
            f"words=written needs CoNLL-U, but this is {name}; leave words out",
            path=path,
        )
    for block in blocks(chain(first, lines)):
        if name == "panx":
            _require_language(block, language, path)
        parsed = zip(block, each(TAG_FORMATS[name], block, path), strict=True)
        rows = [(number, row) for (number, _), row in parsed if row is not None]
        if surface:
            rows = surface_rows(block, language=language)
        if rows:
            yield name, rows


def _require_language(block: Sequence[tuple[int, str]], language: str, path: str | Path) -> None:
    """Refuse a token of PAN-X that is marked with the code of another language: ``de:Anton`` where English is read.

    A code counts only if both languages are known: the language that is read may have been made up.
    """
    for number, line in block:
        prefix = _PREFIXED.match(line)
        if prefix is None or not {prefix[1], two_letters(language)} <= SCRIPTS.keys():
            continue
        if prefix[1] not in codes(language):
            raise InputError(
                f"the token is marked {prefix[1]}:, but {language!r} is requested; give its own file",
                path=path,
                line=number,
            )


def tell_format(lines: Sequence[str]) -> str:
    r"""Guess the format: the one that more than half of the first lines fit; CoNLL's columns, if there is none.

    Not all lines need to fit, so that a broken line is reported, and does not change the format.

    Example:
        >>> tell_format(["de:Anton\tB-PER"]), tell_format(["0\tAnton\tB-PER"]), tell_format(["Anton\tPROPN"])
        ('panx', 'indexed', 'pairs')
    """
    is_comment = [line.startswith("#") and "\t" not in line for line in lines]
    with_words = [
        line for line, comment in zip(lines, is_comment, strict=True) if line.strip() and not comment
    ]
    rows = [line.split("\t") for line in with_words[:_GUESSED_LINES]]
    pairs = [row for row in rows if len(row) == 2]
    # `de:Anton`: all tokens of a PAN-X file have the prefix of its language; a token such as `http:` is alone.
    prefixes: Counter[str] = Counter()
    for token, _ in pairs:
        if prefix := _PREFIXED.match(token):
            prefixes[prefix[1]] += 1
    counts = {
        "conllu": sum(len(row) == 10 for row in rows),
        "indexed": sum(len(row) == 3 and is_number(row[0]) for row in rows),
        "panx": max(prefixes.values(), default=0),
        "pairs": len(pairs),
    }
    return next((name for name, count in counts.items() if 2 * count > len(rows)), "columns")


def check_tag(tag: str, allowed: Collection[str] | None) -> None:
    """Refuse a tag that is not allowed; None allows the tags of IOB2. :data:`UNLABELLED` is always allowed."""
    if tag == UNLABELLED:
        return
    if allowed is None and not _ENTITY.fullmatch(tag):
        raise InputError(
            f"unknown tag {tag!r}, entity tags are O, B-TYPE or I-TYPE; fix the line, or name the tags "
            "([[allowed=TAGS]])"
        )
    if allowed is not None and tag not in allowed:
        raise InputError(f"unknown tag {tag!r}, the tags here are {', '.join(sorted(allowed))}; fix the line")


def _conllu(text: str) -> Row | None:
    """Read a word's form and UPOS."""
    columns = word_columns(text)
    return None if columns is None else (columns[1], columns[3])


def _tabbed(pattern: str, needed: str) -> Callable[[str], Row]:
    """Make a reader of lines with tabs; the groups of the pattern are token and tag."""

    def parse(text: str) -> Row:
        match = re.fullmatch(pattern, text)
        if match is None:
            columns = text.count("\t") + 1
            raise InputError(f"{columns} columns between tabs, but {needed}; fix the line")
        return match[1], match[2].strip()

    return parse


def _columns(text: str) -> Row | None:
    """Read a line of CoNLL-2002 or 2003: the token is first, the tag last."""
    columns = _BLANKS.split(text.strip(" \t"))  # a no-break space is inside a token: 10 000
    if columns[0] == "-DOCSTART-":
        return None
    if len(columns) < 2:
        raise InputError("one column, but a token and, last, its tag are needed; fix the line")
    return columns[0], columns[-1]


TAG_FORMATS: dict[str, Callable[[str], Row | None]] = {
    "conllu": _conllu,
    "panx": _tabbed(r"[a-z][a-z-]{1,11}:([^\t]*)\t([^\t]*)", "PAN-X has `language:token` and a tag"),
    "indexed": _tabbed(r"[0-9]{1,9}\t([^\t]*)\t([^\t]*)", "a number, a token and a tag are needed"),
    "pairs": _tabbed(r"([^\t]*)\t([^\t]*)", "a token and a tag are needed"),
    "columns": _columns,
}
"""Formats of tagged files, and the function that reads a line of each."""


_NODE, _RANGE = re.compile(r"[0-9]{1,9}"), re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_UNWRITTEN = re.compile("[ \u200c]")
_EMPTY = "_"
_PRECEDENCE: Mapping[str, str] = {
    "": "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT",
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
"""Tags of each language in their order of precedence; other tags come last. Empty: all other languages."""

Line = tuple[int, str]


def surface_rows(block: Sequence[Line], *, language: str) -> list[tuple[int, tuple[str, str]]]:
    """Read the words of a CoNLL-U sentence as they are written: the number of the line, the word and the tag of each.

    CoNLL-U has a line for a multiword token (``1-2 zum``) before those of its syntactic words (``1 zu``, ``2 dem``).

    1. A multiword token is one word. Its tag is the tag of the syntactic word that stands highest in the tree; of
       several such words, of the one whose tag comes first in the language's order of precedence; of several of these,
       of the first one.
    2. Spaces and zero-width non-joiners inside words are removed.
    3. A sentence whose words are all blank (``_``), or all but one, has no words: treebanks without their texts.
    """
    # Columns of each syntactic word, and its line, form and tag, by its number in the sentence.
    columns_of: dict[int, list[str]] = {}
    words: dict[int, tuple[int, str, str]] = {}
    # First and last syntactic word of each multiword token, and the token as it is written.
    multiword_tokens: list[tuple[int, int, str]] = []
    for line, text in block:
        columns = text.split("\t")
        if _NODE.fullmatch(columns[0]):
            node = int(columns[0])
            columns_of[node] = columns
            words[node] = (line, columns[1], columns[3])
        elif match := _RANGE.fullmatch(columns[0]):
            multiword_tokens.append((int(match[1]), int(match[2]), columns[1]))

    precedence = _PRECEDENCE.get(two_letters(language), _PRECEDENCE[""]).split()
    rank = {tag: place for place, tag in enumerate(precedence)}
    # Most sentences have no multiword token, and need no walk through their graph.
    above = _above(columns_of) if multiword_tokens else {}
    for first, last, token in multiword_tokens:
        parts = sorted(node for node in words if first <= node <= last)
        if not parts:
            continue
        # 1. The highest word has the fewest words above it. Of equal ones, `min` takes the first.
        head = min(parts, key=lambda part: (above[part], rank.get(words[part][2], len(rank))))
        line, _, tag = words[head]
        for part in parts:
            del words[part]
        words[head] = (line, token, tag)
    # 2
    written = [(line, (_UNWRITTEN.sub("", word), tag)) for _, (line, word, tag) in sorted(words.items())]
    blanks = sum(word == _EMPTY for _, (word, _) in written)
    return [] if blanks and blanks >= len(written) - 1 else written  # 3


def _above(nodes: Mapping[int, Sequence[str]]) -> dict[int, int]:
    """Count the nodes above each one: its heads, their heads, and so on; the root 0 is one of them.

    Heads are those of the basic tree (column 7, HEAD) and of the enhanced graph (column 9, DEPS: ``4:nsubj|0:root``).
    """
    heads: dict[int, set[int]] = defaultdict(set)
    for node, columns in nodes.items():
        named = [columns[6], *(pair.partition(":")[0] for pair in columns[8].split("|"))]
        heads[node] = {int(name) for name in named if _NODE.fullmatch(name)}
    counts = {}
    for node in nodes:
        seen: set[int] = set()
        to_visit = [node]
        while to_visit:
            new = heads[to_visit.pop()] - seen
            seen |= new
            to_visit += new
        counts[node] = len(seen - {node})  # the enhanced graph may have cycles
    return counts
