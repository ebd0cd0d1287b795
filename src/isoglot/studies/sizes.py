"""The sizes of a study at each scale, its variants, and the changes of them."""

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
"""Name of a size to its value, or to a tuple of those at the scales tiny, small and paper."""
Variants = Mapping[str, Sizes | str]
"""Name of a variant to the sizes that it sets, or to the reason why there is none."""
OWN = "isoglot"
"""The variant without changes: what isoglot takes where a paper is silent, or its code differs from its text."""
_LONGEST = 80
_ABOUT = {
    OWN: "isoglot's choices where the paper is silent or its code differs from its text",
    "literal": "the paper's equations and text to the letter",
    "authors": "as the authors' code has it",
}


class SizeLog(Mapping[str, Any]):
    """Sizes by name, which note in ``read`` those that were looked up: a table lists the sizes that it depends on.

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
        """The sizes with values of one cell in their place, which are no sizes of the study."""
        return SizeLog({**self._values, **others}, self._replaced | set(others), self.read)


@dataclass(frozen=True)
class Setting:
    """The sizes that a study runs with."""

    scale: str
    variant: str  # Empty where the study has none
    size: dict[str, Any]
    paper: dict[str, Any]  # What a size is at scale paper, for those that are something else here
    changed: dict[str, Any]  # What was set to something else than it is at this scale
    varied: frozenset[str] = frozenset()  # Sizes that the variant sets to something else

    @classmethod
    def of(
        cls, sizes: Sizes, variants: Variants, *, scale: str, changes: Mapping[str, Any] | None = None
    ) -> Setting:
        """The sizes of a scale, those of a variant over them, and ``changes`` over both.

        Raises:
            ConfigurationError: an unknown scale, variant or size, or seeds that are none.
        """
        changes = dict(changes or {})
        if scale not in SCALES:
            raise ConfigurationError(f"unknown scale {scale!r}; {did_you_mean(scale, SCALES)}")
        known = {"variant": OWN, **sizes} if variants else sizes
        if unknown := sorted(set(changes) - set(known)):
            raise ConfigurationError(f"unknown size {unknown[0]!r}; {did_you_mean(unknown[0], known)}")
        for name, seeds in changes.items():
            if name.endswith("seeds"):
                whole = isinstance(seeds, list | tuple) and all(isinstance(s, int) and s >= 0 for s in seeds)
                if not whole or not seeds or len(set(seeds)) != len(seeds):
                    raise ConfigurationError(
                        f"{name}: got {seeds!r}; different whole numbers are needed, such as [1,2,3]"
                    )
        if "seeds" in changes:  # of all that has seeds of its own too, such as ablations
            changes = {name: changes["seeds"] for name in known if name.endswith("_seeds")} | changes
        variant = changes.get("variant", OWN)
        names = [OWN, *variants]
        if variant not in names:
            raise ConfigurationError(f"unknown variant {variant!r}; {did_you_mean(variant, names)}")
        variant_sizes = variants.get(variant, {})
        if isinstance(variant_sizes, str):
            rest = ", ".join(name for name in names if not isinstance(variants.get(name), str))
            raise ConfigurationError(f"variant={variant}: {variant_sizes}; there is {rest}")
        at_scales = {**known, **variant_sizes}.items()
        usual, paper = ({name: at_scale(value, s) for name, value in at_scales} for s in (scale, "paper"))
        varied = [
            n for n, value in variant_sizes.items() if at_scale(value, scale) != at_scale(known[n], scale)
        ]
        size = usual | changes
        return cls(
            scale,
            variant if variants else "",
            size,
            {n: _plain(v) for n, v in paper.items() if v not in (None, size[n]) and _is_size(n)},
            {n: _plain(v) for n, v in changes.items() if _plain(v) != usual[n]},
            frozenset(varied),
        )

    def changes_of(self, read: Container[str]) -> dict[str, Any]:
        """What was changed of the sizes that were ``read``; seeds do not count."""
        changes = {}
        for name, value in self.changed.items():
            counts = name in read or (name == "variant" and any(size in read for size in self.varied))
            if counts and not name.endswith("seeds"):
                changes[name] = value
        return changes

    @property
    def ending(self) -> str:
        """What tells the folder of its tables from those of other settings: empty for scale tiny as it is."""
        parts = [self.scale] if self.scale != SCALES[0] else []
        parts += [
            f"{name}={'+'.join(map(str, value)) if isinstance(value, list) else _text(value)}"
            for name, value in self.changed.items()
        ]
        text = "_".join(parts)
        plain = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", text)[:_LONGEST]
        return plain if plain == text else f"{plain}-{key_of([text])[:8]}"

    def reported(self, read: Container[str]) -> dict[str, Any]:
        """Those of the sizes ``read`` that say something at this scale.

        Not among them are seeds, which results have, and the variant.
        """
        sizes = {name: value for name, value in self.size.items() if name in read and _is_size(name)}
        return {name: _plain(v) for name, v in sizes.items() if v is not None or name in self.paper}

    @property
    def caption(self) -> str:
        """Scale and variant."""
        variant = f", variant {self.variant}: {_ABOUT.get(self.variant, '')}".removesuffix(": ")
        return f"Scale {self.scale}{variant if self.variant else ''}."


def at_scale(value: Any, scale: str) -> Any:
    """A size at a scale."""
    return value[SCALES.index(scale)] if isinstance(value, tuple) else value


def _is_size(name: str) -> bool:
    return not name.endswith("seeds") and name != "variant"


def typed(changes: Mapping[str, Any]) -> str:
    """Changes of sizes as they are typed: ``alpha=1, steps=200``."""
    return ", ".join(f"{name}={_text(value)}" for name, value in changes.items())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
