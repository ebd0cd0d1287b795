"""An input to read: its path, format, columns and languages."""

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import field_validator

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import MISSING_FILE, ConfigurationError, Problem
from isoglot.core.options import Options, option, text_of_path
from isoglot.formats.foreign import foreign
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES

Kind = Literal["text", "bitext", "lexicon", "aligned", "treebank"]
"""What a prepared corpus can hold: the name of a schema in :mod:`isoglot.formats.schema`."""

LANGUAGES: dict[Kind, tuple[str, ...]] = {
    kind: ("language",) if kind in ("text", "treebank") else ("source_language", "target_language")
    for kind in get_args(Kind)
}
"""The columns and options that name the languages of each kind."""


class Format(NamedTuple):
    """The properties of a format that are known before anything is read."""

    kinds: tuple[Kind, ...]  # kinds of corpora that it can hold
    suffixes: tuple[str, ...] = ()  # endings of the names of its files
    options: tuple[str, ...] = ()  # the options of `Reading` that only some formats use, and this one does
    streamed: bool = True  # whether it can be read from standard input


_PAIRS: tuple[Kind, ...] = ("bitext", "lexicon", "aligned")
_ALL: tuple[Kind, ...] = ("text", *_PAIRS)
FORMATS = {
    "moses": Format(_PAIRS),
    "bars": Format(_PAIRS, (".src-tgt",)),
    "tsv": Format(_ALL, (".tsv", ".tab"), ("columns", "header")),
    "csv": Format(_ALL, (".csv",), ("columns", "header", "delimiter")),
    "jsonl": Format(_ALL, JSON_LINES, ("columns",)),
    "parquet": Format(_ALL, (".parquet",), ("columns",), streamed=False),
    "huggingface": Format(_ALL, (), ("columns", "subset", "split", "revision"), streamed=False),
    "tmx": Format(("bitext", "lexicon"), (".tmx",)),
    "text": Format(("text",), options=("documents",)),
    "lexicon": Format(("lexicon",)),
    "conllu": Format(("treebank",), (".conllu",)),
}
"""Formats that can be read; ``bars`` is ``source ||| target`` with optional ``||| 0-0 1-2`` links."""

_USUAL_FORMAT: dict[Kind, str] = {"text": "text", "lexicon": "lexicon", "treebank": "conllu"}
ROLES: dict[Kind, tuple[str, ...]] = {
    "text": ("text",),
    "bitext": ("source", "target"),
    "lexicon": ("source", "target"),
    "aligned": ("source", "target", "links"),
    "treebank": ("words", "upos", "heads", "deprels"),
}
"""The roles of each kind: a format must deliver a field for each of them."""
UNNAMED = ("src", "tgt", "und")
"""Tags for languages that nobody has named; ``und`` is ISO 639's code for an undetermined language."""
LANGUAGE_TAG = re.compile(r"[a-z]{2,3}([-_]\S+)?")
"""A code of a language, with anything behind a hyphen: en-x-trans+inv."""


READING = "How to read"
"""Heading of the options that say how inputs are read."""


class TableReading(Options):
    """Options that say how the columns of an input are read."""

    columns: dict[str, int | str] = option(
        {},
        "Which column holds what: source=0, target=1, links=2, text=body, source=translation.de.",
        flags=["--column", "--columns"],
        metavar="FIELD=COLUMN",
        group=READING,
    )
    header: bool = option(False, "TSV and CSV: the first line names the columns.", group=READING)
    delimiter: str | None = option(
        None, "CSV: the character between columns; by default what its first lines show.", group=READING
    )

    @field_validator("delimiter", mode="before")
    @classmethod
    def _one_character(cls, value: object) -> object:
        """Take the word ``tab`` for a tab."""
        value = "\t" if value in ("tab", "\\t") else value
        if isinstance(value, str) and (len(value) != 1 or value in '"\r\n'):
            raise ValueError(f"got {value!r}, but one character is needed, such as ';' or tab")
        return value


class PairReading(TableReading):
    """Options that say how sentence pairs are read, for verbs whose own ``format`` is that of the output."""

    input_format: str | None = option(
        None,
        "Kind of file: moses, bars (|||), tsv, jsonl, …; by default from the file's name.",
        group=READING,
    )

    @property
    def reading(self) -> dict[str, Any]:
        """The options that are set, by the names that they have in :class:`Source`."""
        options = self.model_dump(include=set(Reading.model_fields), exclude_defaults=True)
        return options if self.input_format is None else {**options, "format": self.input_format}


class LinkReading(TableReading):
    """Options that say how the columns and word links of an input are read."""

    one_based: bool = option(False, "Word links count from 1, as in most gold files.", group=READING)


class Reading(LinkReading):
    """Options that say how an input is read."""

    format: str | None = option(
        None,
        f"Kind of file: {', '.join(FORMATS)}; by default from the file's name.",
        flags=["--format", "--input-format"],
        group=READING,
    )
    documents: bool = option(
        False, "Text: blank lines separate documents; a document is one row.", group=READING
    )
    subset: str | None = option(None, "Configuration name of a Hugging Face dataset.", group=READING)
    split: str = option("train", "Part of a Hugging Face dataset: train, validation, test.", group=READING)
    revision: str | None = option(None, "Branch, tag or commit of a Hugging Face dataset.", group=READING)


class Source(Reading):
    """One input of :func:`isoglot.corpus.prepare`.

    Columns are numbers from 0 for TSV and CSV, names for JSONL, Parquet, datasets and TSV or CSV with a header
    (``translation.de`` reaches into a record). The keys of ``columns`` are roles: text; source, target; links; flags.

    Example:
        >>> Source(path="europarl.en.gz", target_path="europarl.de.gz", source_language="en", target_language="de")
        ... # doctest: +SKIP
    """

    path: str = option(
        ...,
        "File (a glob pattern stands for all matching files), `-` for standard input, a dataset folder, or a Hugging "
        "Face dataset name. `.gz .xz .zst .bz2` are unpacked while reading.",
    )
    target_path: str | None = option(
        None, "Target side of a Moses pair of files: line i is the translation of line i of `path`."
    )
    links_path: str | None = option(
        None, "Pharaoh links (`0-0 1-2`), line i for pair i; makes an aligned corpus."
    )
    language: str | None = option(None, "Language of a text or treebank, for example `en`.")
    source_language: str | None = option(None, "Language of the source side, for example `en`.")
    target_language: str | None = option(None, "Language of the target side, for example `de`.")

    _paths = field_validator("path", "target_path", "links_path", mode="before")(text_of_path)

    def languages(self, kind: Kind) -> tuple[str, ...]:
        """The languages of a row: one for text and treebanks, source and target for pairs."""
        return tuple(getattr(self, name) or "" for name in LANGUAGES[kind])

    def files(self) -> list[str]:
        """Every path that this source reads, first `path`."""
        return [p for p in (self.path, self.target_path, self.links_path) if p is not None]


def sources_from(
    paths: Sequence[str | Path], *, kind: Kind = "bitext", languages: Sequence[str] = (), **options: object
) -> list[Source]:
    """Make sources of bare paths, as the command line gives them.

    1. Two files of pairs whose names tell no format (``train.en train.de``) are a Moses pair; a third file is its word
       links.
    2. Any other path is a source of its own.
    """
    names = [str(path) for path in paths]
    settings = {**dict(zip_longest(LANGUAGES[kind], languages[: len(LANGUAGES[kind])])), **options}
    given_format = options.get("format")
    all_plain = not given_format and all(by_suffix(name) is None for name in names)
    may_be_moses = kind in _PAIRS and (all_plain or given_format == "moses")
    if may_be_moses and len(names) in (2, 3):
        others = dict(zip(("target_path", "links_path"), names[1:], strict=False))
        return [Source.model_validate({"path": names[0], **others, **settings})]
    return [Source.model_validate({"path": name, **settings}) for name in names]


def resolve_format(source: Source, kind: Kind) -> str:
    """Decide the format of a source; the first rule that applies counts.

    1. The source names its format.
    2. A source with a file of targets is a Moses pair, whatever its files are called.
    3. The ending of the file's name tells the format: ``.tmx``.
    4. A folder is a data set that was saved; a name that is no file and has no ending is a data set of the Hugging Face
       hub (``Helsinki-NLP/opus-100``).
    5. Pairs with a file of word links beside them are ``source ||| target``.
    6. The kind of corpus has a usual format: lines of text, a lexicon, CoNLL-U; pairs have none.

    Raises:
        ConfigurationError: No rule applies, or the format cannot hold the kind of corpus.
    """
    path = Path(source.path)
    name: str | None
    if source.format:
        name = source.format  # 1
    elif source.target_path is not None:
        name = "moses"  # 2
    elif (by_name := by_suffix(source.path)) is not None:
        name = by_name  # 3
    elif path.is_dir() or (
        source.path != "-" and not path.exists() and not path.suffix and kind != "treebank"
    ):
        name = "huggingface"  # 4
    elif kind == "aligned" and source.links_path is not None:
        name = "bars"  # 5
    else:
        name = _USUAL_FORMAT.get(kind)  # 6
    if name is None and (message := foreign(source.path)):
        raise ConfigurationError(message)
    if name is None:
        raise ConfigurationError(
            f"{source.path}: the format is not clear from its name; set format ([[input_format]]) to one of "
            f"{', '.join(n for n, info in FORMATS.items() if kind in info.kinds)}, or target_path for a Moses pair"
        )
    if name not in FORMATS:
        raise ConfigurationError(f"{source.path}: unknown format {name!r}; {did_you_mean(name, FORMATS)}")
    if kind not in (kinds := FORMATS[name].kinds):
        raise ConfigurationError(
            f"{source.path}: format {name!r} holds {' or '.join(kinds)}, not a {kind} corpus; set another"
        )
    return name


def expand(sources: Iterable[Source], kind: Kind) -> list[Source]:
    """Complete sources, and find all mistakes at once.

    A pattern (``*.tsv``) becomes a source for each file that matches; the format is filled in; the languages of a TMX
    file that nobody names are read from the file.
    """
    problems: list[str | Problem] = []
    expanded: list[Source] = []
    with_read_languages: list[Source] = []  # TMX files whose languages nobody names
    for pattern in sources:
        for path in _matching_files(pattern):
            source = pattern.model_copy(update={"path": path})
            try:
                known = source.model_copy(update={"format": resolve_format(source, kind)})
                complete = _with_languages(known)
            except ConfigurationError as error:
                problems.extend(error.problems)
                continue
            problems.extend(_problems(complete, kind, named=source.format is not None))
            expanded.append(complete)
            if complete is not known:
                with_read_languages.append(complete)
    problems.extend(_idle(expanded, kind))
    problems.extend(_opposite_directions(with_read_languages))
    if not expanded and not problems:
        problems.append("no input; name at least one file")
    if sum(source.files().count("-") for source in expanded) > 1:
        problems.append("standard input `-` appears more than once, but can be read only once; name a file")
    if problems:
        raise ConfigurationError(problems)
    return expanded


def _matching_files(source: Source) -> list[str]:
    """The files that a path with ``*`` or ``?`` stands for, sorted; the path itself if no file matches.

    1. If a file has exactly this name, that file is meant.
    2. The path of a Moses pair is no pattern: the patterns of both sides could match different numbers of files.
    """
    if source.target_path or Path(source.path).exists() or not glob.has_magic(source.path):
        return [source.path]
    return sorted(glob.glob(source.path, recursive=True)) or [source.path]  # noqa: PTH207 - may be absolute


def _opposite_directions(sources: Sequence[Source]) -> Iterator[str]:
    """Report files with the languages of the first file in reverse order; all languages were read from the files."""
    for source in sources[1:]:
        source_tag, target_tag = source.languages("bitext")
        if (target_tag, source_tag) == sources[0].languages("bitext"):
            yield (
                f"{source.path}: goes from {source_tag} to {target_tag}, and {sources[0].path} the other way; add "
                f"[[languages=('{target_tag}', '{source_tag}')]]"
            )


def _with_languages(source: Source) -> Source:
    """Add the languages that a TMX file holds, if the source lacks one; other sources are returned unchanged."""
    names = ("source_language", "target_language")
    tags = [getattr(source, name) for name in names]
    tags = ["" if tag is None or tag in UNNAMED else tag for tag in tags]
    if source.format != "tmx" or all(tags):
        return source
    if source.path == "-":
        raise ConfigurationError(
            "-: of a TMX file on standard input the languages must be named: [[languages=('en', 'de')]]"
        )
    if not Path(source.path).is_file():
        return source
    from isoglot.formats.tmx import tmx_languages  # noqa: PLC0415 - few inputs are XML

    return source.model_copy(update=dict(zip(names, tmx_languages(source.path, tags), strict=True)))


def by_suffix(path: str) -> str | None:
    """The format that the ending of a file's name tells; None for any other ending, such as that of ``train.en``."""
    suffix = bare_suffix(path)
    return next((name for name, info in FORMATS.items() if suffix in info.suffixes), None)


def _problems(source: Source, kind: Kind, *, named: bool) -> list[str | Problem]:
    """Find mistakes in one source that can be seen before it is read; ``named``: The user named its format."""
    problems: list[str | Problem] = []
    # Not where the user names the format: a TSV file may be called `memory.po`.
    if not named:
        not_readable = [message for path in source.files() if (message := foreign(path))]
        if not_readable:
            return [*not_readable]
    for path in source.files():
        # Neither is a file. An empty name would be the current folder, and is refused below.
        if path and (source.format == "huggingface" or path == "-"):
            continue
        if not Path(path).exists():
            text = f"{path}: no such file; a path of a readable file is needed: check the name"
            problems.append(Problem(text, kind=MISSING_FILE))
        elif not Path(path).is_file():
            problems.append(
                f"{path or '.'}: is not a regular file; name one, pass the content of a pipe on standard input (-), or "
                "set format: huggingface for a saved data set"
            )
    if "-" in source.files() and not FORMATS[source.format or ""].streamed:
        problems.append(f"-: {source.format} cannot be read from standard input; name a file")
    for option_name in LANGUAGES[kind]:
        tag = getattr(source, option_name)
        if not tag or not LANGUAGE_TAG.fullmatch(tag):
            what = f"is {tag!r}" if tag else "is missing"
            problems.append(
                f"{source.path}: {option_name} {what}; a code such as en, deu, pt-BR or en-x-trans is needed: "
                f"set [[{option_name}='en']]"
            )
    roles = () if kind == "treebank" else (*ROLES[kind], "flags")
    problems += [
        f"{source.path}: columns: unknown column {role!r}; {did_you_mean(role, roles)}"
        for role in source.columns
        if role not in roles
    ]
    if source.format == "moses" and source.target_path is None:
        problems.append(f"{source.path}: a Moses corpus is two files, found one; set target_path: ...")
    if kind == "aligned" and source.format == "moses" and source.links_path is None:
        problems.append(
            f"{source.path}: an aligned corpus needs word links; set links_path: a file of `0-0 1-2` lines"
        )
    if kind != "aligned" and source.links_path is not None:
        problems.append(
            f"{source.links_path}: word links do not belong to a {kind} corpus; set kind: aligned"
        )
    return problems


def _idle(sources: Sequence[Source], kind: Kind) -> Iterator[str]:
    """Report options that are set and that no input has a use for.

    Options are given once for all inputs, so one input that has a use for an option is enough.
    """
    for name, info in Reading.model_fields.items():
        formats = [known for known, format_info in FORMATS.items() if name in format_info.options]
        set_on = [source for source in sources if getattr(source, name) != info.default]
        if formats and set_on and not any(source.format in formats for source in set_on):
            first = set_on[0]
            yield f"{first.path}: {name} is for {', '.join(formats)}, not for {first.format}; leave it out"
    if kind != "aligned" and any(s.one_based for s in sources):
        yield f"{sources[0].path}: one_based is for word links, and a {kind} corpus has none: leave it out"
