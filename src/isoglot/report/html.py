"""HTML and SVG built from escaped parts: a text can only enter as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["Markup", "element", "join"]

_VOID = frozenset({"br", "input", "meta", "circle", "line", "path", "rect", "polygon", "polyline"})


class Markup(str):
    """Text that is markup already; any other ``str`` is escaped where it is put in."""

    __slots__ = ()


Part = str | float | None


def join(parts: Iterable[Part]) -> Markup:
    """The parts one after another, texts escaped, ``None`` passed over."""
    return Markup("".join(p if isinstance(p, Markup) else escape(_text(p)) for p in parts if p is not None))


def element(tag: str, /, *content: Part, **attributes: Part | bool) -> Markup:
    """An element.

    Args:
        tag: its name, from the caller's code and never from data.
        content: parts; texts are escaped.
        attributes: ``class_`` is ``class``, other underscores are hyphens; ``None`` and ``False`` leave the attribute
            out, ``True`` gives it without a value.

    Example:
        >>> element("td", "<b>", class_="best")
        '<td class="best">&lt;b&gt;</td>'
    """
    shown = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        shown.append(f" {key}" if value is True else f' {key}="{escape(_text(value))}"')
    if tag in _VOID and not content:
        return Markup(f"<{tag}{''.join(shown)}{'' if tag in {'br', 'input', 'meta'} else '/'}>")
    return Markup(f"<{tag}{''.join(shown)}>{join(content)}</{tag}>")


def _text(part: Part) -> str:
    if isinstance(part, float):
        return f"{part:.2f}".rstrip("0").rstrip(".")
    return str(part)
