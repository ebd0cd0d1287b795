"""``isoglot derive``: a corpus in, the same corpus in a derived language out, with gold links and a gold lexicon.

:func:`derive_corpus` refuses requests that do not fit and decides whether the folder is there already; :func:`_write`
fills a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.manifest import InputFile
from isoglot.derivation.input import INPUT_KINDS, kind_of, read_rows
from isoglot.derivation.options import DeriveRequest, TransformOptions
from isoglot.derivation.output import DerivedFolder
from isoglot.derivation.parses import Parses
from isoglot.derivation.rows import Deriver
from isoglot.derivation.sharing import COPY_FILE
from isoglot.derivation.spec import build, parse_names
from isoglot.formats.sources import LANGUAGE_TAG
from isoglot.formats.words import WordMode, split_words
from isoglot.runs.files import refuse_overwriting
from isoglot.runs.record import Record
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from isoglot.derivation.vocabulary import VocabularyCopy

_REPORT_EVERY = 4096
"""Rows between two reports of progress."""
_TEXT_COLUMNS: dict[str, WordMode] = {
    "text": "whitespace",
    "source": "whitespace",
    "target": "whitespace",
    "first": "whitespace",
    "second": "whitespace",
    "context": "unicode",
    "question": "unicode",
}
"""Columns with text, and how their words are cut: as :class:`~isoglot.derivation.rows.Deriver` derives them."""


class DeriveSummary(NamedTuple):
    """Counts of a derived corpus, and its language."""

    rows: int
    pairs: int  # rows of the ALIGNED corpus
    entries: int  # of the gold lexicon
    counts: dict[str, int]  # rows and answers by what became of them
    language: str  # code of the derived language
    skipped: bool  # nothing was done: the folder was there already, made from the same request and inputs


def derive_corpus(
    paths: Sequence[str | Path],
    out: str | Path,
    request: DeriveRequest,
    *,
    overwrite: bool = False,
    progress: AnyReporter | None = None,
) -> DeriveSummary:
    """Write the derived copy of a corpus.

    The folder appears when it is complete. A folder that was made from the same request and inputs is left unchanged.
    It holds

    - ``derived.txt`` and ``original.txt``, line by line (texts and treebanks);
    - ``derived.conllu`` (treebanks), or ``derived.jsonl`` in the columns of the schema (tasks and pairs);
    - ``aligned/``, an ALIGNED corpus of every original sentence and its derived one, with gold links;
    - ``lexicon/`` and ``lexicon.txt``, the gold lexicon (*trans*);
    - ``tokenizer/``, the doubled tokenizer (*trans* with a tokenizer); and
    - a manifest.

    ``paths``: The input: one file or folder; two files for a bitext, three with word links.
    """
    tag = request.derived_language
    if tag is not None and not LANGUAGE_TAG.fullmatch(tag):
        raise ConfigurationError(
            f"[[derived_language]]: got {tag!r}; a code such as qaa or en-x-trans is needed"
        )
    inputs = [str(path) for path in paths]
    kind = request.kind or kind_of(inputs[0])
    if "syn" in parse_names(request.transform) and kind != "treebank" and request.parses is None:
        raise ConfigurationError(
            f"{inputs[0]}: syn orders the words of trees, but {kind} data has none; parse it to CoNLL-U, for "
            "example with stanza (docs/guides/derived_languages.md), and give [[parses='FILE.conllu']], or derive the "
            "CoNLL-U file"
        )
    files = list(inputs)
    if request.parses:
        files.append(request.parses)
    refuse_overwriting(out, files)
    # A tokenizer or models on disk are recorded by their content: the same path may hold others later.
    made_with = (request.tokenizer, request.options.models)
    files += [str(path) for path in made_with if path is not None and Path(path).exists()]
    recorded_files = [InputFile.of(file).recorded() for file in files]
    made_from = {
        "request": request.model_dump(mode="json", by_alias=True),
        "kind": kind,
        "inputs": recorded_files,
    }
    record = Record(out, made_from, what="derived corpus", overwrite=overwrite)
    manifest, is_new = record.make(
        lambda folder: _write(inputs, kind, request, folder, reporter_of(progress))
    )
    recorded = {name: manifest[name] for name in DeriveSummary._fields if name != "skipped"}
    return DeriveSummary(**recorded, skipped=not is_new)


def _write(
    inputs: list[str], kind: str, request: DeriveRequest, folder: Path, progress: Reporter
) -> dict[str, Any]:
    """Derive everything into a folder; return what the manifest says about it."""
    schema = INPUT_KINDS[kind]
    names_of_transforms = parse_names(request.transform)
    transliterates = "trans" in names_of_transforms

    def read_input() -> Iterator[dict[str, Any]]:
        rows = read_rows(inputs, kind, languages=request.languages, options=request.source)
        return islice(rows, request.limit)

    tokenizer, copy = _load_tokenizer(request, draw=transliterates)
    if request.options.literal and schema != "pair":
        raise ConfigurationError(
            f"the literal inversion is the paper's XNLI code, got {schema} data; use it with [[kind='nli']] or "
            "[[kind='paws']]"
        )
    options = _options_for_data(request, schema, tokenizer)
    # The input is read twice if a share of its words is drawn: first for the words, then to be derived.
    transform = build(request.transform, options, vocabulary=copy, words=lambda: _words(read_input()))
    with ExitStack() as stack:
        parse = None
        if request.parses is not None:
            trees = read_rows([request.parses], "treebank", languages=("und",), options={})
            database = folder / ".parses.db"  # removed before the folder is complete
            parse = stack.enter_context(Parses(trees, database, first_only=request.first_parse_only))
        has_lexicon = transliterates and request.lexicon > 0
        output = stack.enter_context(DerivedFolder(folder, schema, lexicon=has_lexicon))
        row_options = request.rows.model_copy(
            update={
                "end_marks": options.end_marks,
                "single_spaces": request.rows.single_spaces or options.literal,
            }
        )
        deriver = Deriver(
            transform, "-".join(names_of_transforms), request.derived_language, row_options, parse
        )
        for row, pairs in deriver.rows(schema, read_input()):
            output.add(row, pairs)
            if output.rows % _REPORT_EVERY == 0:
                progress.progress("rows derived", output.rows, 0)
        if not output.rows:
            reasons = [f"{reason} ({count:,})" for reason, count in deriver.counts.items()]
            why = ", ".join(reasons) or "the input is empty"
            raise ConfigurationError(f"nothing could be derived from {inputs[0]}: {why}; give other data")
        counts = output.finish(share=request.lexicon, seed=options.seed)
        if copy is not None and transliterates:
            copy.save(folder / "tokenizer")
        return {**counts, "counts": dict(deriver.counts)}


def _options_for_data(
    request: DeriveRequest, schema: str, tokenizer: PreTrainedTokenizerBase | None
) -> TransformOptions:
    """Add to the options of transformations what depends on the data; see :class:`Inversion` for their meaning.

    1. Contexts and questions (``span``) may hold several sentences, each re-ordered by itself.
    2. In running text a final mark may hang on the last word: ``on the mat.``. Sentences that were split at marks have
       them as words.
    """
    options = request.options
    is_running_text = schema in ("bitext", "pair", "text") and not request.rows.split_sentences
    return options.model_copy(
        update={
            "tokenizer": options.tokenizer or tokenizer,
            "sentence_by_sentence": options.sentence_by_sentence or schema == "span",  # 1
            "attached": options.attached or is_running_text,  # 2
        }
    )


def _load_tokenizer(
    request: DeriveRequest, *, draw: bool
) -> tuple[PreTrainedTokenizerBase | None, VocabularyCopy | None]:
    """Load the tokenizer of the request, if it has one, and the copy of its vocabulary.

    1. The folder is one that ``isoglot derive`` wrote: the copy in it is continued with.
    2. It is of any other tokenizer: a copy is drawn if ``draw`` is set.
    """
    if request.tokenizer is None:
        return None, None
    from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 - heavy
    from isoglot.derivation.vocabulary import VocabularyCopy  # noqa: PLC0415 - heavy

    if (Path(request.tokenizer) / COPY_FILE).is_file():  # 1
        earlier = VocabularyCopy.load(request.tokenizer)
        return earlier.original, earlier
    tokenizer = load_tokenizer(request.tokenizer)
    return tokenizer, VocabularyCopy.draw(tokenizer, request.options) if draw else None  # 2


def _words(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all words of rows of any schema: of the column ``words``, and of columns with text."""
    for row in rows:
        yield from row.get("words") or ()
        for column, mode in _TEXT_COLUMNS.items():
            if isinstance(row.get(column), str):
                yield from split_words(row[column], mode=mode)
