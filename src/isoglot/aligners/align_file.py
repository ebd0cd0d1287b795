"""``isoglot align``: bitext in, word links out, by a statistical or an embedding-based aligner."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from isoglot.aligners.align_pairs import align_pairs, judged
from isoglot.aligners.embedding.options import values_of
from isoglot.aligners.options import AnyAligner, Encoder, LinkFormat, SavedModel, paths_of
from isoglot.aligners.output import with_words_written, write_corpus, write_lines
from isoglot.aligners.pairs_in_files import Warn, more_bitext, read_pairs
from isoglot.aligners.phrases import counted
from isoglot.aligners.pieces import piece_links
from isoglot.checkpoints.folder import BOX, checkpoint_folder
from isoglot.corpus.manifest import InputFile
from isoglot.corpus.open_corpus import Corpus, open_corpus
from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source, by_suffix
from isoglot.formats.words import WordMode
from isoglot.runs.files import check_outputs
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.record import MANIFEST, Record
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of, with_progress


def align_file(
    sources: Sequence[Source],
    out: str | Path,
    aligner: AnyAligner,
    form: LinkFormat | None = None,
    *,
    progress: AnyReporter | None = None,
    overwrite: bool = False,
) -> int:
    """Align bitext files; returns the number of pairs, those that cannot be aligned included.

    ``overwrite``: Replace a corpus or a saved model that was made from other inputs or with other options.
    """
    form, progress = form or LinkFormat(), reporter_of(progress)
    if form.output not in ("tmx", "corpus") and by_suffix(str(out)) == "tmx":
        raise ConfigurationError(
            f"{out}: has the name of a translation memory, but format {form.output} was chosen; add --format tmx, or "
            "choose another name"
        )
    beside = [*paths_of(aligner, "save", "lexicon"), *form.files]
    reads = paths_of(aligner, "train_on", "load", "start", "model")
    again = form.shows_words and not isinstance(aligner, Encoder | SavedModel)
    inputs = [path for source in sources for path in source.files()]
    saved = getattr(aligner, "save", None)
    check_outputs(
        [out, *beside],
        [*inputs, *reads, *form.pieces],
        folders=[saved, out if form.output == "corpus" else None],
    )
    if saved is not None:
        from isoglot.aligners.statistical.methods import require_room  # noqa: PLC0415 - loads numba

        require_room(saved)
    corpus = open_corpus(sources, "bitext", again=again)
    if form.output != "corpus":
        count = _align(corpus, out, aligner, form, progress, overwrite, out)
        if str(out) != "-":
            progress.note(f"{count:,} pairs aligned: {out}")
        return count
    # What is read, by its content: of a prepared folder by its manifest, of an encoder by its weights.
    prepared = [str(Path(part.source.path) / MANIFEST) for part in corpus.inputs if part.manifest is not None]
    raw = [path for part in corpus.inputs if part.manifest is None for path in part.source.files()]
    paths = [*prepared, *raw, *map(str, paths_of(aligner, "train_on", "load", "start"))]
    made_from = {
        "request": {"aligner": aligner.model_dump(mode="json"), **form.model_dump(mode="json")},
        "sources": [source.model_dump(mode="json") for source in sources],
        "inputs": [InputFile.of(path).recorded() for path in dict.fromkeys(paths)],
    }
    if isinstance(aligner, Encoder):
        made_from["encoder"] = hash_checkpoint(checkpoint_folder(aligner.model))

    def make(folder: Path) -> dict[str, Any]:
        pairs = _align(corpus, out, aligner, form, progress, overwrite, folder)
        return {"pairs": pairs, "beside": _contents(beside)}

    record = Record(out, made_from, what="aligned corpus", overwrite=overwrite, part="alignment")
    manifest, is_new = record.make(make)
    for path, content in _contents(beside).items():
        if content is None or content != manifest["beside"].get(path):
            raise ConfigurationError(
                f"{path}: {'is missing' if content is None else 'was changed'}, and {out}, which was made with it, is "
                f"finished; delete {out} to make both again"
            )
    count = int(manifest["pairs"])
    progress.note(
        f"{count:,} pairs aligned: {out}"
        if is_new
        else f"{out}: already exists for the same input ({count:,} pairs); nothing to do"
    )
    return count


def _contents(paths: Sequence[Path]) -> dict[str, str | None]:
    """Fingerprints; ``None`` for what is missing."""
    return {str(path): fingerprint(path) if path.exists() else None for path in paths}


def _align(
    corpus: Corpus,
    out: str | Path,
    aligner: AnyAligner,
    form: LinkFormat,
    progress: Reporter,
    overwrite: bool,
    path: str | Path,
) -> int:
    """Align, and write the links to a path that is ``out``, or a folder that is going to have that name."""
    with ExitStack() as stack:
        linked: Iterator[SentencePair]
        if isinstance(aligner, Encoder) and aligner.engine == "ray":
            from isoglot.aligners.align_ray import aligned_by_ray  # noqa: PLC0415 - loads torch

            by_ray = aligned_by_ray(corpus, out, aligner, words=form.words or "whitespace", progress=progress)
            linked = judged(stack.enter_context(by_ray), aligner)
        else:
            split = form.words is None

            def more(mode: WordMode, warn: Warn | None) -> Iterator[SentencePair]:
                languages = corpus.inputs[0].source.languages("bitext")
                bitext = more_bitext(getattr(aligner, "train_on", ()), languages)
                return read_pairs(bitext, mode=mode, warn=warn, split=split)

            linked = align_pairs(
                lambda mode, warn: read_pairs(corpus, mode=mode, warn=warn, split=split),
                aligner,
                more=more,
                words=form.words,
                shown=form.shows_words,
                overwrite=overwrite,
            )
        lexicon = aligner.lexicon if isinstance(aligner, Encoder) else None  # a statistical model has its own
        if lexicon or form.phrases:
            linked = counted(
                linked,
                lexicon=lexicon,
                phrases=form.phrases,
                longest=form.phrase_length,
                moses=form.phrases_format == "moses",
                pieces=form.pieces or [aligner.model if isinstance(aligner, Encoder) else BOX],
            )
        if form.pieces:
            linked = piece_links(linked, form.pieces)
        if form.write_words is not None:
            linked = with_words_written(linked, form.write_words, reverse=form.reverse)
        linked = with_progress(linked, progress, "aligning", every=512)
        if form.output == "corpus":
            return write_corpus(linked, Path(path))
        return write_lines(
            linked,
            path,
            form,
            values=values_of(aligner.options) if isinstance(aligner, Encoder) else "probabilities",
            languages=corpus.languages,
        )
