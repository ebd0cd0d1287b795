"""``isoglot derive``: a corpus in, the same corpus in a derived language out, with gold links and a gold lexicon."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.manifest import InputFile
from isoglot.derivation.input import INPUT_KINDS, kind_of, read_rows
from isoglot.derivation.options import DeriveRequest
from isoglot.derivation.output import DerivedFolder
from isoglot.derivation.parses import Parses
from isoglot.derivation.rows import Deriver
from isoglot.derivation.sharing import COPY_FILE
from isoglot.derivation.spec import build, parse_names
from isoglot.formats.sources import LANGUAGE_TAG
from isoglot.formats.words import split_words
from isoglot.runs.files import refuse_overwriting
from isoglot.runs.record import Record
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from isoglot.derivation.vocabulary import VocabularyCopy

_REPORT_EVERY = 4096
"""Rows between two reports of progress."""
_TEXT_COLUMNS = ("text", "source", "target", "first", "second")


class DeriveSummary(NamedTuple):
    """Counts of a derived corpus, and its language."""

    rows: int
    pairs: int  # rows of the ALIGNED corpus
    entries: int
    counts: dict[str, int]  # rows and answers by what became of them
    language: str  # tag of the derived language
    skipped: bool  # nothing was done: the folder was there already, made from the same


def derive_corpus(
    paths: Sequence[str | Path],
    out: str | Path,
    request: DeriveRequest,
    *,
    overwrite: bool = False,
    progress: AnyReporter | None = None,
) -> DeriveSummary:
    """Write the derived copy of a corpus.

    The folder holds ``derived.txt`` and ``original.txt`` (texts and treebanks, line by line), ``derived.conllu``
    (treebanks) or ``derived.jsonl`` (tasks and pairs, in the columns of their schema); ``aligned/``, an ALIGNED corpus
    from every original sentence to its image with gold links; ``lexicon/`` and ``lexicon.txt``; with a tokenizer
    ``tokenizer/``, its doubled form; and a manifest. It appears when it is complete, and is left alone if the same is
    there already.

    ``paths``: the input: one file or folder; two files for a bitext, three with word links.
    """
    if (tag := request.derived_language) is not None and not LANGUAGE_TAG.fullmatch(tag):
        raise ConfigurationError(
            f"[[derived_language]]: got {tag!r}; a code such as qaa or en-x-trans is needed"
        )
    names = [str(p) for p in paths]
    kind = request.kind or kind_of(names[0])
    if "syn" in parse_names(request.transform) and kind != "treebank" and request.parses is None:
        raise ConfigurationError(
            f"{names[0]}: syn orders the words of trees, but {kind} data has none; parse it to CoNLL-U, for "
            "example with stanza (docs/guides/derived_languages.md), and give [[parses='FILE.conllu']], or derive the "
            "CoNLL-U file"
        )
    files = [*names, *([request.parses] if request.parses else [])]
    refuse_overwriting(out, files)
    made_with = (request.tokenizer, request.options.models)  # by their content where they are files
    files += [str(path) for path in made_with if path is not None and Path(path).exists()]
    inputs = [InputFile.of(f).recorded() for f in files]
    made_from = {"request": request.model_dump(mode="json", by_alias=True), "kind": kind, "inputs": inputs}
    record = Record(out, made_from, what="derived corpus", overwrite=overwrite)
    manifest, new = record.make(lambda folder: _write(names, kind, request, folder, reporter_of(progress)))
    made_of = {name: manifest[name] for name in DeriveSummary._fields[:-1]}
    return DeriveSummary(**made_of, skipped=not new)


def _write(
    names: list[str], kind: str, request: DeriveRequest, folder: Path, progress: Reporter
) -> dict[str, Any]:
    """Derive everything into a folder; return what the manifest says about it."""
    schema = INPUT_KINDS[kind]

    def rows() -> Iterator[dict[str, Any]]:
        examples = read_rows(names, kind, languages=request.languages, options=request.source)
        return islice(examples, request.limit)

    steps = parse_names(request.transform)
    tokenizer, copy = _tokenizer(request, draw="trans" in steps)
    options = request.options
    if options.literal and schema != "pair":
        raise ConfigurationError(
            f"the literal inversion is the paper's XNLI code, got {schema} data; use it with [[kind='nli']] or "
            "[[kind='paws']]"
        )
    # What a sentence is and where its final mark stands depends on the data: see `Inversion`.
    is_running_text = schema in ("bitext", "pair", "text") and not request.rows.split_sentences
    of_data = {
        "tokenizer": options.tokenizer or tokenizer,
        "attached": options.attached or is_running_text,
        "split": options.split or schema == "span",
    }
    options = options.model_copy(update=of_data)
    transform = build(request.transform, options, vocabulary=copy, words=lambda: _words(rows()))
    with ExitStack() as stack:
        parse = None
        if request.parses is not None:  # the folder has a file of its trees until it is complete
            trees = read_rows([request.parses], "treebank", languages=("und",), options={})
            file = folder / ".parses.db"
            parse = stack.enter_context(Parses(trees, file, first_only=request.first_parse_only))
        output = stack.enter_context(
            DerivedFolder(folder, schema, lexicon=request.lexicon > 0 and "trans" in steps)
        )
        settings = {
            "end_marks": options.end_marks,
            "single_spaces": request.rows.single_spaces or options.literal,
        }
        reading = request.rows.model_copy(update=settings)
        deriver = Deriver(transform, "-".join(steps), request.derived_language, reading, parse)
        for row, pairs in deriver.rows(schema, rows()):
            output.add(row, pairs)
            if output.rows % _REPORT_EVERY == 0:
                progress.progress("rows derived", output.rows, 0)
        if not output.rows:
            reasons = ", ".join(f"{r} ({n:,})" for r, n in deriver.counts.items()) or "the input is empty"
            raise ConfigurationError(f"nothing could be derived from {names[0]}: {reasons}; give other data")
        counts = output.finish(share=request.lexicon, seed=options.seed)
        if copy is not None and "trans" in steps:
            copy.save(folder / "tokenizer")
        return {**counts, "counts": dict(deriver.counts)}


def _tokenizer(
    request: DeriveRequest, *, draw: bool
) -> tuple[PreTrainedTokenizerBase | None, VocabularyCopy | None]:
    """Load the tokenizer, and its doubled vocabulary: the one in its folder, or with ``draw`` a new one."""
    if request.tokenizer is None:
        return None, None
    from isoglot.corpus.encode.load_tokenizer import load_tokenizer  # noqa: PLC0415 - heavy
    from isoglot.derivation.vocabulary import VocabularyCopy  # noqa: PLC0415 - heavy

    if (Path(request.tokenizer) / COPY_FILE).is_file():
        copy = VocabularyCopy.load(request.tokenizer)
        return copy.original, copy
    tokenizer = load_tokenizer(request.tokenizer)
    return tokenizer, VocabularyCopy.draw(tokenizer, request.options) if draw else None


def _words(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all words of rows, whatever their columns."""
    for row in rows:
        yield from row.get("words") or ()
        for column in _TEXT_COLUMNS:
            if isinstance(row.get(column), str):
                yield from split_words(row[column], mode="whitespace")
