"""The input of `isoglot derive`: corpora in any format, and the data of tasks in their formats."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.manifest import is_prepared, read_manifest
from isoglot.corpus.open_corpus import open_corpus
from isoglot.formats.line_files import jsonl_columns
from isoglot.formats.sources import Kind
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES

INPUT_KINDS: dict[str, str] = {
    "text": "text",
    "bitext": "bitext",
    "aligned": "aligned",
    "treebank": "treebank",
    "tagged": "tagged",
    "nli": "pair",
    "paws": "pair",
    "qa": "span",
}
"""Kinds of data that can be derived, and the schema of each kind's rows (see :mod:`isoglot.formats.schema`)."""

_CORPORA = ("text", "bitext", "aligned", "treebank")
_KIND_OF_COLUMNS = (
    ({"context", "question"}, "qa"),
    ({"words", "tags"}, "tagged"),
    ({"first", "second"}, "nli"),
    ({"premise", "hypothesis"}, "nli"),
    ({"sentence1", "sentence2"}, "paws"),
    ({"source", "target", "links"}, "aligned"),
    ({"source", "target"}, "bitext"),
    ({"text"}, "text"),
)
"""Sets of columns, and the kind of data that has them; the first set that a file's JSON lines have in full decides."""
_KIND_OF_SUFFIX = {
    ".txt": "text",
    ".conllu": "treebank",
    ".tmx": "bitext",
    ".src-tgt": "bitext",
    ".json": "qa",
}


def kind_of(path: str) -> str:
    """Detect the kind of an input's data.

    1. A prepared folder says so in its manifest.
    2. JSON lines show it by their columns.
    3. Other files show it by their suffix.

    Example:
        >>> kind_of("en.conllu")
        'treebank'
    """
    manifest = read_manifest(path)
    if manifest is not None and manifest.kind in INPUT_KINDS:  # 1
        return manifest.kind
    suffix = bare_suffix(path)
    if suffix in JSON_LINES:  # 2
        columns = jsonl_columns(path)
        row_kind = next((kind for needed, kind in _KIND_OF_COLUMNS if needed <= columns), None)
        if row_kind is not None:
            return row_kind
    if suffix in _KIND_OF_SUFFIX:  # 3
        return _KIND_OF_SUFFIX[suffix]
    raise ConfigurationError(
        f"{path}: its content is not clear from its name; give [[kind]]: {', '.join(INPUT_KINDS)}"
    )


def read_rows(
    paths: list[str], kind: str, *, languages: tuple[str, ...], options: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield rows of the schema that belongs to a kind, see :data:`INPUT_KINDS`.

    ``paths``: One file or folder; two files for a bitext, three with word links.
    ``options``: Further keys of :class:`isoglot.formats.sources.Source`.
    """
    if kind == "text" and is_prepared(paths[0]) and kind_of(paths[0]) == "treebank":
        kind = "treebank"  # a prepared treebank can be derived as text: the words of its trees
    if kind in _CORPORA:
        corpus: Kind = kind  # type: ignore[assignment]
        yield from open_corpus(paths, corpus, languages=languages, **options)
        return
    if len(paths) > 1:
        raise ConfigurationError(f"got {len(paths)} files of {kind}; derive them one at a time")
    if not languages or not languages[0]:
        raise ConfigurationError(f"{paths[0]}: its language is needed; give [[languages='en']]")
    yield from _read_task_data(paths[0], kind, languages[0])


def _read_task_data(path: str, kind: str, language: str) -> Iterator[dict[str, Any]]:
    """Yield rows of a task: from a table with the columns of the schema, or from the format of its benchmark."""
    # These import `datasets`: a second that texts and treebanks do not need.
    from datasets import Features  # noqa: PLC0415

    from isoglot.corpus.labelled_tables import is_table, read_table  # noqa: PLC0415
    from isoglot.formats.labelled.pairs import NLI_LABELS, PARAPHRASE_LABELS, read_pairs  # noqa: PLC0415
    from isoglot.formats.labelled.questions import NOT_FOUND, read_questions  # noqa: PLC0415
    from isoglot.formats.labelled.tags import read_tags  # noqa: PLC0415
    from isoglot.formats.schema import PAIR, SPAN, TAGGED  # noqa: PLC0415

    # Of each kind: its schema, what messages call its rows, and the reader of its benchmark's format.
    kinds: dict[str, tuple[Features, str, Callable[..., Iterable[Any]]]] = {
        "tagged": (TAGGED, "tagged sentences", read_tags),
        "nli": (PAIR, "sentence pairs", partial(read_pairs, labels=NLI_LABELS)),
        "paws": (PAIR, "sentence pairs", partial(read_pairs, labels=PARAPHRASE_LABELS)),
        "qa": (SPAN, "questions", read_questions),
    }
    schema, role, read_benchmark = kinds[kind]
    # JSON lines of pairs can also be lines of XNLI or PAWS, whose columns have other names.
    if is_table(path) and (schema is not PAIR or {"first", "second"} <= jsonl_columns(path)):
        yield from read_table(path, schema, language=language, split="train", role=role)
        return
    for row in read_benchmark(path, language=language):
        if kind == "qa":
            # Answers that are not in their context have no place to be moved from.
            answers = zip(row["answers"]["text"], row["answers"]["start"], strict=True)
            located = [(text, start) for text, start in answers if start != NOT_FOUND]
            row |= {
                "answers": {"text": [text for text, _ in located], "start": [start for _, start in located]}
            }
        yield row
