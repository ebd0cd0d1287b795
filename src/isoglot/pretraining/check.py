"""Load a recipe with every mistake listed, those included that only the callables themselves can tell."""

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from torch import nn

from isoglot.checks import closest, did_you_mean, missing_package
from isoglot.corpus.manifest import read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.read.sources import Source, expand
from isoglot.errors import MISSING_FILE, ConfigurationError, Location, Problem, collected
from isoglot.modules.load import longest_input
from isoglot.pretraining.build import on_shell
from isoglot.pretraining.recipe import (
    MADE,
    ModelSection,
    ObjectiveSection,
    Recipe,
    StreamSection,
    TokenizerSection,
    ViewSection,
)
from isoglot.recipe.document import Document
from isoglot.recipe.secrets import has_secret_variable, is_secret_setting
from isoglot.recipe.sections import validate
from isoglot.recipe.source import read_document
from isoglot.recipe.spec import spec_of
from isoglot.training.parts import require_thaw

ELSEWHERE: dict[str, str] = {
    "output_dir": "give `isoglot pretrain --out DIR`",
    "per_device_train_batch_size": "write `batch: {examples: 32}`",
    "max_steps": "write `steps: 1000`",
    "num_train_epochs": "write `epochs: {stream: NAME, count: 2}`",
    "seed": "write `seed: 1` at the top",
    "data_seed": "write `seed: 1` at the top",
    "remove_unused_columns": "isoglot's views choose the columns",
    "resume_from_checkpoint": "give `isoglot pretrain --resume`",
    "eval_strategy": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "eval_on_start": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "load_best_model_at_end": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "label_smoothing_factor": "objectives have their own losses",
    "use_liger_kernel": "objectives have their own losses",
    "neftune_noise_alpha": "views make the inputs of the encoder",
    "train_sampling_strategy": "write `batch: {bucket: 50}` for batches of similar lengths",
    "dataloader_drop_last": "every example is in a batch",
    "auto_find_batch_size": "write a smaller `batch: {examples: 16}` and train.gradient_accumulation_steps",
    "ignore_data_skip": "a resumed run goes on with the next batch",
}
"""Settings of ``TrainingArguments`` that another part of a recipe decides, or that could only break a run."""

_MAY_BE_NEGATIVE = ("local_rank", "ddp_timeout")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ENTRIES: dict[str, type[BaseModel]] = {"streams": StreamSection, **MADE}


def load_recipe(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and find all its mistakes before any data or model is touched.

    Each section is read once, as what its ``kind`` or ``type`` says it is. Beside its shape are checked: that names
    refer to something and are read; that ``train`` holds settings of ``TrainingArguments`` that this machine can
    follow; that files exist; that the encoder, which is built without weights, takes its settings, and objectives the
    encoder.

    Args:
        path_or_name: a YAML file, or the name of a built-in recipe.
        overrides: ``section.key=value`` each.

    Raises:
        ConfigurationError: all mistakes, each with its line and the closest known name.
        InputError: the file is not YAML.
    """
    document = read_document(path_or_name, overrides)
    recipe, sections = typed(document)
    _check_names(document, sections)
    _check_train(document)
    for name in document.entries("streams"):
        if not any(place[:2] == ("streams", name) for place in document.unset()):
            _check_files(document, ("streams", name), sections["streams", name])
    _check_encoder(document, sections)
    _check_thaw(document, recipe)
    if recipe is None or document.problems:
        raise document.error(f"recipe {path_or_name}")
    return recipe


def typed(document: Document) -> tuple[Recipe | None, dict[Location, Any]]:
    """The recipe, and its sections and entries by location; ``None`` where one is wrong, its mistakes added."""
    values = dict(document.values)
    maps = [v for key in ("tokenizer", "model") if isinstance(v := values.get(key), dict)]
    context = {
        "tokenizer": next((str(v["path"]) for v in maps if v.get("path")), None),
        "architecture": next((v["architecture"] for v in maps if "architecture" in v), None),
    }
    found: dict[Location, Any] = {}
    for key, model in (("model", ModelSection), ("tokenizer", TokenizerSection)):
        if values.get(key) is not None:
            values[key] = found[(key,)] = validate(document, (key,), model, values[key], context)
    for key, entry in _ENTRIES.items():
        if isinstance(values.get(key), dict):
            own = {
                name: validate(document, (key, name), entry, v, context) for name, v in values[key].items()
            }
            found |= {(key, name): section for name, section in own.items()}
            values[key] = own
    recipe = validate(document, (), Recipe, values, context)
    if recipe is not None:
        recipe.remember_raw(document.raw)
    if (document.values.get("epochs") is None) == (document.values.get("steps") is None):
        document.problem((), "it needs exactly one of `epochs: {stream: NAME, count: 2}` and `steps: 1000`")
    return recipe, found


def _check_names(document: Document, sections: Mapping[Location, Any]) -> None:
    """Names are names, refer to something, and what has one is read."""
    known = {key: list(v) if isinstance(v := document.values.get(key), dict) else [] for key in _ENTRIES}
    taken = {
        "streams": {"position"},
        "objectives": {n for n in known["objectives"] if hasattr(nn.ModuleDict(), n)},
    }
    for key, name in ((key, name) for key, names in known.items() for name in names):
        if not _NAME.fullmatch(name):
            document.problem((key, name), "names are letters, digits, _ and -, and begin with a letter")
        elif name in taken.get(key, ()):
            document.problem((key, name), f"{name!r} is the name of something else; choose another")
    for location, kind, value in _references(document):
        if isinstance(value, str) and known[kind] and value not in known[kind]:
            text = f"no {kind.removesuffix('s')} is named {value!r}; {did_you_mean(value, known[kind])}"
            document.problem(location, text)
    _check_read(document, sections, known)


def _check_read(
    document: Document, sections: Mapping[Location, Any], known: Mapping[str, Sequence[str]]
) -> None:
    """Streams and views are read, and what objectives read by default is there."""
    read = {text for key in MADE for text in _strings(document.values.get(key))}
    for location, section in sections.items():
        if isinstance(section, ViewSection | ObjectiveSection):
            _check_corpora(document, location, section, known["streams"])
        for option, view in section.views.items() if isinstance(section, ObjectiveSection) else ():
            read.add(view)
            if option not in section.options.model_fields_set and view not in known["views"]:
                text = f"reads view {view!r} by default, and there is none; add `{option}: VIEW`"
                document.problem(location, text)
    for name in (name for name in known["streams"] if name not in read):
        text = "no view or objective reads this stream; name it in one or delete it"
        document.problem(("streams", name), text)
    if all(section is not None for (key, *_), section in sections.items() if key == "objectives"):
        for name in (name for name in known["views"] if name not in read):
            document.problem(("views", name), "no objective reads this view; name it in one or delete it")


def _references(document: Document) -> Iterator[tuple[Location, str, Any]]:
    """Where a name of something else may stand, of what, and what stands there."""
    for name, values in document.entries("views").items():
        yield ("views", name, "stream"), "streams", values.get("stream")
    for name, values in document.entries("objectives").items():
        read = (key for key in values if key == "view" or key.endswith("_view"))
        yield from ((("objectives", name, key), "views", values[key]) for key in read)
    if isinstance(epochs := document.values.get("epochs"), dict):
        yield ("epochs", "stream"), "streams", epochs.get("stream")


def _check_corpora(
    document: Document, location: Location, section: ViewSection | ObjectiveSection, streams: Sequence[str]
) -> None:
    """A corpus that is asked for is a stream."""
    for option in section.options.corpora & section.options.model_fields_set:
        value = getattr(section.options, option)
        if value is not None and value not in streams:
            text = f"{value!r} is not a stream, and a corpus is needed; {did_you_mean(value, streams)}"
            document.problem((*location, option), text)


def _strings(tree: object) -> list[str]:
    if isinstance(tree, dict | list):
        return [s for value in (tree.values() if isinstance(tree, dict) else tree) for s in _strings(value)]
    return [tree] if isinstance(tree, str) else []


def _check_files(document: Document, location: Location, stream: StreamSection | None) -> None:
    """The files are there, also those of a stream with mistakes; of one without, of a format that can be told."""
    entry, problems = document.entries("streams")[str(location[1])], list[Problem]()
    inputs = [] if stream is None else stream.inputs
    if stream is None:
        with suppress(ConfigurationError):  # told already
            inputs = StreamSection.sources_of(entry)
    if any(read_manifest(source.path) is not None for source in inputs):
        if len(inputs) > 1:
            document.problem(location, "a prepared folder stands alone; name it as the only path")
        elif stream is not None:
            _check_prepared(document, location, stream)
        return
    aligned = entry.get("kind") == "aligned"
    missing = [p for s in inputs for p in s.files() if _is_missing(p, s, aligned=aligned)]
    for path in missing:
        hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or " if aligned else ""
        text = f"{path}: no such file or folder; {hint}check the path"
        document.problem((*location, "path"), text, MISSING_FILE)
    if stream is not None and not missing:
        with collected(problems, *location):
            expand(inputs, stream.kind)
    document.add(problems)


def _check_prepared(document: Document, location: Location, stream: StreamSection) -> None:
    """A prepared corpus is read as it is: filters that the stream names must be those it was made with."""
    source = stream.inputs[0]
    manifest = read_manifest(source.path)
    if manifest is None:
        return
    if manifest.kind != stream.kind:
        text = f"{stream.kind!r} given, {source.path} holds a prepared {manifest.kind} corpus; change kind"
        document.problem((*location, "kind"), text)
        return
    for key in (key for key in PrepareOptions.model_fields if key in stream.model_fields_set):
        wanted, held = getattr(stream.prepare, key), getattr(manifest.options, key)
        if key not in ("kind", "tokenizer", "seed", "shard_rows") and wanted != held:
            text = (
                f"{getattr(stream, key)!r} given, but {source.path} is prepared with {held!r}; delete the key"
            )
            document.problem((*location, key), text)
    spoken = {count.languages for count in manifest.languages}
    named = source.languages(manifest.kind)
    if any(named) and named not in spoken:
        held = ", ".join("-".join(languages) for languages in sorted(spoken))
        text = (
            f"language {'-'.join(named)} given, {source.path} is prepared with {held}; delete the languages"
        )
        document.problem(location, text)


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that is not there, and not a data set of the hub (``owner/name``)."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    rooted = bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1
    return rooted or aligned or ("/" in path and Path(path).parent.is_dir())


def _check_encoder(document: Document, sections: Mapping[Location, Any]) -> None:
    """The encoder takes its settings, its views have room, and objectives can be made for it."""
    model, tokenizer = sections.get(("model",)), sections.get(("tokenizer",))
    if model is None:
        return
    if model.path is not None and tokenizer is not None and tokenizer.path is None:
        document.problem(
            ("tokenizer",),
            "a new tokenizer given, whose pieces the encoder of model.path was not trained on; leave it out (--set "
            "tokenizer=null)",
        )
    if model.path is None and document.values.get("tokenizer") is None:
        document.problem(
            ("model",),
            "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`",
        )
    problems: list[Problem] = []
    config = None
    with collected(problems):
        config = model.config(training=None if tokenizer is None else tokenizer.training)
    if config is None:
        document.add(problems if model.path is None else ())  # of a checkpoint it is told when it is loaded
        return
    for location, section in sections.items():
        if isinstance(section, ViewSection):
            with collected(problems, *location):
                section.require_room(longest_input(config))
    objectives = {str(place[1]): s for place, s in sections.items() if isinstance(s, ObjectiveSection)}
    document.add([*problems, *on_shell(model, config, objectives)[1]])


def _check_train(document: Document) -> None:
    """The settings of the trainer: known ones, with values of their type, not decided elsewhere."""
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    spec = spec_of(TrainingArguments, *ELSEWHERE)
    own = {k: v for k, v in settings.items() if k not in ELSEWHERE and (k, v) != ("fsdp", True)}
    for name in (name for name in settings if name in ELSEWHERE):
        document.problem(("train", name), f"not a setting of a recipe; {ELSEWHERE[name]}")
    try:
        spec.of(own)
    except ConfigurationError as error:
        for problem in error.problems:
            text, name = problem.text, problem.location[0]
            if problem.kind == "extra_forbidden":
                close = closest(name, spec.model_fields)
                hint = f"did you mean {close!r}?" if close else "see transformers.TrainingArguments"
                text = f"no setting of TrainingArguments; {hint}"
            elif is_secret_setting(("train", name)) or has_secret_variable(
                document.raw.get(("train", name), "")
            ):
                text = "a value that is not shown given; a text is needed"
            document.problem(("train", *problem.location), text)
    for name, value in own.items():
        if not document.is_told(("train", name)) and (reason := _out_of_range(name, value)) is not None:
            document.problem(("train", name), f"{value!r} given; {reason}")
    _check_reporters(document, settings.get("report_to"))


def _check_thaw(document: Document, recipe: Recipe | None) -> None:
    """The encoder is trained at all, where the recipe itself says how many steps there are."""
    if recipe is None or recipe.parts is None or recipe.steps is None:
        return
    problems: list[Problem] = []
    with collected(problems):
        require_thaw(recipe.parts, recipe.steps, bool(recipe.train.get("warmup_steps")))
    document.add(problems)


def _out_of_range(name: str, value: Any) -> str | None:
    """Why a number makes no sense: below 0, not a number, or an average of moments that never forgets."""
    if isinstance(value, bool) or not isinstance(value, int | float) or name in _MAY_BE_NEGATIVE:
        return None
    if not value >= 0:
        return "it is 0 or more"
    return "it is below 1, for example 0.98" if name in ("adam_beta1", "adam_beta2") and value >= 1 else None


def _check_reporters(document: Document, wanted: Any) -> None:
    """The packages that ``report_to`` needs are installed."""
    from transformers.integrations import integration_utils  # noqa: PLC0415 - as TrainingArguments above

    for name in wanted if isinstance(wanted, list) else [wanted]:
        if name in (None, "all", "none"):
            continue
        if name not in integration_utils.INTEGRATION_TO_CALLBACK:
            hint = did_you_mean(name, integration_utils.INTEGRATION_TO_CALLBACK)
            document.problem(("train", "report_to"), f"{name!r} given; {hint}")
        elif name not in integration_utils.get_available_reporting_integrations():
            document.problem(("train", "report_to"), str(missing_package(repr(name), name)))
