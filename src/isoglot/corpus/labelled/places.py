"""Where the data of a task are: files, folders, templates, parts of files, and data sets of the hub."""

import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from isoglot.corpus.read.line_files import numbered_lines
from isoglot.errors import ConfigurationError, InputError
from isoglot.languages import codes, script_codes

SPLITS: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test", "devtest", "tst"),
}
"""Names that files give to each split."""

HUB = "hub"
_PART = re.compile(r"#(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)(%?)$")
_DATASET_FILES = ("state.json", "dataset_dict.json", "manifest.json")
_IGNORED = (".md", ".txt.py", ".py", ".sh", ".pdf", ".html")
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Place:
    """One thing to read."""

    path: str  # a file or folder; for the hub ``hub`` or ``hub:NAME[:CONFIG]``
    start: float = 0.0  # first part to take, in per cent of the groups
    stop: float = 100.0  # where to end, in per cent

    @property
    def on_hub(self) -> bool:
        """Whether a hub data set is meant."""
        return self.path == HUB or self.path.startswith(f"{HUB}:")

    @property
    def divided(self) -> bool:
        """Whether it has splits of its own: a data set of the hub, or a ``DatasetDict`` on disk."""
        return self.on_hub or (Path(self.path) / "dataset_dict.json").is_file()

    @property
    def whole(self) -> bool:
        """Whether all of it is taken."""
        return (self.start, self.stop) == (0.0, 100.0)


@dataclass(frozen=True)
class DataSource:
    """Finds the data of a language and split.

    Each of ``specs`` is a file; a folder, of which the file is taken whose name has the language's code and the split's
    name; a template with ``{language}``, ``{language3}``, ``{code}`` or ``{split}``, wildcards allowed; or ``hub``,
    ``hub:NAME`` or ``hub:NAME:CONFIG``. ``train=``, ``dev=`` or ``test=`` in front limits it to one split. ``#0:80%``
    behind takes a part: of whole groups (articles or contexts, premises, sentences) in their order, so that equal
    parts of parallel files are parallel.

    Example:
        >>> DataSource(["test=xquad.{language}.json#80:100%"]).describe()
        'test=xquad.{language}.json#80:100%'
    """

    specs: Sequence[str]

    def __post_init__(self) -> None:
        """Refuse what is no part."""
        for spec in self.specs:
            _part(spec)

    def of_split(self, split: str) -> list[str]:
        """The specifications for one split: those for it alone, if there are any, else the ones for all."""
        own, general = [], []
        for spec in self.specs:
            name, separator, rest = spec.partition("=")
            if separator and name in SPLITS:
                if name == split:
                    own.append(rest)
            else:
                general.append(spec)
        return own or general

    def describe(self) -> str:
        """The specifications in one line."""
        return " ".join(self.specs)

    def find(self, language: str, split: str) -> list[Place]:
        """The places of one language and split."""
        found = []
        for part in map(_part, self.of_split(split)):
            paths = [part.path] if part.on_hub else _paths(part.path, language, split)
            found += [replace(part, path=path) for path in paths]
        if not found:
            raise ConfigurationError(
                f"no {split} data for {language!r}: {self.describe() or 'nothing'} given; add --data {split}=PATH"
            )
        return found

    def one(self, language: str, split: str) -> Place:
        """The place of a language and split whose data are one whole file."""
        found = self.find(language, split)
        if len(found) > 1 or not found[0].whole:
            raise ConfigurationError(
                f"{self.describe()} given for {language!r}, but one whole file is read; name each language's own with "
                "{language}, or join the files"
            )
        return found[0]

    def has_dev(self, language: str) -> bool:
        """Whether there are development data: named as such, or others than the training data."""
        dev, train = self._held(language, "dev"), self._held(language, "train")
        named = any(spec.startswith("dev=") for spec in self.specs)
        return bool(dev) and (named or dev != train or all(place.divided for place in dev))

    def _held(self, language: str, split: str) -> list[Place]:
        try:
            return self.find(language, split)
        except ConfigurationError:
            return []


def _part(spec: str) -> Place:
    """A specification, and the part of it that is taken."""
    part = _PART.search(spec)
    if part is None:
        return Place(spec)
    start, stop = float(part[1]), float(part[2])
    if not part[3] or not 0 <= start < stop <= 100:
        wrong = f"the part {start:g}:{stop:g}% is empty" if part[3] else "a part is in per cent"
        raise ConfigurationError(f"{spec}: {wrong}; write for example #0:80%")
    return Place(spec[: part.start()], start, stop)


def is_data_set(path: str | Path) -> bool:
    """Whether a folder is a data set rather than a place of files."""
    return any((Path(path) / mark).exists() for mark in _DATASET_FILES)


def split_names(split: str) -> tuple[str, ...]:
    """The names that a split goes by."""
    if split not in SPLITS:
        raise ConfigurationError(f"split {split!r} given; it is one of {', '.join(SPLITS)}")
    return SPLITS[split]


def _paths(spec: str, language: str, split: str) -> list[str]:
    if "{" in spec:
        found: list[str] = []
        for filled in dict.fromkeys(_filled(spec, language, split)):
            found = found or sorted(glob.glob(filled))  # noqa: PTH207
        return [path for name in found for path in _opened(Path(name), language, split, spec)]
    path = Path(spec).expanduser()
    if path.exists():
        return _opened(path, language, split, spec)
    if glob.has_magic(spec) and (matches := sorted(glob.glob(spec))):  # noqa: PTH207
        return matches
    raise ConfigurationError(
        f"{spec}: there is no such file or folder; check --data (hub data sets are written hub:NAME)"
    )


def _filled(spec: str, language: str, split: str) -> Iterator[str]:
    """A template with all names that the language and the split go by."""
    three = [code for code in codes(language) if len(code) == 3] or [language]
    for name, code, long, full in product(split_names(split), codes(language), three, script_codes(language)):
        filled = spec.replace("{language}", code).replace("{language3}", long)
        yield filled.replace("{code}", full).replace("{split}", name)


def _opened(path: Path, language: str, split: str, spec: str) -> list[str]:
    """A file or data set itself; of another folder the language's file, or any where the folder is the language's."""
    if not path.is_dir() or is_data_set(path):
        return [str(path)]
    return _in_folder(path, None if "{language" in spec else language, split)


def _in_folder(folder: Path, language: str | None, split: str) -> list[str]:
    """The file of a folder that carries the language's code (``None``: any) and the split's name."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.startswith(".")]
    files = [p for p in files if p.suffix not in _IGNORED]
    data_sets = [p.parent for p in files if p.name in ("state.json", "manifest.json")]
    files = [p for p in files if not any(d in p.parents for d in data_sets)] + data_sets
    names = {p: p.relative_to(folder).as_posix().lower() for p in files}
    matching = [p for p in files if language is None or _carries_language(names[p], language)]
    own = [p for p in matching if _carries(names[p], split_names(split))]
    if not own:
        every = tuple(n for several in SPLITS.values() for n in several)
        own = [p for p in matching if not _carries(names[p], every)]
    if len(own) > 1:
        listed = ", ".join(names[p] for p in own[:_MOST_NAMED])
        raise ConfigurationError(
            f"{folder} has {len(own)} {split} files{f' of {language!r}' if language else ''} ({listed}); say which: "
            f"--data '{split}={own[0]}', with {{language}} in place of a code"
        )
    return [str(p) for p in own]


def _carries_language(name: str, language: str) -> bool:
    """Whether a file's name has the code; ``context-de-question-es`` carries ``de-es`` alone."""
    crossed = re.search(r"context-([a-z]+)-question-([a-z]+)", name)
    if crossed:
        pair = crossed[1] if crossed[1] == crossed[2] else f"{crossed[1]}-{crossed[2]}"
        return pair == language.lower()
    return _carries(name, codes(language))


def _carries(name: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", name) for word in words)


def find_sides(specs: Sequence[str], languages: tuple[str, str], split: str) -> tuple[Path, Path]:
    """The files of two languages.

    ``specs``: Both files, folders that have them, or one template with ``{language}``, ``{language3}``, ``{code}``
    (``deu_Latn``) and ``{split}``.
    """
    own, other = languages
    return _side(specs, own, other, split), _side(specs, other, own, split)


def read_sides(paths: tuple[Path, Path]) -> tuple[list[str], list[str]]:
    """The lines of both."""
    first, second = ([line for _, line in numbered_lines(path)] for path in paths)
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} lines, {paths[1]} has {len(second)}; line i must translate line i", path=paths[0]
        )
    return first, second


def _side(specs: Sequence[str], language: str, other: str, split: str) -> Path:
    """The file of lines of one language."""
    if len(specs) == 1 and "{" in specs[0]:
        names = dict.fromkeys(_filled(specs[0], language, split))
        candidates = [Path(name) for name in names if Path(name).is_file()]
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
