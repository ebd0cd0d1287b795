"""The sizes of a study: those of a scale, replaced by those of a variant, replaced by the user's changes.

    sizes {"steps": (10, 100, 1000)} ─ scale small ─> {"steps": 100} ─ variant ─> {"steps": 50} ─ --set ─> {"steps": 7}

A *size* is any named value that a study looks up: steps, learning rates, choices of a loss. A *setting* is the sizes
that a study runs with, and how they differ from those of the scale and of the paper.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError
from isoglot.runs.fingerprint import key_of

Scale = Literal["tiny", "small", "paper"]
SCALES: tuple[Scale, ...] = ("tiny", "small", "paper")
Sizes = Mapping[str, Any]
"""Sizes by name: one value for all scales, or a tuple of three values, for tiny, small and paper."""
Variants = Mapping[str, Sizes | str]
"""Variants by name: the sizes that the variant sets, or the reason why the study has no such variant."""
OWN = "isoglot"
"""The default variant, which changes no size: isoglot's choices where a paper is silent or contradicts its code."""
_LONGEST = 80
"""Most characters that a setting adds to the name of a folder."""
_ABOUT = {
    OWN: "isoglot's choices where the paper is silent or its code differs from its text",
    "literal": "the paper's equations and text to the letter",
    "authors": "as the authors' code has it",
}


class SizeLog(Mapping[str, Any]):
    """Sizes by name, with a log: ``read`` holds the names that were looked up.

    A table lists the sizes in the log of its cells, the sizes that its numbers depend on.

    ``sizes | {"alpha": 5}`` replaces a value for one cell. The replaced value is not a size of the study any more, so
    it is not logged when it is looked up. All other values are still logged, in the same ``read``.

    Example:
        >>> sizes = SizeLog({"steps": 10, "alpha": 1})
        >>> (sizes | {"alpha": 5})["alpha"], sizes["steps"], sizes.read
        (5, 10, {'steps'})
    """

    def __init__(
        self, values: Mapping[str, Any], replaced: frozenset[str] = frozenset(), read: set[str] | None = None
    ) -> None:
        self._values, self._replaced = values, replaced
        self.read: set[str] = set() if read is None else read

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if name not in self._replaced:
            self.read.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __or__(self, others: Mapping[str, Any]) -> SizeLog:
        """Return the sizes with some of them replaced by values of one cell."""
        return SizeLog({**self._values, **others}, self._replaced | set(others), self.read)


@dataclass(frozen=True)
class Setting:
    """The sizes that a study runs with, and how they differ from those of the scale and of the paper."""

    scale: str
    variant: str  # empty if the study has no variants
    size: dict[str, Any]  # all sizes by name: setting.size["steps"]
    # For sizes that differ here from scale paper: the value at scale paper.
    paper_where_different: dict[str, Any]
    changed: dict[str, Any]  # sizes that the user changed, with the new value
    varied: frozenset[str] = frozenset()  # sizes to which the variant gives another value at this scale

    @classmethod
    def of(
        cls, sizes: Sizes, variants: Variants, *, scale: str, changes: Mapping[str, Any] | None = None
    ) -> Setting:
        """Choose the sizes of a scale, replace some by those of the variant, and some by the user's changes.

        The variant is given among the changes: ``{"variant": "literal", "steps": 7}``.

        Raises:
            ConfigurationError: An unknown scale, variant or size, or seeds that are not different whole numbers.
        """
        changes = dict(changes or {})
        if scale not in SCALES:
            raise ConfigurationError(f"unknown scale {scale!r}; {did_you_mean(scale, SCALES)}")
        known = {"variant": OWN, **sizes} if variants else sizes
        if unknown := sorted(set(changes) - set(known)):
            raise ConfigurationError(f"unknown size {unknown[0]!r}; {did_you_mean(unknown[0], known)}")
        _require_seeds(changes)
        if "seeds" in changes:
            # Sizes such as `ablation_seeds` take the given seeds too, unless the user gives them as well.
            changes = {name: changes["seeds"] for name in known if name.endswith("_seeds")} | changes

        # A variant may give one value per scale too, so the scale is chosen after the variant is laid over the sizes.
        variant = changes.get("variant", OWN)
        variant_sizes = _sizes_of_variant(variant, variants)
        with_variant = {**known, **variant_sizes}
        unchanged = {name: at_scale(value, scale) for name, value in with_variant.items()}
        size = unchanged | changes

        # The differences that tables and folders name: from scale paper, by the user, and by the variant.
        paper_where_different = {}
        for name, value in with_variant.items():
            paper_value = at_scale(value, "paper")
            if _is_size(name) and paper_value is not None and _plain(paper_value) != _plain(size[name]):
                paper_where_different[name] = _plain(paper_value)
        changed = {}
        for name, value in changes.items():
            if _plain(value) != _plain(unchanged[name]):
                changed[name] = _plain(value)
        varied = set()
        for name, value in variant_sizes.items():
            if at_scale(value, scale) != at_scale(known[name], scale):
                varied.add(name)
        shown_variant = variant if variants else ""
        return cls(scale, shown_variant, size, paper_where_different, changed, frozenset(varied))

    def changes_of(self, read: Container[str]) -> dict[str, Any]:
        """Return the user's changes of sizes that are among those ``read``.

        The variant is a change too, if one of the sizes that it varies was read. Seeds are left out: results name them.
        """
        varied_was_read = any(name in read for name in self.varied)
        changes = {}
        for name, value in self.changed.items():
            was_read = name in read or (name == "variant" and varied_was_read)
            if was_read and not name.endswith("seeds"):
                changes[name] = value
        return changes

    @property
    def ending(self) -> str:
        """The end of the name of the tables' folder; empty for scale tiny without changes.

        Scale small with 200 steps and two seeds has the ending ``small_steps=200_seeds=1+2``. An ending that is too
        long is cut, and characters that do not belong in the name of a folder become ``-``. A hash is then added, so
        that two settings never share a folder.
        """
        parts = [self.scale] if self.scale != SCALES[0] else []
        for name, value in self.changed.items():
            text = "+".join(map(str, value)) if isinstance(value, list) else _text(value)
            parts.append(f"{name}={text}")
        ending = "_".join(parts)
        as_name = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", ending)[:_LONGEST]
        return as_name if as_name == ending else f"{as_name}-{key_of([ending])[:8]}"

    def reported(self, read: Container[str]) -> dict[str, Any]:
        """Return the sizes among those ``read`` that a table reports.

        The variant and seeds are left out, because results name them. So is a size that is ``None`` both here and in
        the paper: the study does not use it.
        """
        sizes = {}
        for name, value in self.size.items():
            if name in read and _is_size(name) and (value is not None or name in self.paper_where_different):
                sizes[name] = _plain(value)
        return sizes

    @property
    def caption(self) -> str:
        """The scale and variant in words: ``Scale tiny, variant authors: as the authors' code has it.``."""
        text = f"Scale {self.scale}"
        if self.variant:
            text += f", variant {self.variant}"
        if self.variant in _ABOUT:
            text += f": {_ABOUT[self.variant]}"
        return f"{text}."


def at_scale(value: Any, scale: str) -> Any:
    """Return the value of a size at a scale: ``at_scale((10, 100, 1000), "small")`` is 100."""
    return value[SCALES.index(scale)] if isinstance(value, tuple) else value


def _require_seeds(changes: Mapping[str, Any]) -> None:
    """Refuse changes of seeds that are not a list of different whole numbers, 0 or more."""
    for name, seeds in changes.items():
        if not name.endswith("seeds"):
            continue
        are_whole = isinstance(seeds, list | tuple) and all(isinstance(s, int) and s >= 0 for s in seeds)
        if not are_whole or not seeds or len(set(seeds)) != len(seeds):
            raise ConfigurationError(
                f"{name}: got {seeds!r}; different whole numbers are needed, such as [1,2,3]"
            )


def _sizes_of_variant(variant: Any, variants: Variants) -> Sizes:
    """Return the sizes that a variant sets; refuse an unknown variant, and a variant that the study lacks."""
    names = [OWN, *variants]
    if variant not in names:
        raise ConfigurationError(f"unknown variant {variant!r}; {did_you_mean(variant, names)}")
    sizes = variants.get(variant, {})
    if isinstance(sizes, str):
        available = ", ".join(name for name in names if not isinstance(variants.get(name), str))
        raise ConfigurationError(f"variant={variant}: {sizes}; there is {available}")
    return sizes


def _is_size(name: str) -> bool:
    """Whether a name is reported as a size: seeds and the variant are reported separately."""
    return not name.endswith("seeds") and name != "variant"


def text_of_changes(changes: Mapping[str, Any]) -> str:
    """Write changes of sizes in the form in which a user types them: ``alpha=1, steps=200``."""
    return ", ".join(f"{name}={_text(value)}" for name, value in changes.items())


def _plain(value: Any) -> Any:
    """Turn a tuple into a list, as JSON does; leave any other value unchanged."""
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    """Write a value as text: a text without quotes, anything else as JSON, ``[1,2]``."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
