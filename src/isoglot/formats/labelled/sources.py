"""Find the data of a task: files, folders, templates, shares of files, and data sets of the hub."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import codes, name_of, script_codes
from isoglot.formats.labelled.splits import KNOWN_SPLITS, split_names, split_of
from isoglot.formats.line_files import numbered_lines
from isoglot.runs.files import refuse_pipe
from isoglot.runs.record import has_manifest

if TYPE_CHECKING:  # it imports the libraries, which files are found without
    from datasets import Dataset

HUB = "hub"
_SHARE = re.compile(r"#(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)(%?)$")
_DATASET_FILES = ("state.json", "dataset_dict.json")
_EXTENSION = re.compile(
    r"(\.(tsv|csv|json|jsonl|ndjson|txt|conllu?|iob2?|bio|parquet|arrow))?(\.(gz|xz|zst|bz2))?$",
    re.IGNORECASE,
)
_MOST_NAMED = 8
_NO_FILE = "{no file}"
"""The value of a field of a template that no name of a file is to match."""

OF_LANGUAGE = ("{split} *-ud-{split} {split}_2k translated_{split}",)
"""Names of files and data sets, at any depth, in the folder of one language; without extensions such as ``.tsv.gz``.

Each text is a group of templates between spaces. The first group of which a file is there counts.
"""
OF_LANGUAGES = (
    "{language}.{split} *.{language}.{split} {language}-{split} {split}-{language} {language}_*-{split} "
    "{language}/{split} {language}/*-ud-{split} {split}-context-{context}-question-{question} "
    "{language}/{split}_2k {language}/translated_{split} multinli.{split}.{language}",
    "{squad_to_train_on}",
    "{language} xquad.{language}",  # one file for all splits
    "tydiqa.goldp.{language}.{public}",
    "tydiqa-goldp-{public}-{name}",
    "tydiqa-goldp-v*-{public}",  # one file for all languages
    "xnli.{split}",  # the same
    "{squad}",
)
"""Names in a folder of several languages: those of `isoglot world`, XTREME, Universal Dependencies, WikiANN, MLQA,
PAWS-X, XNLI and its machine-translated training data, TyDiQA, SQuAD.

The test data of TyDiQA and SQuAD are not public: their development data are read as test data. SQuAD beside XQuAD is
what XQuAD is trained on, and XQuAD's own files are its test data.
"""
OF_SIDES = (
    "{pair}.{language} *.{pair}.{language}",  # Tatoeba
    "{code}.{split} {language}.{split} {split}.{language} {split}_*.{language}",  # FLORES, Multi30k
    "{language} *.{language}",
)
"""Names of the files of one side of a bitext."""


@dataclass(frozen=True, slots=True)
class Location:
    """One file, folder or data set to read."""

    path: str  # a file or folder; for the hub ``hub`` or ``hub:NAME[:CONFIG]``
    start: float = 0.0  # the share to take, from here, in % of the groups
    stop: float = 100.0  # to here, in %
    rows: Dataset | None = None  # data in memory, which the path only describes

    @property
    def on_hub(self) -> bool:
        """Whether a hub data set is meant."""
        return self.path == HUB or self.path.startswith(f"{HUB}:")

    @property
    def divided(self) -> bool:
        """Whether the data set itself is divided into splits: one of the hub, or a ``DatasetDict`` on disk."""
        return self.on_hub or (Path(self.path) / "dataset_dict.json").is_file()

    @property
    def whole(self) -> bool:
        """Whether all groups are taken, and not a share of them."""
        return (self.start, self.stop) == (0.0, 100.0)


@dataclass(frozen=True)
class DataSource:
    """Finds the data of a language and split.

    Each of ``specs`` is

    - a file;
    - a folder, in which files have names of :data:`OF_LANGUAGES`;
    - a template with ``{language}``, ``{language3}``, ``{code}`` or ``{split}``, wildcards allowed;
    - ``hub``, ``hub:NAME`` or ``hub:NAME:CONFIG``.

    ``train=``, ``dev=`` or ``test=`` in front limits it to one split. ``#0:80%`` behind takes a share of the groups
    (articles or contexts, premises, sentences), in their order, so that equal shares of parallel files are parallel.

    Example:
        >>> DataSource(["test=xquad.{language}.json#80:100%"]).describe()
        'test=xquad.{language}.json#80:100%'
    """

    specs: Sequence[str]

    def __post_init__(self) -> None:
        """Refuse an invalid share, and an unknown split in front."""
        for spec in self.specs:
            _location(spec)
            name, separator, _ = spec.partition("=")
            if separator and name.isidentifier() and split_of(name) is None:
                # Names of folders may have = too, as those of Apache Hive: `lang=de/`.
                if "{" in spec or glob.has_magic(spec) or Path(spec.partition("/")[0]).exists():
                    continue
                raise ConfigurationError(f"{spec}: unknown split {name!r}; {KNOWN_SPLITS}")

    def of_split(self, split: str) -> list[str]:
        """The specifications for one split: those for this split alone, if there are any, else those for all splits."""
        specific, general = [], []
        for spec in self.specs:
            name, separator, rest = spec.partition("=")
            if not separator or split_of(name) is None:
                general.append(spec)
            elif split_of(name) == split:
                specific.append(rest)
        return specific or general

    def describe(self) -> str:
        """The specifications in one line."""
        return " ".join(self.specs)

    def find(self, language: str, split: str) -> list[Location]:
        """Find the files, folders and data sets of one language and split."""
        locations = []
        for location in map(_location, self.of_split(split)):
            paths = [location.path] if location.on_hub else _paths(location.path, language, split)
            locations += [replace(location, path=path) for path in paths]
        if not locations:
            raise ConfigurationError(
                f"no {split} data for {language!r}, got {self.describe() or 'nothing'}; add "
                f"[[data={{'{split}': PATH}}]], or "
                "give a template such as [[data='FOLDER/{language}-{split}.tsv']]"
            )
        return locations

    def single_file(self, language: str, split: str) -> Location:
        """Find the one file of a language and split; refuse several files, or a share of one."""
        locations = self.find(language, split)
        if len(locations) > 1 or not locations[0].whole:
            raise ConfigurationError(
                f"got {self.describe()} for {language!r}, but only one whole file can be read; name one file per "
                "language with {language}, or join the files"
            )
        return locations[0]

    def has_dev(self, language: str) -> bool:
        """Whether there are development data: named as such, or other data than the training data."""
        dev, train = self._any(language, "dev"), self._any(language, "train")
        named = any("=" in spec and split_of(spec.partition("=")[0]) == "dev" for spec in self.specs)
        return bool(dev) and (named or dev != train or all(location.divided for location in dev))

    def has_data(self, language: str, split: str) -> bool:
        """Whether there are data to read for a language and split."""
        return bool(self._any(language, split))

    def _any(self, language: str, split: str) -> list[Location]:
        try:
            return self.find(language, split)
        except ConfigurationError:
            return []


def _location(spec: str) -> Location:
    """Parse a specification without its split: its path, and the share that is taken."""
    match = _SHARE.search(spec)
    if match is None:
        return Location(spec)
    start, stop, has_percent_sign = float(match[1]), float(match[2]), bool(match[3])
    problem = ""
    if not has_percent_sign:
        problem = "has no % sign"
    elif max(start, stop) > 100:
        problem = "does not lie between 0 and 100 %"
    elif start >= stop:
        problem = "is empty"
    if problem:
        raise ConfigurationError(f"{spec}: the share {match[0][1:]} {problem}; write for example #0:80%")
    return Location(spec[: match.start()], start, stop)


def is_data_set(path: str | Path) -> bool:
    """Whether a folder is one data set, of the `datasets` library or of `isoglot prepare`, and no folder of files."""
    saved = any((Path(path) / name).exists() for name in _DATASET_FILES)
    return saved or has_manifest(path)


def _paths(spec: str, language: str, split: str) -> list[str]:
    """Find the files that a path, folder or template names.

    1. A template (``{language}-{split}.tsv``) is filled in. The first combination of names with a match counts.
    2. A path that exists is taken, even if it has a ``*``.
    3. Of a pattern (``*.tsv``), all files that match are taken, whatever language and split their names tell.
    4. In a folder of rules 1 and 2, one file is searched: by the layouts for the folder of one language if the template
       names the language, else by those for a folder of several languages.
    """
    path = Path(spec).expanduser()
    if "{" in spec:  # 1
        matches: list[str] = []
        for pattern in dict.fromkeys(_fill(spec, values) for values in _values(language, split)):
            matches = matches or sorted(glob.glob(pattern))  # noqa: PTH207
    elif path.exists():
        matches = [str(path)]  # 2
    elif glob.has_magic(spec) and (matches := sorted(glob.glob(spec))):  # noqa: PTH207
        return matches  # 3
    else:
        raise ConfigurationError(
            f"{spec}: no such file or folder; check [[data]] (hub data sets are written hub:NAME)"
        )
    paths: list[str] = []
    for path in map(Path, matches):
        refuse_pipe(path)
        if not path.is_dir() or is_data_set(path):
            paths.append(str(path))
            continue
        # 4
        names_language = "{language" in spec or "{code}" in spec  # {language}, {language3} or {code}
        layouts = OF_LANGUAGE if names_language else OF_LANGUAGES
        files = _in_folder(path, layouts, _values(language, split))
        if len(files) > 1:
            raise ConfigurationError(
                f"{path} has {len(files)} {split} files of {language!r} ({_listed(files)}); say which: "
                f"[[data={{'{split}': '{files[0]}'}}]], with {{language}} in place of a code"
            )
        paths += map(str, files)
    return paths


def filled(template: str, language: str, split: str) -> list[str]:
    """Fill in a template, in all ways, the likeliest first; ``{language}`` is the language as the user names it."""
    values = (fields | {"language": language} for fields in _values(language, split))
    return list(dict.fromkeys(_fill(template, fields) for fields in values))


def _values(language: str, split: str, pivot: str = "") -> list[dict[str, str]]:
    """List the values that fields of a template may have, one dictionary for each combination of names.

    Of ``de, dev`` the first is ``{"split": "dev", "language": "de", "language3": "deu", "code": "deu_Latn", ...}``;
    later ones have ``validation`` or ``deu`` in the place of ``dev`` and ``de``.

    ``pivot``: The other language of a bitext; then ``pair`` is there too, ``de-en`` and ``en-de``.
    """
    three = [code for code in codes(language) if len(code) == 3] or [language]
    context, _, question = language.partition("-")
    shared = {"context": context, "question": question or context, "name": name_of(language)}
    shared["public"] = "dev" if split == "test" else split
    # The files of SQuAD are English, but their names (`dev-v1.1.json`) do not say so.
    shared["squad"] = f"{shared['public']}-v[0-9].*" if "en" in codes(language) else _NO_FILE
    # English test data are in XQuAD's file, if there is one, and in SQuAD's only if there is none.
    shared["squad_to_train_on"] = _NO_FILE if split == "test" else shared["squad"]
    names = product(split_names(split), codes(language), three, script_codes(language))
    values = [
        dict(zip(("split", "language", "language3", "code"), combination, strict=True)) | shared
        for combination in names
    ]
    if not pivot:
        return values
    sides = list(product(codes(language), codes(pivot)))
    pairs = [f"{first}-{second}" for first, second in sides]
    pairs += [f"{second}-{first}" for first, second in sides]
    return [fields | {"pair": pair} for fields in values for pair in pairs]


def _fill(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def _in_folder(folder: Path, layouts: Sequence[str], values: Sequence[Mapping[str, str]]) -> list[Path]:
    """Find the files and data sets of a folder, at any depth, whose names match a group of layouts.

    The first group with a match counts.

    ``layouts``: Groups of templates, such as :data:`OF_LANGUAGES`. Case and the extension do not count.
    """
    below = [path for path in sorted(folder.rglob("*")) if path.is_file() or is_data_set(path)]
    names = {path: _EXTENSION.sub("", path.relative_to(folder).as_posix()) for path in below}
    for group in layouts:
        patterns: set[str] = set()
        for layout in group.split():
            patterns.update(translate(_fill(layout, fields)) for fields in values)
        pattern = re.compile(f"(.*/)?({'|'.join(patterns)})", re.IGNORECASE)
        matches = [path for path, name in names.items() if pattern.match(name)]
        # XNLI publishes the same rows twice, as xnli.dev.tsv and xnli.dev.jsonl.
        tables = [path for path in matches if path.name.startswith("xnli.") and ".tsv" in path.suffixes]
        if matches:
            return tables or matches
    return []


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:_MOST_NAMED]) or "none"


def find_sides(specs: Sequence[str], languages: tuple[str, str], split: str) -> tuple[Path, Path]:
    """The files of two languages.

    ``specs``: Both files, folders that have them, or one template with ``{language}``, ``{language3}``, ``{code}``
    (``deu_Latn``) and ``{split}``.
    """
    return _side(specs, *languages, split), _side(specs, *languages[::-1], split)


def read_sides(paths: tuple[Path, Path]) -> tuple[list[str], list[str]]:
    """Read the lines of both files of a bitext, which must have the same number of lines."""
    first = [line for _, line in numbered_lines(paths[0])]
    second = [line for _, line in numbered_lines(paths[1])]
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} lines, {paths[1]} has {len(second)}; line i must translate line i", path=paths[0]
        )
    return first, second


def _side(specs: Sequence[str], language: str, pivot: str, split: str) -> Path:
    """Find the file of one language; ``pivot``: The other language of the bitext."""
    values = _values(language, split, pivot)
    if len(specs) == 1 and "{" in specs[0]:
        names = dict.fromkeys(_fill(specs[0], fields) for fields in values)
        files = [Path(name) for name in names if Path(name).is_file()]
    elif len(specs) == 1 and Path(specs[0]).is_dir():
        files = _in_folder(Path(specs[0]), OF_SIDES, values)
    else:
        # The last code in the name of a file is its language: `tatoeba.deu-eng.deu` is German.
        language_of_code = {code: tag for tag in (language, pivot) for code in codes(tag)}
        files = []
        for spec in specs:
            parts = re.split(r"[^a-z0-9]+", Path(spec).name.lower())
            named = [language_of_code[part] for part in parts if part in language_of_code]
            if named and named[-1] == language:
                files.append(Path(spec))
    if len(files) != 1:
        raise ConfigurationError(
            f"one file of lines in {language!r} beside one in {pivot!r} is needed, {len(files)} found "
            f"({_listed(files)}); give two files whose names end in "
            "the languages' codes: [[data=['FILE.deu', 'FILE.eng']]]"
        )
    return files[0]
