"""A recipe: one run as YAML, read strictly, with every mistake listed before any work starts.

This module checks what the file alone shows. Whether a view takes an option, or ``train`` a setting, only the callables
themselves know: :func:`isoglot.pretraining.check.load_recipe` checks those too and lists all mistakes together.
"""

import re

from isoglot.checks import did_you_mean
from isoglot.errors import Location
from isoglot.recipe.document import Document
from isoglot.recipe.sections import Recipe, validate

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def problems(document: Document) -> Recipe | None:
    """The recipe, ``None`` where its shape is wrong; mistakes in sections and names are added to the document."""
    recipe: Recipe | None = validate(document, (), Recipe, document.values)
    if recipe is not None:
        recipe.remember_raw(document.raw)
    if (document.values.get("epochs") is None) == (document.values.get("steps") is None):
        document.problem((), "it needs exactly one of `epochs: {stream: NAME, count: 2}` and `steps: 1000`")
    _cross_check(document)
    return recipe


def _cross_check(document: Document) -> None:
    """Names: streams that views and epochs read, views that objectives read, streams that nothing reads."""
    sections = {key: document.values.get(key) for key in ("streams", "views", "objectives")}
    known = {key: list(value) if isinstance(value, dict) else [] for key, value in sections.items()}
    for key, names in known.items():
        for name in names:
            if not _NAME.fullmatch(name):
                document.problem((key, name), "names are letters, digits, _ and -, and begin with a letter")
            elif (key, name) == ("streams", "position"):  # a key of every example
                document.problem((key, name), f"{name!r} is the name of something else; choose another")

    def refer(location: Location, value: object, kind: str) -> None:
        if isinstance(value, str) and known[kind] and value not in known[kind]:
            document.problem(
                location,
                f"no {kind.removesuffix('s')} is named {value!r}; {did_you_mean(value, known[kind])}",
            )

    for name, values in document.entries("views").items():
        refer(("views", name, "stream"), values.get("stream"), "streams")
    for name, values in document.entries("objectives").items():
        for key, value in values.items():
            if key == "view" or key.endswith("_view"):
                refer(("objectives", name, key), value, "views")
    epochs = document.values.get("epochs")
    if isinstance(epochs, dict):
        refer(("epochs", "stream"), epochs.get("stream"), "streams")
    used = {str(v) for v in _strings([sections["views"], sections["objectives"]])}
    for name in known["streams"]:
        if name not in used:
            document.problem(
                ("streams", name), "no view or objective reads this stream; name it in one or delete it"
            )


def _strings(tree: object) -> list[str]:
    if isinstance(tree, dict):
        return [s for value in tree.values() for s in _strings(value)]
    if isinstance(tree, list):
        return [s for value in tree for s in _strings(value)]
    return [tree] if isinstance(tree, str) else []
