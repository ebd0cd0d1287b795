"""Two files of lines, line i of one the translation of line i of the other: which files they are, and their text."""

import re
from collections.abc import Sequence
from pathlib import Path

from isoglot.corpus.labelled.places import split_names
from isoglot.corpus.read.line_files import numbered_lines
from isoglot.errors import ConfigurationError, InputError
from isoglot.languages import codes, script_codes

_MOST_NAMED = 6


def find_sides(specs: Sequence[str], languages: tuple[str, str], split: str) -> tuple[Path, Path]:
    """The files of two languages.

    ``specs``: Both files, folders that have them, or one template with ``{language}``, ``{language3}``, ``{code}``
    (``deu_Latn``) and ``{split}``.
    """
    own, other = languages
    return _named(specs, own, other, split), _named(specs, other, own, split)


def read_sides(paths: tuple[Path, Path]) -> tuple[list[str], list[str]]:
    """The lines of both."""
    first, second = ([line for _, line in numbered_lines(path)] for path in paths)
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} lines, {paths[1]} has {len(second)}; line i must translate line i", path=paths[0]
        )
    return first, second


def _named(specs: Sequence[str], language: str, other: str, split: str) -> Path:
    """The file of lines of one language."""
    if len(specs) == 1 and "{" in specs[0]:
        names = [(c, c) for c in codes(language)] + [(language, c) for c in script_codes(language)]
        filled = [
            specs[0]
            .replace("{language}", c)
            .replace("{language3}", c)
            .replace("{code}", full)
            .replace("{split}", s)
            for c, full in names
            for s in split_names(split)
        ]
        candidates = [Path(name) for name in dict.fromkeys(filled) if Path(name).is_file()]
    else:
        roots = [Path(s) for s in specs]
        files = [f for r in roots for f in (sorted(r.rglob("*")) if r.is_dir() else [r]) if f.is_file()]
        candidates = _matching(files, language, other, split, explicit=len(specs) > 1)
    if len(candidates) != 1:
        found = ", ".join(p.name for p in candidates[:_MOST_NAMED]) or "none"
        raise ConfigurationError(
            f"one file of lines in {language!r} beside one in {other!r} is needed, {len(candidates)} found ({found}); "
            "give two files whose names end in the languages' codes: --data FILE.deu --data FILE.eng"
        )
    return candidates[0]


def _matching(files: list[Path], language: str, other: str, split: str, *, explicit: bool) -> list[Path]:
    """Files in a language: those for this very pair (``deu-eng.deu``) before those named by the language alone."""
    tokens = {f: [t for t in re.split(r"[^A-Za-z0-9]+", f.name.lower()) if t] for f in files}
    own, others = set(codes(language)), set(codes(other))

    def last(file: Path, among: set[str]) -> bool:
        known = [t for t in tokens[file] if t in own | others]
        return bool(known) and known[-1] in among

    pair = [f for f in files if last(f, own) and own & set(tokens[f][:-1]) and others & set(tokens[f])]
    alone = [f for f in files if last(f, own) and not others & set(tokens[f])]
    found = pair or alone
    if explicit or len(found) < 2:
        return found
    return [f for f in found if set(split_names(split)) & set(tokens[f])] or found
