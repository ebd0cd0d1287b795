"""What a recipe's streams ask for: sources and the options of preparing, tokenizing and encoding; their mistakes."""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from isoglot.checks import did_you_mean
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.corpus.manifest import MANIFEST, read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.corpus.read.sources import Source, expand, sources_from
from isoglot.errors import MISSING_FILE, ConfigurationError, Location
from isoglot.recipe.document import Document
from isoglot.recipe.sections import Recipe, StreamSection, validate

_MEASURED = ("min_pieces", "max_pieces", "max_pair_pieces")
_SECTION_KEYS = ("kind", "path", "sources", "encode", "pack")


def is_prepared(path: str) -> bool:
    """Whether a path is a folder that ``isoglot prepare`` wrote."""
    return (Path(path) / MANIFEST).is_file() and read_manifest(path) is not None


def stream_sources(stream: StreamSection) -> list[Source]:
    """The sources that a stream's section names; its own keys hold for all of them."""
    shared = {k: v for k, v in stream.options.items() if k in Source.model_fields}
    if stream.sources is not None:
        return [Source.model_validate({**shared, **entry}) for entry in stream.sources]
    options = {k: v for k, v in shared.items() if k not in ("language", "source_language", "target_language")}
    pair = (shared.get("source_language"), shared.get("target_language"))
    languages = [shared.get("language")] if stream.kind == "text" else list(pair)
    return sources_from(stream.paths, kind=stream.kind, languages=cast(Sequence[str], languages), **options)


def prepare_values(recipe_values: Mapping[str, Any], kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """A stream's keys that are options of preparing; filters by pieces measure with the run's tokenizer by default."""
    values = {"kind": kind, **{k: v for k, v in options.items() if k in PrepareOptions.model_fields}}
    if values.get("tokenizer") is None and any(values.get(name) is not None for name in _MEASURED):
        for section in ("tokenizer", "model"):
            entry = recipe_values.get(section)
            if isinstance(entry, Mapping) and entry.get("path"):
                values["tokenizer"] = str(entry["path"])
                break
    return values


def tokenizer_options(recipe: Recipe) -> TokenizerOptions | None:
    """Options of the tokenizer that the recipe trains, ``None`` where it loads one."""
    section = recipe.tokenizer
    if section is None or section.path is not None:
        return None
    values = {"algorithm": section.algorithm, **section.options}
    if (recipe.model.architecture or "") in ("roberta", "xlm-roberta"):
        values.setdefault("family", "roberta")
    return TokenizerOptions.model_validate(values)


def encode_options(recipe: Recipe, name: str) -> EncodeOptions:
    """How a stream is encoded.

    Where ``encode.max_length`` is not given it is the largest ``max_length`` of the views that read the stream (an
    example that no view shows whole is dropped), and unlimited where the stream is packed.
    """
    stream = recipe.streams[name]
    values = {"kind": stream.kind, **stream.encode}
    if "max_length" not in values:
        views = [v.options.get("max_length") for v in recipe.views.values() if v.stream == name]
        lengths = [length for length in views if isinstance(length, int)]
        if stream.pack is not None:
            values["max_length"] = None
        elif lengths and len(lengths) == len(views):
            values["max_length"] = max(lengths)
    return EncodeOptions.model_validate(values)


def check_streams(document: Document) -> None:
    """The streams: their sources exist and say what they are; preparing, encoding and packing take their options."""
    for name, entry in document.entries("streams").items():
        location: Location = ("streams", name)
        values = {k: v for k, v in entry.items() if k not in _SECTION_KEYS}
        known = {*Source.model_fields, *PrepareOptions.model_fields}
        for key in [k for k in values if k not in known]:
            document.problem((*location, key), f"unknown key; {did_you_mean(key, known)}")
        if any(place[:2] == location for place in document.unset()):
            continue  # paths with unset variables would only repeat that they are missing
        before = len(document.problems)
        sources = _sources(document, location, entry)
        options = prepare_values(document.values, entry.get("kind"), values)
        validate(document, location, PrepareOptions, options)
        for key, model in (("encode", EncodeOptions), ("pack", PackOptions)):
            if isinstance(entry.get(key), dict):
                validate(document, (*location, key), model, entry[key])
        if sources:
            sound = len(document.problems) == before
            _check_files(document, location, sources, entry.get("kind") if sound else None)


def _sources(document: Document, location: Location, entry: dict[str, Any]) -> list[Source]:
    """The sources of a stream, each entry's mistakes with its own line."""
    shared = {k: v for k, v in entry.items() if k in Source.model_fields and k != "path"}
    several = entry.get("sources")
    if isinstance(several, list):
        found = [
            validate(
                document,
                (*location, "sources", i),
                Source,
                {**shared, **one} if isinstance(one, dict) else one,
            )
            for i, one in enumerate(several)
        ]
        return found if all(found) else []
    try:
        return stream_sources(StreamSection.model_validate(entry))
    except ValidationError:
        checked = {"path": "-", **shared}
        validate(document, location, Source, checked)  # what is wrong with the shape itself is known already
        return []


def _check_files(document: Document, location: Location, sources: list[Source], kind: Any) -> None:
    """The files are there, and of a format that can be told; ``kind`` is ``None`` where the options are wrong."""
    if any(is_prepared(source.path) for source in sources):
        if len(sources) > 1:
            document.problem(location, "a prepared folder stands alone; name it as the only path")
        elif kind is not None:
            _check_prepared(document, location, sources[0])
        return
    aligned = document.entries("streams")[str(location[-1])].get("kind") == "aligned"
    missing = [p for source in sources for p in source.files() if _is_missing(p, source, aligned=aligned)]
    for path in missing:
        hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or " if aligned else ""
        text = f"{path}: no such file or folder; {hint}check the path"
        document.problem((*location, "path"), text, MISSING_FILE)
    if missing or kind is None:
        return
    try:
        expand(sources, kind)
    except ConfigurationError as error:
        document.add(problem.below(*location) for problem in error.problems)


def _check_prepared(document: Document, location: Location, source: Source) -> None:
    """A prepared corpus is read as it is: filters that the stream names must be those it was made with."""
    manifest = read_manifest(source.path)
    entry = document.entries("streams")[str(location[-1])]
    if manifest is None:
        return
    if manifest.kind != entry.get("kind"):
        document.problem(
            (*location, "kind"),
            f"{entry.get('kind')!r} given, {source.path} holds a prepared {manifest.kind} corpus; change kind",
        )
        return
    wanted = PrepareOptions.model_validate(prepare_values(document.values, manifest.kind, entry))
    for key in PrepareOptions.model_fields:
        held = getattr(manifest.options, key)
        if (
            key in entry
            and key not in ("kind", "tokenizer", "seed", "shard_rows")
            and getattr(wanted, key) != held
        ):
            document.problem(
                (*location, key),
                f"{entry[key]!r} given, but {source.path} is prepared with {held!r}; delete the key",
            )
    spoken = {count.languages for count in manifest.languages}
    named = source.languages(manifest.kind)
    if any(named) and named not in spoken:
        document.problem(
            location,
            f"language {'-'.join(named)} given, {source.path} is prepared with "
            f"{', '.join('-'.join(s) for s in sorted(spoken))}; delete the languages",
        )


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that is not there, and not a data set of the hub (``owner/name``)."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    rooted = bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1
    return rooted or aligned or ("/" in path and Path(path).parent.is_dir())
