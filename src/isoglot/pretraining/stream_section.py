"""The section of one stream: its sources, how they are prepared, encoded and packed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, Field, PlainSerializer

from isoglot.core.checks import checked, did_you_mean
from isoglot.core.errors import Problem, collected, reported_together
from isoglot.corpus.encode.batch import EncodableKind, EncodeOptions
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.formats.sources import Source, sources_from
from isoglot.recipe.sections import OpenSection

_MEASURED_IN_PIECES = ("min_pieces", "max_pieces", "max_pair_pieces")
"""Filters of preparing that need a tokenizer."""


def _dump_given(options: BaseModel | None) -> Any:
    """Dump options without the defaults that were not given, so that a recipe is written as somebody wrote it."""
    return None if options is None else options.model_dump(mode="json", exclude_unset=True)


AS_WRITTEN = PlainSerializer(_dump_given)


class StreamSection(OpenSection):
    """One stream: its files, how they are prepared (other keys), encoded and packed.

    ``path``: one file or several of the same format and languages; ``sources``: several that differ, each with its
    own keys (``{path: ..., source_language: en, target_language: de}``).
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "sources")
    kind: EncodableKind
    path: str | list[str] | None = None
    sources: list[dict[str, Any]] | None = None
    encode: Annotated[EncodeOptions, AS_WRITTEN] = EncodeOptions()
    pack: Annotated[PackOptions | None, AS_WRITTEN] = None
    inputs: list[Source] = Field(exclude=True)
    prepare: PrepareOptions = Field(exclude=True)

    @classmethod
    def option_fields(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Make the sources and the options of preparing.

        Filters that count pieces (``max_pieces``) count those of the run's tokenizer, unless the stream names another.
        """
        known = {*cls.own_keys(), *Source.model_fields, *PrepareOptions.model_fields}
        options = {key: value for key, value in values.items() if key in PrepareOptions.model_fields}
        if options.get("kind") not in get_args(EncodableKind):
            options.pop("kind", None)  # reported with the section's own keys
        counts_pieces = any(options.get(name) is not None for name in _MEASURED_IN_PIECES)
        if counts_pieces and options.get("tokenizer") is None:
            options["tokenizer"] = _path_of_tokenizer(recipe)
        fields: dict[str, Any] = {}
        with reported_together() as problems:
            for key in values:
                if key not in known:
                    problems.append(Problem(f"unknown key; {did_you_mean(key, known)}", (key,)))
            problems.extend(cls._misplaced(values))
            with collected(problems):
                fields["inputs"] = cls.sources_of(values)
            with collected(problems):
                fields["prepare"] = checked(PrepareOptions, options)
        return fields

    @classmethod
    def sources_of(cls, values: Mapping[str, Any]) -> list[Source]:
        """Return the sources that a section names, also if the section has other mistakes.

        Keys of a source that stand in the section hold for each of its sources; under ``sources`` an entry's own key
        comes first: ``{source_language: en, sources: [{path: a}, {path: b, source_language: fr}]}``.
        """
        shared = {key: value for key, value in values.items() if key in Source.model_fields and key != "path"}
        entries = values.get("sources")
        if not isinstance(entries, list):
            return _sources_of_path(values, shared)
        preparing = _preparing_keys()  # reported by :meth:`_misplaced`
        sources: list[Source] = []
        with reported_together() as problems:
            for number, entry in enumerate(entries):
                with collected(problems, "sources", number):
                    keys = entry
                    if isinstance(entry, dict):
                        own = {key: value for key, value in entry.items() if key not in preparing}
                        keys = {**shared, **own}
                    sources.append(checked(Source, keys))
        return sources

    @staticmethod
    def _misplaced(values: Mapping[str, Any]) -> list[Problem]:
        """Report options of preparing that stand under one of several sources: a corpus is prepared as a whole."""
        entries = values.get("sources")
        if not isinstance(entries, list):
            return []
        preparing = _preparing_keys()
        problems: list[Problem] = []
        for number, entry in enumerate(entries):
            misplaced = [key for key in entry if key in preparing] if isinstance(entry, dict) else []
            for key in misplaced:
                text = f"holds for all sources together; write {key} beside `sources`, not under one of them"
                problems.append(Problem(text, ("sources", number, key)))
        return problems


def _path_of_tokenizer(recipe: Mapping[str, Any]) -> str | None:
    """Return the path of the run's tokenizer: the tokenizer's own, else the model's; ``None`` if both are new."""
    for key in ("tokenizer", "model"):
        section = recipe.get(key)
        if isinstance(section, dict) and section.get("path"):
            return str(section["path"])
    return None


def _sources_of_path(values: Mapping[str, Any], shared: Mapping[str, Any]) -> list[Source]:
    """Return the sources of a section with ``path``, one path or several; ``shared`` are the keys of each source."""
    # With any path: mistakes in the other keys are found before the path is looked at.
    checked(Source, {"path": "-", **shared})
    path, kind = values.get("path"), values.get("kind", "")
    paths = [path] if isinstance(path, str) else path
    if kind not in get_args(EncodableKind) or not isinstance(paths, list):
        return []  # reported with the section's own keys
    if not all(isinstance(one, str) for one in paths):
        return []
    return sources_from(paths, kind=kind, **shared)


def _preparing_keys() -> set[str]:
    """Return the options of preparing, which hold for all sources of a section together."""
    return PrepareOptions.model_fields.keys() - Source.model_fields.keys()
