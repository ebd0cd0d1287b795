"""``isoglot align``: sentence pairs from files, through an aligner, into a file of links or an aligned corpus."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from isoglot.aligners.aligner import Use
from isoglot.aligners.in_parts import aligner_in_parts, links_made_from
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.aligners.load_aligner import made_of
from isoglot.aligners.options import AnyAligner, LinkFormat, paths_of
from isoglot.aligners.output import has_gold, with_words_written, write_corpus, write_lines
from isoglot.aligners.pairs_in_files import PairsInFiles, read_pairs
from isoglot.aligners.phrases import with_phrases
from isoglot.aligners.pieces import piece_links
from isoglot.checkpoints.folder import BOX
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.manifest import InputFile
from isoglot.corpus.open_corpus import Corpus, open_corpus
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source, by_suffix
from isoglot.runs.files import check_outputs
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.parts import Parts, kept_parts
from isoglot.runs.record import MANIFEST, Record
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of, with_progress


def align_file(
    sources: Sequence[Source],
    out: str | Path,
    request: AnyAligner,
    form: LinkFormat | None = None,
    *,
    progress: AnyReporter | None = None,
    overwrite: bool = False,
    resume: bool = False,
) -> int:
    """Align bitext files and write the links; returns the number of pairs, including those that cannot be aligned.

    An aligner that learns reads all pairs before it aligns the first. Kept parts of a stopped run are used if the text
    of their pairs and all that :func:`~isoglot.aligners.in_parts.links_made_from` records are unchanged; a finished
    corpus is recognised by what :func:`_made_from` records. An option of this function that changes the pairs that are
    read would have to be in both records.

    Args:
        sources: Files of sentence pairs.
        out: File or corpus folder to write.
        request: The aligner and its options.
        form: Format of the output; Pharaoh lines by default.
        progress: Where progress is shown.
        overwrite: Replace a corpus or a saved model that was made from other inputs or with other options.
        resume: Go on from the parts that a stopped run has kept beside the output.
    """
    form = form or LinkFormat()
    _check_paths(sources, out, request, form)
    # A method that learns reads the input once to learn; the words are read a second time if the output shows them.
    # Standard input cannot be read again, so `again` has it kept.
    reads_twice = request.learns and _needs_words(request, form)
    corpus = open_corpus(sources, "bitext", again=reads_twice)
    progress = reporter_of(progress)
    inputs = [path for source in sources for path in source.files()]
    engine = getattr(request, "engine", "local")
    links_depend_on = partial(links_made_from, request, form.words, inputs)
    with kept_parts(out, links_depend_on, what="alignment run", resume=resume, engine=engine) as parts:
        linked_pairs = partial(_linked_pairs, corpus, parts, request, form, progress, overwrite)
        if form.output == "corpus":
            made_from = _made_from(corpus, sources, request, form)
            other_outputs = _other_outputs(request, form)
            return _write_corpus_once(linked_pairs, out, made_from, other_outputs, progress, overwrite)
        gold = _GoldCount()
        with linked_pairs() as linked:
            written = linked
            # Only these formats keep the other values of a row, where a reader would look for links by hand.
            if form.output in ("jsonl", "tmx"):
                written = gold.passing(linked)
            count = write_lines(
                written, out, form, values=request.values, languages=corpus.languages, paused=corpus.paused
            )
    if gold.pairs:
        progress.note(
            f"{gold.pairs:,} rows have links by hand (sure, possible); {out} has the new links alone"
        )
    if str(out) != "-":
        progress.note(f"{count:,} pairs aligned: {out}")
    return count


class _GoldCount:
    """Count the pairs with links by hand while pairs pass."""

    def __init__(self) -> None:
        self.pairs = 0

    def passing(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Pass pairs on unchanged, and count."""
        for pair in pairs:
            if has_gold(pair):
                self.pairs += 1
            yield pair


def _check_paths(sources: Sequence[Source], out: str | Path, request: AnyAligner, form: LinkFormat) -> None:
    """Refuse outputs that cannot be written, or would overwrite an input or each other, before anything is read."""
    if form.output not in ("tmx", "corpus") and by_suffix(str(out)) == "tmx":
        raise ConfigurationError(
            f"{out}: has the name of a translation memory, but format {form.output} was chosen; add "
            "[[output='tmx']], or "
            "choose another name"
        )
    reads = paths_of(request, "train_on", "load", "start", "model")
    inputs = [path for source in sources for path in source.files()]
    saved = getattr(request, "save", None)
    check_outputs(
        [out, *_other_outputs(request, form)],
        [*inputs, *reads, *form.pieces],
        folders=[saved, out if form.output == "corpus" else None],
    )
    if saved is not None:
        from isoglot.aligners.statistical.methods import require_replaceable  # noqa: PLC0415 - loads numba

        require_replaceable(saved)


def _other_outputs(request: AnyAligner, form: LinkFormat) -> list[Path]:
    """Return the files and folders that are written beside the links: model, lexicon, phrases, words."""
    return [*paths_of(request, "save", "lexicon_files"), *form.files]


def _needs_words(request: AnyAligner, form: LinkFormat) -> bool:
    """Whether an output shows or counts the words of a pair, so that a method that learns has to read them again."""
    return form.shows_words or (isinstance(request, LexiconOptions) and request.counts_links)


@contextmanager
def _linked_pairs(
    corpus: Corpus,
    parts: Parts,
    request: AnyAligner,
    form: LinkFormat,
    progress: Reporter,
    overwrite: bool,
) -> Iterator[Iterator[SentencePair]]:
    """Yield the pairs of a corpus with their links; the other outputs are written as the pairs pass."""
    # Pairs that have words are taken as they are unless the user says how text is cut.
    pairs = PairsInFiles(partial(read_pairs, corpus, accept_words=form.words is None))
    # Tokenizers whose pieces take the place of single Chinese or Japanese characters in phrases and lexicons.
    unit_tokenizers = form.pieces or [getattr(request, "model", BOX)]
    use = Use(
        word_mode=form.words,
        default_word_mode="whitespace",
        in_files=True,
        warn=pairs.warnings,
        needs_words=_needs_words(request, form),
        needs_probabilities=form.shows_probabilities,
        unit_tokenizers=unit_tokenizers,
        piece_tokenizers=form.pieces,
        overwrite=overwrite,
    )
    aligner = aligner_in_parts(request, use, parts, paused=corpus.paused)
    # A saved model says how its text was cut, so the text here is cut in the same way.
    pairs.word_mode = aligner.words or pairs.word_mode
    yield _with_other_outputs(aligner.align(pairs), form, unit_tokenizers, progress, corpus.row_count())


def _with_other_outputs(
    linked: Iterator[SentencePair],
    form: LinkFormat,
    unit_tokenizers: Sequence[str],
    progress: Reporter,
    total: int,
) -> Iterator[SentencePair]:
    """Pass linked pairs on, and write the phrases and words that were asked for.

    With ``form.pieces`` the words of the pairs become pieces. Phrases are made of words all the same, so they are
    counted before; the words that are written are those that the links number, so they come after.
    """
    # One more file also needs its option, `files`, and `shows_words` or `shows_probabilities`, of `LinkFormat`.
    if form.phrases:
        linked = with_phrases(
            linked,
            phrases=form.phrases,
            longest=form.phrase_length,
            moses=form.phrases_format == "moses",
            unit_tokenizers=unit_tokenizers,
        )
    if form.pieces:
        linked = piece_links(linked, form.pieces)
    if form.write_words is not None:
        linked = with_words_written(linked, form.write_words, reverse=form.reverse)
    return with_progress(linked, progress, "aligning", total=total, every=256)


def _write_corpus_once(
    linked_pairs: Callable[[], AbstractContextManager[Iterator[SentencePair]]],
    out: str | Path,
    made_from: dict[str, Any],
    other_outputs: Sequence[Path],
    progress: Reporter,
    overwrite: bool,
) -> int:
    """Write linked pairs as a corpus folder, unless it exists and was made from the same inputs in the same way.

    The manifest of the folder also has hashes of the other outputs. If the folder exists but one of the other outputs
    is missing or was changed, neither can be trusted to belong to the other, and the run is refused.
    """

    def make(folder: Path) -> dict[str, Any]:
        with linked_pairs() as linked:
            pairs = write_corpus(linked, folder)
        return {"pairs": pairs, "beside": _hashes(other_outputs)}

    record = Record(out, made_from, what="aligned corpus", overwrite=overwrite, manifest_key="alignment")
    manifest, is_new = record.make(make)
    for path, found in _hashes(other_outputs).items():
        if found is None or found != manifest["beside"].get(path):
            raise ConfigurationError(
                f"{path}: {'is missing' if found is None else 'was changed'}, and {out}, which was made with it, is "
                f"finished; delete {out} to make both again"
            )
    count = int(manifest["pairs"])
    if is_new:
        progress.note(f"{count:,} pairs aligned: {out}")
    else:
        progress.note(f"{out}: already exists for the same input ({count:,} pairs); nothing to do")
    return count


def _made_from(
    corpus: Corpus, sources: Sequence[Source], request: AnyAligner, form: LinkFormat
) -> dict[str, Any]:
    """Record everything that an aligned corpus depends on, to recognise a finished one.

    A prepared folder is recorded by its manifest, which has hashes of its content; an encoder by its weights.
    """
    prepared, raw = [], []
    for part in corpus.inputs:
        if part.manifest is not None:
            prepared.append(str(Path(part.source.path) / MANIFEST))
        else:
            raw.extend(part.source.files())
    paths = [*prepared, *raw, *map(str, paths_of(request, "train_on", "load", "start"))]
    recorded = {
        "request": {"aligner": request.model_dump(mode="json"), **form.model_dump(mode="json")},
        "sources": [source.model_dump(mode="json") for source in sources],
        "inputs": [InputFile.of(path).recorded() for path in dict.fromkeys(paths)],
    }
    return recorded | made_of(request)


def _hashes(paths: Sequence[Path]) -> dict[str, str | None]:
    """Return a hash of each file or folder by its path; None for a missing one."""
    return {str(path): fingerprint(path) if path.exists() else None for path in paths}
