"""Encode a recipe's streams: prepare raw files, train or load the tokenizer, cut text into pieces, pack."""

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
from isoglot.corpus.encode.load_tokenizer import load_tokenizer as read_tokenizer
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

_LOST = ("empty", "overlong")
SIDES = ("source", "target")
TEXT_COLUMNS = ("text", *SIDES)
"""Columns of prepared corpora that hold sentences."""


def held_streams(streams: Mapping[str, Any], cache: Path) -> list[str]:
    """Overrides of a recipe by which streams read data in memory, which are written into the cache once."""
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
    """The override of a recipe by which it begins from a model; an object is written into the cache once."""
    with model_folder(model, tokenizer) as folder:
        path = folder
        if not isinstance(model, str | Path):
            path = cache / "models" / f"{Path(folder).name}-{hash_checkpoint(Path(folder))}"
            copy = partial(shutil.copytree, folder, dirs_exist_ok=True)
            Record(path, {}, what="encoder").make(lambda new: {"name": copy(new).name}, cached=True)
        there = Path(path).exists()
        return f"model.path={json.dumps(str(Path(path).resolve() if there else path))}"


def prepared(recipe: Recipe, cache: Path, report: Reporter) -> dict[str, Dataset]:
    """Each stream's corpus: opened where it is prepared already, else prepared into the cache."""
    corpora = {}
    for name, stream in recipe.streams.items():
        if is_prepared(stream.inputs[0].path):  # and stands alone
            corpora[name] = load_corpus(stream.inputs[0].path)
            continue
        folder = _corpus_folder(stream, cache)
        show = partial(report.progress, f"prepare {name}")
        with locked(folder):
            summary = prepare(stream.inputs, folder, options=stream.prepare, progress=show, overwrite=True)
            corpora[name] = load_corpus(folder)
        if not summary.skipped:
            lost = [f"{filter_} {rows:,}" for filter_, rows in summary.removed.items() if rows]
            dropped = f" (dropped: {', '.join(lost)})" if lost else ""
            report.note(f"{name}: {summary.rows:,} rows of {summary.read:,}{dropped}")
            for text in summary.notes:
                report.note(f"{name}: note: {text}")
    return corpora


def corpus_manifest(stream: StreamSection, cache: Path) -> Manifest:
    """What the corpus of a stream holds, once :func:`prepared` has opened it."""
    given = stream.inputs[0].path
    folder = Path(given) if is_prepared(given) else _corpus_folder(stream, cache)
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError("has no manifest that can be read; prepare the corpus again", path=folder)
    return manifest


def _corpus_folder(stream: StreamSection, cache: Path) -> Path:
    """Where raw files of a stream are prepared to."""
    key = key_of([model.model_dump(mode="json") for model in (*stream.inputs, stream.prepare)])
    return cache / "corpora" / f"{stream.kind}-{key}"


def input_hashes(recipe: Recipe, corpora: Mapping[str, Dataset]) -> dict[str, str]:
    """Hashes of what a recipe reads, by which a finished run is compared.

    Of each stream its prepared rows, of ``tokenizer.path`` the tokenizer's files (the name of one on the hub), and of
    any other setting that names a file, such as ``train.deepspeed``, the file, of an objective's teacher its weights;
    of views and objectives that isoglot does not ship the code.
    """
    hashes = {name: content_hash(corpora[name], corpora[name].column_names) for name in recipe.streams}
    if recipe.tokenizer is not None and recipe.tokenizer.path is not None:
        folder = checkpoint_folder(recipe.tokenizer.path, file="tokenizer")
        hashes["tokenizer.path"] = hash_checkpoint(folder, TOKENIZER_FILES)
    files = _files_named(recipe.model_dump(mode="json", include={"views", "objectives", "train"}))
    teachers = {
        f"objectives.{name}.teacher": hash_checkpoint(checkpoint_folder(teacher))
        for name, section in recipe.objectives.items()
        if isinstance(teacher := getattr(section.options, "teacher", None), str)
    }
    sections = [*recipe.views.values(), *recipe.objectives.values()]
    code = code_hashes(*(type(section.options).maker for section in sections))
    return hashes | teachers | {setting: fingerprint(path) for setting, path in files} | code


def encoder_hash(recipe: Recipe) -> str:
    """A hash of the weights that the run starts from, the name of those of the hub; empty for new ones."""
    path = recipe.model.path
    return "" if path is None else hash_checkpoint(checkpoint_folder(path))


def _files_named(values: Any, setting: str = "") -> Iterator[tuple[str, str]]:
    """The texts in settings that name files, with the dotted names of these settings."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _files_named(value, f"{setting}.{key}" if setting else key)
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _files_named(value, f"{setting}.{number}")
    elif isinstance(values, str) and Path(values).suffix and Path(values).is_file():
        yield setting, values


def load_tokenizer(
    recipe: Recipe,
    corpora: Mapping[str, Dataset],
    cache: Path,
    report: Reporter,
    *,
    checkpoint: Path | None = None,
) -> PreTrainedTokenizerFast:
    """The run's tokenizer: the one named, the model's own, the one that a ``checkpoint`` kept, or a new one."""
    training = None if recipe.tokenizer is None else recipe.tokenizer.training
    if training is None:
        path = recipe.tokenizer.path if recipe.tokenizer is not None else recipe.model.path
        if path is None:
            raise ConfigurationError(
                "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`"
            )
        revision = recipe.model.settings.get("revision") if recipe.tokenizer is None else None
        return read_tokenizer(path, **({} if revision is None else {"revision": revision}))
    if checkpoint is not None:
        return read_tokenizer(checkpoint)
    used = {n: c for n, c in corpora.items() if recipe.streams[n].kind != "lexicon"}
    content = [content_hash(corpus, text_columns(corpus)) for corpus in used.values()]
    options = training.model_dump(mode="json")
    key = key_of([options, sorted(content), version("tokenizers")])
    folder = cache / "tokenizers" / f"{training.algorithm}-{key}"

    def train(new: Path) -> dict[str, Any]:
        report.note(f"tokenizer: training {training.algorithm} with {training.vocab_size:,} pieces")
        train_tokenizer(Texts(used), training).save_pretrained(str(new))
        return {"options": options}

    Record(folder, {}, what="tokenizer").make(train, cached=True)
    return read_tokenizer(folder)


def text_columns(corpus: Dataset) -> list[str]:
    """The columns of a corpus that hold sentences."""
    return [column for column in TEXT_COLUMNS if column in corpus.column_names]


class Texts:
    """The sentences of corpora, which can be read more than once."""

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
    """The streams that views read, encoded and where asked for packed; each is kept in the cache."""
    streams = {}
    for name in dict.fromkeys(view.stream for view in recipe.views.values()):
        folder = cache / "streams"
        show = partial(report.progress, f"encode {name}")
        options = encoding(recipe, name)
        stream = encode_stream(corpora[name], tokenizer, options=options, cache_dir=folder, progress=show)
        counts = stream_manifest(stream)["counts"]
        limits = [f"{key}={n}" for key in ("max_length", "max_side") if (n := getattr(options, key))]
        limit = {"overlong": f" for encode.{', '.join(limits)}"}
        lost = [f"{k} {n:,}{limit.get(k, '')}" for k, n in counts.items() if k in _LOST and n]
        dropped = f" (encoding dropped: {', '.join(lost)})" if lost else ""
        if (pack := recipe.streams[name].pack) is not None:
            stream = pack_stream(stream, tokenizer, options=pack, cache_dir=folder)
        report.note(f"{name}: {len(stream):,} {'blocks' if pack is not None else 'examples'}{dropped}")
        streams[name] = stream
    return streams


def encoding(recipe: Recipe, name: str) -> EncodeOptions:
    """Options by which a stream is encoded.

    Where ``encode.max_length`` is not given it is the largest ``max_length`` of the views that read the stream (an
    example that no view shows whole is dropped), and unlimited where the stream is packed.
    """
    stream = recipe.streams[name]
    changes: dict[str, Any] = {} if stream.encode.kind else {"kind": stream.kind}
    if "max_length" not in stream.encode.model_fields_set:
        views = [v.options for v in recipe.views.values() if v.stream == name]
        limits = [getattr(v, "max_length", None) for v in views if "max_length" in v.model_fields_set]
        lengths = [length for length in limits if isinstance(length, int)]
        if stream.pack is not None:
            changes["max_length"] = None
        elif lengths and len(lengths) == len(views):
            changes["max_length"] = max(lengths)
    return stream.encode.model_copy(update=changes)
