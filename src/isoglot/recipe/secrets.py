"""Secrets of a recipe, such as a token of the hub: they are used, and never shown or written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Self

from pydantic import PrivateAttr

from isoglot.errors import Location
from isoglot.recipe.document import VARIABLE, expand
from isoglot.recipe.sections import Section

_SECRET = re.compile(
    r"(^|_)(token|secret|password|passwd|credentials?|(api|access|auth|private|secret)_?key)$", re.IGNORECASE
)


class Secret(str):
    """A text that works as one, is shown as stars, and of which a pickle holds nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return type(None), ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def names_secret(name: str) -> bool:
    """Whether a setting or an environment variable of this name holds a secret."""
    return _SECRET.search(name) is not None


def is_secret_setting(location: Location) -> bool:
    """Whether a value of a recipe is a setting of ``train`` that holds a secret."""
    return location[:1] == ("train",) and any(names_secret(str(part)) for part in location[1:])


def is_secret(location: Location, raw: Mapping[Location, str]) -> bool:
    """Whether a value of a recipe is such a setting, or was written with a variable that holds a secret."""
    return is_secret_setting(location) or any(map(names_secret, VARIABLE.findall(raw.get(location, ""))))


def _place_of(location: Location, written: str) -> str | None:
    """The path that a text names, as it is the same on every machine; ``None`` if no variable leads to its place.

    A variable before the first slash says where a machine keeps its files, and so does one that is the whole of a
    ``path``. Any other is part of the name.
    """
    first = VARIABLE.match(written)
    if first is None:
        return None
    rest = written[first.end() :]
    leads = rest.startswith("/") or (not rest and "path" in location[-2:])
    return first[0] + expand(rest) if leads else None


class SecretSafe(Section):
    """A recipe whose values can be shown, written and hashed without the secrets in them."""

    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)
    _places: dict[Location, str] = PrivateAttr(default_factory=dict)

    def remember_raw(self, raw: Mapping[Location, str]) -> None:
        """Keep strings as they were written, where a variable was expanded in them."""
        self._raw.update(raw)
        places = {location: _place_of(location, text) for location, text in raw.items()}
        self._places.update({location: text for location, text in places.items() if text is not None})

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of everything but its name and its secrets, with environment variables expanded.

        One that says where a machine keeps its files, as in ``${DATA}/en-de.tsv``, counts as it is written, so that the
        hash is the same on every machine.
        """
        values = self._without_secrets(self._places, settings=False)
        del values["name"]
        # Finished runs of recipes older than these keys are still recognised.
        model, parts = values["model"], values["parts"]
        for section, key in ((values, "parts"), (model, "adapter")):
            if section[key] is None:
                del section[key]
        if parts is not None and parts["freeze_layers"] == 0:
            del parts["freeze_layers"]
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def as_written(self) -> dict[str, Any]:
        """All values, with ``${NAME}`` where the recipe has it: fit to be shown to others."""
        return self._without_secrets(self._raw)

    def shown(self, **how: Any) -> dict[str, Any]:
        """All values with variables expanded, but for secrets: those stay ``${NAME}``, or are left out."""
        return self._without_secrets({}, **how)

    def is_secret(self, location: Location) -> bool:
        """Whether a value must be neither written nor shown."""
        return is_secret(location, self._raw)

    def _without_secrets(
        self, texts: Mapping[Location, str], *, settings: bool = True, **how: Any
    ) -> dict[str, Any]:
        """All values with some texts in their places, and in those of secrets the texts with their variables.

        ``settings``: Whether secret settings stay where they are given by variables.
        """
        texts = {**texts, **{place: text for place, text in self._raw.items() if self.is_secret(place)}}

        def copied(value: Any, location: Location) -> Any:
            if location in texts:
                return texts[location]
            if isinstance(value, dict):
                return {k: copied(v, (*location, k)) for k, v in value.items() if stays((*location, k))}
            if isinstance(value, list):
                return [copied(v, (*location, i)) for i, v in enumerate(value)]
            return value

        def stays(location: Location) -> bool:
            return not is_secret_setting(location) or (settings and location in texts)

        found: dict[str, Any] = copied(self.model_dump(mode="json", **how), ())
        return found
