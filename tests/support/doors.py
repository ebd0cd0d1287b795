"""Each option of a verb, given once on the command line and once from Python, on the same small data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from cli_outcome import Isoglot
from commands import COMMANDS

import isoglot as iso
from isoglot.cli.spelling import FlagSpelling
from isoglot.core.errors import IsoglotError

ONE_DOOR = {
    "quiet": "Python has progress=False",
    "verify": "rereads inputs that a remembered hash stands for; Python calls isoglot.runs.fingerprint.forget",
    "out": "the base call gives it at both doors",
    "settings": "each key of --set is an argument of its own in Python",
    "source_language": "Python has languages=(source, target)",
    "target_language": "Python has languages=(source, target)",
    "language": "Python has languages=",
    "overwrite": "tells what becomes of an earlier output, not what is written",
    "processes": "changes how fast it is, not what is written",
    "workers": "changes how fast it is, not what is written",
    "resume": "tells what becomes of a stopped run, not what is written",
    "tasks": "prints a list and ends",
    "methods": "prints a list and ends",
    "listed": "prints a list and ends",
}
"""Options that one door has by nature, and why."""


class Given(NamedTuple):
    """One option, as it is given at both doors."""

    option: str
    flags: list[str]
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Verb:
    """A small call of a verb from both doors.

    ``command``: Its words; OUT is where it writes.
    ``call``: The Python function, given where to write and the option.
    ``output``: What either wrote, as it can be compared.
    ``names``: Arguments whose name differs from the field's.
    ``file``: Name of the output.
    ``values``: Values in place of the generated ones; none for an option that is not tried here.
    ``one_door``: Options of this verb that one door has by nature, and why.
    ``prints``: The command prints what is compared, and writes nothing.
    """

    command: str
    call: Callable[..., Any]
    output: Callable[[Path], Any]
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, list[Any]] = field(default_factory=dict)
    file: str = "out"
    one_door: Mapping[str, str] = field(default_factory=dict)
    prints: bool = False

    @property
    def name(self) -> str:
        """The words of the command before its inputs."""
        return self.command.partition(" INPUT")[0]

    def given(self) -> Iterator[Given]:
        """The call as it is, then each option with one or two values, at both doors."""
        yield Given("", [], {})
        for parameter in COMMANDS[tuple(self.name.split())].params:
            name = parameter.name
            one_door = {*self.one_door, *(ONE_DOOR.keys() - self.values.keys())}
            if parameter.param_type_name != "option" or name in one_door:
                continue
            argument = self.names.get(name, name)
            for value in self.values.get(name, values_of(parameter)):
                yield Given(name, flags_of(parameter, value), {argument: value})


def values_of(parameter: Any) -> list[Any]:
    """Values that the type of an option suggests: each of a choice, and one that is none."""
    if parameter.is_flag:
        return [not parameter.default]
    metavar = parameter.metavar or ""
    listed = re.search(r"\[([a-z0-9_+, |-]+)\]$", metavar) or re.search(
        r"\[([a-z0-9_+, -]+)\]$", parameter.help or ""
    )
    if listed:
        choices = re.split(r"[|,] ?", listed[1])
        return [choices[0], choices[-1], "nonesuch"]
    kind = str(parameter.type_descriptor)
    return [2, -3] if "int" in kind.lower() else [0.5, -3.0] if "float" in kind.lower() else ["nonesuch"]


def flags_of(parameter: Any, value: Any) -> list[str]:
    """An option with a value as it is typed."""
    if parameter.is_flag:
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    if isinstance(value, Mapping):
        words = []
        for name, item in value.items():
            typed = ",".join(map(str, item)) if isinstance(item, list) else item
            words += [parameter.opts[0], f"{name}={typed}"]
        return words
    several = value if isinstance(value, list | tuple) else [value]
    if parameter.metavar == "VALUE,...":
        several = [",".join(map(str, several))]
    return [word for item in several for word in (parameter.opts[0], str(item))]


def at_both(verb: Verb, given: Given, isoglot: Isoglot, place: Path) -> tuple[Any, Any]:
    """What the command and the function make of an option: the output, or the refusal with the command's flags."""
    typed, called = place / "typed" / verb.file, place / "called" / verb.file
    typed.parent.mkdir(parents=True)
    called.parent.mkdir(parents=True)
    words = verb.command.replace(" INPUT", "").replace("OUT", str(typed)).split()
    done = isoglot(*words, *given.flags)
    assert done.returncode in (0, 2), done.stderr
    if verb.prints:
        typed.write_text(done.stdout, encoding="utf-8")
    refused = plain(done.stderr.rpartition("isoglot: ")[2].strip(), typed)
    by_command = ("refused", refused) if done.returncode else ("made", verb.output(typed))
    try:
        verb.call(called, **given.arguments)
    except IsoglotError as error:
        error.spelling = FlagSpelling(COMMANDS[tuple(verb.name.split())])
        return by_command, ("refused", plain(str(error), called))
    return by_command, ("made", verb.output(called))


def plain(message: str, out: Path) -> str:
    """A message without the place of the output."""
    return message.replace(str(out), "OUT")


def text(path: Path) -> str:
    """A file's text, without the folder that it is in."""
    return path.read_text(encoding="utf-8").replace(str(path.parent), "FOLDER")


def shards(path: Path) -> list[Any]:
    """The rows of a prepared folder."""
    return [row for shard in sorted(path.glob("*.parquet")) for row in pq.read_table(shard).to_pylist()]


def derived(path: Path) -> dict[str, str]:
    """The texts of a derived corpus, by the name of the file."""
    return {
        file.name: text(file) for file in sorted(path.iterdir()) if file.suffix in (".txt", ".tsv", ".conllu")
    }


def write_rows(path: Path, rows: list[tuple[Any, ...]]) -> None:
    """Write rows as the commands do, so that they compare."""
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def kept_pairs(out: Path, *, rows: list[tuple[str, str]], **options: Any) -> None:
    """`iso.filter_pairs`, written as `isoglot filter` writes what it keeps."""
    judged = iso.filter_pairs(rows, **{"aligner": None, "progress": False, **options})
    write_rows(out, [(pair.source, pair.target) for pair in judged if not pair.reason])


def sides(path: Path) -> list[tuple[str, ...]]:
    """The first two columns of a table, without the scores."""
    return [tuple(line.split("\t")[:2]) for line in text(path).splitlines()]


def sentences(path: Path) -> list[str]:
    """The lines of a file, without their last character."""
    return path.read_text(encoding="utf-8").splitlines()


def mined(out: Path, *, model: str = "model", **options: Any) -> None:
    """`iso.mine`, written as its command writes."""
    pairs = iso.mine(sentences(Path("en.txt")), sentences(Path("xx.txt")), model, progress=False, **options)
    write_rows(out, [(pair.source, pair.target) for pair in pairs])


def grouped(out: Path, *, model: str = "model", **options: Any) -> None:
    """`iso.align_sentences`, written as its command writes."""
    groups = iso.align_sentences(sentences(Path("en.txt")), sentences(Path("xx.txt")), model, **options)
    write_rows(out, [(group.source, group.target) for group in groups])
