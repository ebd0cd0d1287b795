"""The sizes of a study: at a scale, with a variant over them, and with the user's changes over both.

    sizes {"steps": (10, 100, 1000)} ─ scale small ─> {"steps": 100} ─ variant ─> {"steps": 50} ─ --set ─> {"steps": 7}

A *size* is any named value that a study looks up: steps, learning rates, choices of a loss.
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
"""Sizes by name: one value for all scales, or a tuple of three values for tiny, small and paper."""
Variants = Mapping[str, Sizes | str]
"""Variants by name: the sizes that a variant sets, or the reason why the study has no such variant."""
OWN = "isoglot"
"""The variant without changes: isoglot's choices where a paper is silent, or its code differs from its text."""
_LONGEST = 80
"""Characters that a setting adds to the name of a folder, at most."""
_ABOUT = {
    OWN: "isoglot's choices where the paper is silent or its code differs from its text",
    "literal": "the paper's equations and text to the letter",
    "authors": "as the authors' code has it",
}


class SizeLog(Mapping[str, Any]):
    """Sizes by name, which note in ``read`` the sizes that were looked up: a table lists those it depends on.

    ``sizes | {"alpha": 5}`` replaces a value for one cell. A replaced value is no size of the study any more: to look
    it up is not noted. All other values are noted in the same ``read``.

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
        """Return the sizes with values of one cell in place of some."""
        return SizeLog({**self._values, **others}, self._replaced | set(others), self.read)


@dataclass(frozen=True)
class Setting:
    """The sizes that a study runs with, and how they differ from those of the scale and of the paper."""

    scale: str
    variant: str  # empty if the study has no variants
    size: dict[str, Any]
    paper: dict[str, Any]  # values at scale paper of the sizes that are different here
    changed: dict[str, Any]  # values that the user set, where they differ from those of the scale and variant
    varied: frozenset[str] = frozenset()  # sizes to which the variant gives another value at this scale

    @classmethod
    def of(
        cls, sizes: Sizes, variants: Variants, *, scale: str, changes: Mapping[str, Any] | None = None
    ) -> Setting:
        """Choose the sizes of a scale, lay those of the variant over them, and ``changes`` over both.

        The variant is itself a change: ``{"variant": "literal", "steps": 7}``.

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
            # The seeds hold for everything that has seeds of its own, such as `ablation_seeds`, if those are not given.
            changes = {name: changes["seeds"] for name in known if name.endswith("_seeds")} | changes
        variant = changes.get("variant", OWN)
        variant_sizes = _sizes_of_variant(variant, variants)
        # A size of the variant, too, may have one value per scale.
        with_variant = {**known, **variant_sizes}
        here = {name: at_scale(value, scale) for name, value in with_variant.items()}
        size = here | changes
        paper = {}
        for name, value in with_variant.items():
            paper_value = at_scale(value, "paper")
            if _is_size(name) and paper_value not in (None, size[name]):
                paper[name] = _plain(paper_value)
        varied = {
            name
            for name, value in variant_sizes.items()
            if at_scale(value, scale) != at_scale(known[name], scale)
        }
        return cls(
            scale,
            variant if variants else "",
            size,
            paper,
            {name: _plain(value) for name, value in changes.items() if _plain(value) != here[name]},
            frozenset(varied),
        )

    def changes_of(self, read: Container[str]) -> dict[str, Any]:
        """Return the user's changes of the sizes that were ``read``.

        The variant counts as a change if one of the sizes that it sets was read. Seeds do not count.
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
        """What the setting adds to the name of the tables' folder; empty for scale tiny without changes.

        Scale small with 200 steps and two seeds has ``small_steps=200_seeds=1+2``. If that is too long, or has other
        characters than a name should, it is cut or cleaned, and a hash keeps it different from other settings.
        """
        parts = [self.scale] if self.scale != SCALES[0] else []
        for name, value in self.changed.items():
            text = "+".join(map(str, value)) if isinstance(value, list) else _text(value)
            parts.append(f"{name}={text}")
        ending = "_".join(parts)
        plain = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", ending)[:_LONGEST]
        return plain if plain == ending else f"{plain}-{key_of([ending])[:8]}"

    def reported(self, read: Container[str]) -> dict[str, Any]:
        """Return the sizes that were ``read`` and that say something at this scale.

        Left out are the variant, seeds, which results have themselves, and sizes without a value here and in the paper.
        """
        sizes = {}
        for name, value in self.size.items():
            if name in read and _is_size(name) and (value is not None or name in self.paper):
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
    """Refuse seeds that are not a list of different whole numbers."""
    for name, seeds in changes.items():
        if not name.endswith("seeds"):
            continue
        whole = isinstance(seeds, list | tuple) and all(isinstance(s, int) and s >= 0 for s in seeds)
        if not whole or not seeds or len(set(seeds)) != len(seeds):
            raise ConfigurationError(
                f"{name}: got {seeds!r}; different whole numbers are needed, such as [1,2,3]"
            )


def _sizes_of_variant(variant: Any, variants: Variants) -> Sizes:
    """Return the sizes that a variant sets; refuse an unknown variant, and one that the study does not have."""
    names = [OWN, *variants]
    if variant not in names:
        raise ConfigurationError(f"unknown variant {variant!r}; {did_you_mean(variant, names)}")
    sizes = variants.get(variant, {})
    if isinstance(sizes, str):
        available = ", ".join(name for name in names if not isinstance(variants.get(name), str))
        raise ConfigurationError(f"variant={variant}: {sizes}; there is {available}")
    return sizes


def _is_size(name: str) -> bool:
    """Whether a name is reported as a size: seeds and the variant are reported on their own."""
    return not name.endswith("seeds") and name != "variant"


def typed(changes: Mapping[str, Any]) -> str:
    """Write changes of sizes as they are typed: ``alpha=1, steps=200``."""
    return ", ".join(f"{name}={_text(value)}" for name, value in changes.items())


def _plain(value: Any) -> Any:
    """A value as JSON has it, where a tuple is a list."""
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
