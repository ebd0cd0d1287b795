"""Options of verbs, declared once: a field of a model is a flag, a recipe key, a line of help and a row in the docs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Options", "Precision", "option"]

Precision = Literal["float32", "bfloat16", "float16"]
"""Numbers that a forward pass computes in."""


class Options(BaseModel):
    """Base of option models: frozen; unknown names and numbers that are not finite are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def option(
    default: Any = ...,
    description: str = "",
    *,
    flags: Sequence[str] | None = (),
    group: str | None = None,
    metavar: str | None = None,
    commas: bool = False,
    needs: str | None = None,
    **bounds: Any,
) -> Any:
    """A field of an option model.

    Args:
        default: Default value; leave it out for a required option.
        description: One line for `--help`, the recipe reference and the docs.
        flags: Flags on the command line; by default ``--field-name``. ``None`` for a field without one.
        group: Heading under which `--help` lists the flag.
        metavar: Placeholder of the value in `--help`, where the type does not say enough.
        commas: Several values are written with commas in one flag (``--seed 1,2,3``) instead of by repeating it.
        needs: What has to be chosen for the option to have an effect, for a check of the command.
        **bounds: What else pydantic's ``Field`` takes: ``ge``, ``gt``, ``le``, ``lt``, ``min_length``, ``exclude``.

    Example:
        >>> class Cut(Options):
        ...     limit: int | None = option(None, "Keep at most this many rows.", ge=1)
    """
    extra: dict[str, Any] = {
        "flags": None if flags is None else list(flags),
        "group": group,
        "metavar": metavar,
        "commas": commas,
        "needs": needs,
    }
    return Field(default, description=description, json_schema_extra=extra, **bounds)
