"""What can be known of a recipe's streams before they are read: options, files, formats, languages."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from isoglot.checks import did_you_mean
from isoglot.corpus.encode.encode import EncodeOptions
from isoglot.corpus.manifest import read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.corpus.read.sources import Source, expand
from isoglot.errors import ConfigurationError
from isoglot.pretraining.streams import is_prepared, prepare_values, stream_sources
from isoglot.recipe.document import Document, Location
from isoglot.recipe.problems import validate
from isoglot.recipe.sections import StreamSection

__all__ = ["check_streams"]

_SECTION_KEYS = ("kind", "path", "sources", "encode", "pack")


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
        parent = Path(path).parent
        siblings = sorted(p.name for p in parent.iterdir()) if parent.is_dir() else []
        close = did_you_mean(Path(path).name, siblings)
        hint = close if close.startswith("did") else "check the path"
        if aligned and not close.startswith("did"):
            hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or check the path"
        document.problem((*location, "path"), f"{path}: no such file or folder; {hint}")
    if missing or kind is None:
        return
    try:
        expand(sources, kind)
    except ConfigurationError as error:
        for message in error.problems:
            document.problem(location, message)


def _check_prepared(document: Document, location: Location, source: Source) -> None:
    """A prepared corpus is read as it is: filters that the stream names must be those it was made with."""
    manifest = read_manifest(source.path)
    entry = document.entries("streams")[str(location[-1])]
    if manifest is None:
        return
    if manifest.kind != entry.get("kind"):
        document.problem(
            (*location, "kind"),
            f"{entry.get('kind')!r} given, {source.path} holds a prepared {manifest.kind} corpus; "
            f"write `kind: {manifest.kind}`, or name another path",
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
                f"{entry[key]!r} given, but {source.path} is prepared already, with {held!r}; a prepared corpus is "
                "read as it is: delete the key, or run `isoglot prepare` again with it",
            )
    spoken = {count.languages for count in manifest.languages}
    named = source.languages(manifest.kind)
    if any(named) and named not in spoken:
        document.problem(
            location,
            f"language {'-'.join(named)} given, {source.path} is prepared with "
            f"{', '.join('-'.join(s) for s in sorted(spoken))}; delete the languages, or name another path",
        )


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that is not there, and not a data set of the hub (``owner/name``)."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    rooted = bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1
    return rooted or aligned or ("/" in path and Path(path).parent.is_dir())
