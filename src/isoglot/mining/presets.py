"""Named sets of rules and thresholds of `isoglot filter`, for the packaged aligner and encoder.

docs/results/filter.md says on which languages the values were chosen, and what they keep and drop on others.
"""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]

PRESETS: dict[str, Values] = {
    # Crawled text, much of which is no translation: everything is judged.
    "web": {
        "model": "box",
        "min_script_share": 0.5,
        "min_language": 0.8,
        "language_letters": 12,
        "max_copied": 0.5,
        "numbers": "changed",
        "placeholders": True,
        "mojibake": True,
        "min_letters": 1,
        "min_alignment": 0.65,
        "min_margin": 0.98,
    },
    # Translation memories: most units are translations. Each text is kept once, and what must not differ is compared.
    "tm": {
        "duplicates": "pair",
        "min_script_share": 0.5,
        "max_copied": 0.6,
        "numbers": "changed",
        "placeholders": True,
        "mojibake": True,
        "min_letters": 1,
        "min_alignment": 0.5,
    },
    # Strings of programs: short, with names that stay, and with placeholders that must be the same on both sides.
    "ui": {
        "min_script_share": 0.3,
        "max_copied": 0.9,
        "numbers": "changed",
        "placeholders": True,
        "mojibake": True,
        "min_alignment": 0.3,
    },
}
"""Values of options by the name of a preset. A value that the user gives replaces that of the preset."""

_THRESHOLDS_OF = {"model": ("min_cosine", "min_margin"), "aligner": ("min_alignment", "min_coverage")}
"""Thresholds that make no sense without the encoder of sentences or the aligner of words."""


def with_preset(given: Values) -> dict[str, Any]:
    """Add the values of the preset that options name; options that are given win.

    ``model="none"`` and ``aligner="none"`` leave vectors or links out, and with them the preset's thresholds for their
    scores.

    Example:
        >>> with_preset({"preset": "ui", "min_alignment": 0.5})["min_alignment"]
        0.5
        >>> "min_alignment" in with_preset({"preset": "ui", "aligner": None})
        False
    """
    values = dict(given)
    preset = dict(PRESETS.get(str(values.get("preset")), {}))
    # None is the default of `model`. For `aligner`, whose default is another, it is a choice of the user's.
    left_out = [scorer for scorer in _THRESHOLDS_OF if values.get(scorer) == "none"]
    if "aligner" in values and values["aligner"] is None:
        left_out.append("aligner")
    for scorer in left_out:
        for name in _THRESHOLDS_OF[scorer]:
            preset.pop(name, None)
    if "min_language" in values and not values["min_language"]:
        preset.pop("language_letters", None)  # no language is judged
    if values.get("model") is None:
        values.pop("model", None)  # Python's default: the preset decides
    return {**preset, **values}
