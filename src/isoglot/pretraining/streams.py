"""Encode a recipe's streams: prepare raw files, train or load the tokenizer, cut text into pieces, pack.

A run calls :func:`prepared`, :func:`tokenizer_of_run` and :func:`encoded` in this order; each keeps its result in the
cache. :func:`held_streams` and :func:`held_model` turn objects in memory into files first.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.store import content_hash, stream_manifest
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.corpus.manifest import Manifest, is_prepared, load_corpus, read_manifest
from isoglot.corpus.pack.packing import pack_stream
from isoglot.corpus.prepare import prepare
from isoglot.formats.labelled.memory import dataset_of
from isoglot.modules.model_folder import model_folder
from isoglot.pretraining.recipe import Recipe
from isoglot.pretraining.stream_section import StreamSection
from isoglot.runs.code import code_hashes
from isoglot.runs.files import whole_path
from isoglot.runs.fingerprint import fingerprint, key_of
from isoglot.runs.folder import TOKENIZER_FILES, hash_checkpoint
from isoglot.runs.lock import locked
from isoglot.runs.record import Record
from isoglot.runs.reporter import Reporter, bars_on_terminals

_DROPPED = ("empty", "overlong")
"""Counts in an encoded stream's manifest of examples that were dropped."""
SIDES = ("source", "target")
TEXT_COLUMNS = ("text", *SIDES)
"""Columns of prepared corpora that hold sentences."""


def held_streams(streams: Mapping[str, Any], cache: Path) -> list[str]:
    """Write data in memory into the cache; return overrides of a recipe by which its streams read the files.

    ``{"bitext": frame}`` gives ``['streams.bitext.path="/…/given/3fa1….parquet"']``. The file is named by the hash of
    its content, so the same data is written once.
    """
    overrides = []
    for name, data in streams.items():
        dataset = dataset_of(data, f"streams: {name}", SIDES)
        file = cache / "given" / f"{content_hash(dataset, dataset.column_names)}.parquet"
        if not file.is_file():
            with whole_path(file) as temporary, bars_on_terminals():
                dataset.to_parquet(temporary)
        overrides.append(f"streams.{name}.path={json.dumps(str(file.resolve()))}")
    return overrides


def held_model(
    model: PreTrainedModel | str | Path, tokenizer: PreTrainedTokenizerBase | None, cache: Path
) -> str:
    """Return the override of a recipe by which the run begins from a model; an object is written into the cache first.

    A folder ``runs/a`` gives ``model.path="/…/runs/a"``; a hub name stays as it is.
    """
    with model_folder(model, tokenizer) as folder:
        path = folder
        if not isinstance(model, str | Path):
            # The folder of an object is temporary: it is copied into the cache.
            path = cache / "models" / f"{Path(folder).name}-{hash_checkpoint(Path(folder))}"

            def copy_into(new: Path) -> dict[str, Any]:
                shutil.copytree(folder, new, dirs_exist_ok=True)
                return {"name": new.name}

            Record(path, {}, what="encoder").make(copy_into, cached=True)
        is_folder = Path(path).exists()  # and no hub name
        return f"model.path={json.dumps(str(Path(path).resolve() if is_folder else path))}"


def prepared(recipe: Recipe, cache: Path, report: Reporter) -> dict[str, Dataset]:
    """Open each stream's corpus; raw files are prepared into the cache first."""
    corpora = {}
    for name, stream in recipe.streams.items():
        # The recipe was checked: a prepared folder is the stream's only source.
        if is_prepared(stream.inputs[0].path):
            corpora[name] = load_corpus(stream.inputs[0].path)
            continue
        folder = _corpus_folder(stream, cache)
        show = partial(report.progress, f"prepare {name}")
        # Another run may prepare the same files at the same time.
        with locked(folder):
            summary = prepare(stream.inputs, folder, options=stream.prepare, progress=show, overwrite=True)
            corpora[name] = load_corpus(folder)
        # Nothing is noted if the corpus was in the cache already.
        if not summary.skipped:
            dropped = [f"{filter_} {rows:,}" for filter_, rows in summary.removed.items() if rows]
            note_on_dropped = f" (dropped: {', '.join(dropped)})" if dropped else ""
            report.note(f"{name}: {summary.rows:,} rows of {summary.read:,}{note_on_dropped}")
            for text in summary.notes:
                report.note(f"{name}: note: {text}")
    return corpora


def corpus_manifest(stream: StreamSection, cache: Path) -> Manifest:
    """Read the manifest of a stream's corpus, after :func:`prepared` has opened the corpus."""
    given = stream.inputs[0].path
    folder = Path(given) if is_prepared(given) else _corpus_folder(stream, cache)
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError("has no manifest that can be read; prepare the corpus again", path=folder)
    return manifest


def _corpus_folder(stream: StreamSection, cache: Path) -> Path:
    """Return the folder of the cache that raw files of a stream are prepared into: one for each set of options."""
    key = key_of([model.model_dump(mode="json") for model in (*stream.inputs, stream.prepare)])
    return cache / "corpora" / f"{stream.kind}-{key}"


def input_hashes(recipe: Recipe, corpora: Mapping[str, Dataset]) -> dict[str, str]:
    """Hash the data and code that a run reads, so that a finished run is not taken for one on other data.

    1. Streams: the prepared rows of each.
    2. ``tokenizer.path``: the files of the tokenizer; a name on the hub stands for itself.
    3. ``teacher`` of an objective: the weights of the teacher.
    4. Any other setting of views, objectives or the trainer that names a file, such as ``train.deepspeed``: the file.
    5. Views and objectives that isoglot does not ship: their code.

    The encoder is not among them: :func:`encoder_hash`.
    """
    hashes = {name: content_hash(corpora[name], corpora[name].column_names) for name in recipe.streams}  # 1
    if recipe.tokenizer is not None and recipe.tokenizer.path is not None:  # 2
        folder = checkpoint_folder(recipe.tokenizer.path, file="tokenizer")
        hashes["tokenizer.path"] = hash_checkpoint(folder, TOKENIZER_FILES)
    for name, section in recipe.objectives.items():  # 3
        teacher = getattr(section.options, "teacher", None)
        if isinstance(teacher, str):
            hashes[f"objectives.{name}.teacher"] = hash_checkpoint(checkpoint_folder(teacher))
    settings = recipe.model_dump(mode="json", include={"views", "objectives", "train"})
    for setting, path in _files_named(settings):  # 4
        hashes[setting] = fingerprint(path)
    sections = [*recipe.views.values(), *recipe.objectives.values()]
    return hashes | code_hashes(*(type(section.options).maker for section in sections))  # 5


def encoder_hash(recipe: Recipe) -> str:
    """Hash the weights that the run starts from; a hub name stands for itself, and new weights have an empty hash."""
    path = recipe.model.path
    return "" if path is None else hash_checkpoint(checkpoint_folder(path))


def _files_named(values: Any, setting: str = "") -> Iterator[tuple[str, str]]:
    """Find texts in settings that name files: ``{"train": {"deepspeed": "a.json"}}`` gives ``train.deepspeed, a.json``.

    A text names a file if it has a suffix and the file exists. ``setting``: The dotted name of ``values``.
    """
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _files_named(value, f"{setting}.{key}" if setting else key)
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _files_named(value, f"{setting}.{number}")
    elif isinstance(values, str) and Path(values).suffix and Path(values).is_file():
        yield setting, values


def tokenizer_of_run(
    recipe: Recipe,
    corpora: Mapping[str, Dataset],
    cache: Path,
    report: Reporter,
    *,
    checkpoint: Path | None = None,
) -> PreTrainedTokenizerFast:
    """Load the run's tokenizer, or train it.

    1. ``tokenizer.path``, or the tokenizer of the model's own folder: it is loaded.
    2. A new tokenizer of a run that goes on after a checkpoint: it is the checkpoint's.
    3. A new tokenizer: it is trained on the sentences of all streams but lexicons, and kept in the cache.

    ``checkpoint``: The newest complete checkpoint of the run.
    """
    training = None if recipe.tokenizer is None else recipe.tokenizer.training
    if training is None:  # 1
        path = recipe.tokenizer.path if recipe.tokenizer is not None else recipe.model.path
        if path is None:
            raise ConfigurationError(
                "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`"
            )
        revision = recipe.model.settings.get("revision") if recipe.tokenizer is None else None
        return load_tokenizer(path, **({} if revision is None else {"revision": revision}))
    if checkpoint is not None:  # 2
        return load_tokenizer(checkpoint)
    read = {name: corpus for name, corpus in corpora.items() if recipe.streams[name].kind != "lexicon"}  # 3
    hashes = [content_hash(corpus, text_columns(corpus)) for corpus in read.values()]
    options = training.model_dump(mode="json")
    # Another release of the library may learn other pieces from the same text.
    key = key_of([options, sorted(hashes), version("tokenizers")])
    folder = cache / "tokenizers" / f"{training.algorithm}-{key}"

    def train(new: Path) -> dict[str, Any]:
        report.note(f"tokenizer: training {training.algorithm} with {training.vocab_size:,} pieces")
        train_tokenizer(Texts(read), training).save_pretrained(str(new))
        return {"options": options}

    Record(folder, {}, what="tokenizer").make(train, cached=True)
    return load_tokenizer(folder)


def text_columns(corpus: Dataset) -> list[str]:
    """Return the columns of a corpus that hold sentences: ``text``, or ``source`` and ``target``."""
    return [column for column in TEXT_COLUMNS if column in corpus.column_names]


class Texts:
    """The sentences of corpora, one after another; unlike a generator they can be read more than once."""

    def __init__(self, corpora: Mapping[str, Dataset]) -> None:
        self.corpora = corpora

    def __iter__(self) -> Iterator[str]:
        for corpus in self.corpora.values():
            columns = text_columns(corpus)
            for batch in corpus.select_columns(columns).iter(batch_size=1000):
                for column in columns:
                    yield from batch[column]


def encoded(
    recipe: Recipe,
    corpora: Mapping[str, Dataset],
    tokenizer: PreTrainedTokenizerFast,
    cache: Path,
    report: Reporter,
) -> dict[str, Dataset]:
    """Encode the streams that views read, and pack those with ``pack``; each is kept in the cache."""
    folder = cache / "streams"
    streams = {}
    for name in dict.fromkeys(view.stream for view in recipe.views.values()):
        show = partial(report.progress, f"encode {name}")
        options = encoding(recipe, name)
        stream = encode_stream(corpora[name], tokenizer, options=options, cache_dir=folder, progress=show)
        dropped = _note_on_dropped(stream_manifest(stream)["counts"], options)
        unit, pack = "examples", recipe.streams[name].pack
        if pack is not None:
            stream = pack_stream(stream, tokenizer, options=pack, cache_dir=folder)
            unit = "blocks"
        report.note(f"{name}: {len(stream):,} {unit}{dropped}")
        streams[name] = stream
    return streams


def _note_on_dropped(counts: Mapping[str, int], options: EncodeOptions) -> str:
    """Say how many examples encoding dropped: `` (encoding dropped: overlong 12 for encode.max_length=64)``."""
    limits = []
    for option in ("max_length", "max_side"):
        limit = getattr(options, option)
        if limit:
            limits.append(f"{option}={limit}")
    dropped = []
    for reason, count in counts.items():
        if reason in _DROPPED and count:
            explained = f" for encode.{', '.join(limits)}" if reason == "overlong" else ""
            dropped.append(f"{reason} {count:,}{explained}")
    return f" (encoding dropped: {', '.join(dropped)})" if dropped else ""


def encoding(recipe: Recipe, name: str) -> EncodeOptions:
    """Return the options by which a stream is encoded.

    If the stream does not give ``encode.max_length``:

    1. A packed stream has no limit: its blocks go on over the ends of examples.
    2. If each view that reads the stream has a ``max_length``, the largest one is the limit, and longer examples are
       dropped: no view would show them whole.
    3. Otherwise the default of the options holds.
    """
    stream = recipe.streams[name]
    changes: dict[str, Any] = {}
    if not stream.encode.kind:
        changes["kind"] = stream.kind
    if "max_length" not in stream.encode.model_fields_set:
        readers = [view.options for view in recipe.views.values() if view.stream == name]
        lengths: list[int] = []
        for options in readers:
            length = getattr(options, "max_length", None)
            if "max_length" in options.model_fields_set and isinstance(length, int):
                lengths.append(length)
        if stream.pack is not None:  # 1
            changes["max_length"] = None
        elif lengths and len(lengths) == len(readers):  # 2
            changes["max_length"] = max(lengths)
    return stream.encode.model_copy(update=changes)
