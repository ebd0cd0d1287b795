"""Several runs of one verb: one for each combination of swept values and each seed, each in a folder of its own.

`sweep={"objectives.contrast.layer": [4, 8]}` with seeds 1 and 2 makes four runs:

    OUT/layer=4/seed-1   OUT/layer=4/seed-2   OUT/layer=8/seed-1   OUT/layer=8/seed-2

Several seeds without a sweep make `OUT/seed-1` and `OUT/seed-2`. A folder's name depends on the values alone, so the
same command finds its runs again, and a command with more values or seeds adds to them.

Start with `planned_runs`; `run_each.py` makes the runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pydantic import field_validator

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError, Origin, Problem
from isoglot.core.options import Options, Seed, Workers, option
from isoglot.runs.record import MANIFEST, RUN

ResultT = TypeVar("ResultT")

_LONGEST_FOLDER = 120
"""Bytes of a folder's name that are kept; paths of results and checkpoints below the folder must fit too."""
_UNSAFE = re.compile(r"[^\w.,=+-]+")
"""Characters that have a meaning to some file system, shell or URL."""
_HASH_BYTES = 4


class SweepRequest(Options):
    """The values that are tried, each in a run of its own, and the number of runs at a time."""

    sweep: dict[str, tuple[Any, ...]] = option(
        {},
        "Make one run for each value: --sweep KEY=4,6,8; repeatable, for a run for each combination. A value that is a "
        "list itself stands in brackets.",
        metavar="KEY=VALUE,...",
    )
    workers: Workers = option(
        1, "Runs of a sweep or of several seeds that go on at a time, each in its own process."
    )

    @field_validator("sweep", mode="before")
    @classmethod
    def _listed(cls, sweep: Any) -> Any:
        """Give every key several plain values: numpy's numbers become Python's, and one value a list of one."""
        if not isinstance(sweep, Mapping):
            return sweep
        return {str(key): _plain_values(values) for key, values in sweep.items()}

    @field_validator("sweep")
    @classmethod
    def _each_once(cls, sweep: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        """Refuse a swept seed, a key without values, and a value that is repeated."""
        for key, values in sweep.items():
            if key == "seed":
                raise ValueError("a seed is not swept; give several with [[seed=(1, 2, 3)]]")
            if key == "name":
                raise ValueError(
                    "the name is a label, and runs with different names do the same; leave it out"
                )
            if not values:
                raise ValueError(f"{key} has no values; give at least one")
            texts = [json.dumps(value, sort_keys=True, default=str) for value in values]
            repeated = [text for text in texts if texts.count(text) > 1]
            if repeated:
                raise ValueError(f"{key} has the value {repeated[0]} more than once; give each value once")
        return sweep


def checked_seeds(seed: Any) -> tuple[int, ...]:
    """Return the seeds of a call, each once; one seed may be given as a number.

    Example:
        >>> checked_seeds(1), checked_seeds([1, 2, 3, 1])
        ((1,), (1, 2, 3))

    Raises:
        ConfigurationError: No seed was given, or one that is not a whole number or that numpy does not accept.
    """
    seeds = _plain_values(seed)
    wrong = [value for value in seeds if isinstance(value, bool) or not isinstance(value, int)]
    if wrong or not seeds:
        got = repr(wrong[0]) if wrong else "none"
        raise ConfigurationError(f"[[seed]]: got {got}; whole numbers are needed, one or several")
    return tuple(dict.fromkeys(validated(_Seeds, {"seed": seeds}).seed))


class _Seeds(Options):
    """Seeds of runs."""

    seed: tuple[Seed, ...] = option(..., "Seeds.", min_length=1)


def _plain_values(values: Any) -> Any:
    """Return one value or several as a tuple of Python's own types: ``4`` and ``numpy.array([4])`` as ``(4,)``."""
    if hasattr(values, "tolist"):  # an array, or one of its numbers
        values = values.tolist()
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        values = [values]
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


@dataclass(frozen=True)
class PlannedRun:
    """One of several runs.

    Args:
        folder: Folder of the run.
        label: The same folder, relative to the folder of all runs, for messages: ``layer=4/seed-1``.
        seed: Seed of the run; ``None`` for the recipe's own.
        values: The swept values of the run, by key.
    """

    folder: Path
    label: str = ""
    seed: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


def planned_runs(
    out: str | Path,
    sweep: Mapping[str, Sequence[Any]],
    seeds: Sequence[int | None],
    *,
    always_by_seed: bool = False,
) -> list[PlannedRun]:
    """Plan one run for every combination of swept values and every seed, in the order in which they are given.

    A single run without a sweep is kept in ``out`` itself, unless ``always_by_seed``.

    Raises:
        ConfigurationError: A folder that would hold other runs is a run already, or two runs would share a folder.

    Example:
        >>> [run.label for run in planned_runs("runs", {"align.layer": [4, 8]}, [1])]
        ['layer=4/seed-1', 'layer=8/seed-1']
    """
    by_seed = always_by_seed or bool(sweep) or len(seeds) > 1
    runs = []
    for combination in product(*sweep.values()):
        values = dict(zip(sweep, combination, strict=True))
        for seed in seeds:
            parts = [sweep_folder(values)] if sweep else []
            if by_seed:
                parts.append(f"seed-{seed}")
            runs.append(PlannedRun(Path(out, *parts), "/".join(parts), seed, values))
    _require_own_folders(runs)
    if by_seed:
        for folder in {Path(out), *(run.folder.parent for run in runs)}:
            if (folder / RUN).is_file() or (folder / MANIFEST).is_file():
                raise ConfigurationError(
                    f"{folder}: holds a run, and several runs need a folder that holds nothing else; choose another "
                    "[[out]]"
                )
    return runs


def _require_own_folders(runs: Sequence[PlannedRun]) -> None:
    """Refuse two runs that would share a folder, also where a file system ignores case: `kind=A` and `kind=a`."""
    run_in: dict[str, PlannedRun] = {}
    for run in runs:
        other = run_in.setdefault(str(run.folder).casefold(), run)
        if other is not run:
            raise ConfigurationError(
                f"[[sweep]]: {dict(other.values)} and {dict(run.values)} would both be kept in {run.folder}; sweep "
                "them in two commands, each with its own [[out]]"
            )


def sweep_folder(values: Mapping[str, Any]) -> str:
    """Return the name of the folder for a combination of values.

    1. A key has as many of its last parts as tell it from the other keys (:func:`short_names`).
    2. Characters that have a meaning to a file system, shell or URL become ``_``. A value that loses characters gets a
       hash of the whole value, so that two values do not share a name. So does a text that reads like a number, a
       boolean or null: ``4`` is `4`, and ``"4"`` is `4-be2f1b76`. The items of a list are joined by ``+``, and the text
       ``"a+b"`` has the name of the list ``["a", "b"]``: :func:`planned_runs` refuses to try both.
    3. A name longer than 120 bytes is cut, and gets a hash of all values.

    Example:
        >>> sweep_folder({"objectives.contrast.layer": 4, "objectives.contrast.weight": 0.5})
        'layer=4,weight=0.5'
        >>> sweep_folder({"model.path": "encoders/large one"})
        'path=large_one-b94dd2ab'
    """
    short = short_names(list(values))  # 1
    parts = [f"{_UNSAFE.sub('_', short[key])}={_safe_text(value)}" for key, value in values.items()]  # 2
    name = ",".join(parts)
    encoded = name.encode()
    if len(encoded) > _LONGEST_FOLDER:  # 3
        kept = encoded[:_LONGEST_FOLDER].decode(errors="ignore")
        name = f"{kept}-{_hash(dict(values))}"
    return name


def _safe_text(value: Any) -> str:
    """Return a value as a part of a folder's name, with a hash if the part does not show the whole value."""
    if isinstance(value, list | tuple):
        return "+".join(map(_safe_text, value))
    text = shown_value(value)
    plain = _UNSAFE.sub("_", text).strip("_")
    is_whole = plain == text
    if isinstance(value, str):
        # Of a path the text is only the last part.
        is_whole = plain == value and not _reads_like_another_value(value)
    return plain if is_whole else f"{plain}-{_hash(value)}"


def _reads_like_another_value(text: str) -> bool:
    """Whether a text is how a number, a boolean or null is shown: ``4``, ``true``, ``null``."""
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten dotted names: each keeps as few of its last parts as no other of the names ends in.

    Example:
        >>> short_names(["objectives.contrast.layer", "objectives.anchor.layer", "steps"])
        {'objectives.contrast.layer': 'contrast.layer', 'objectives.anchor.layer': 'anchor.layer', 'steps': 'steps'}
    """
    short = {}
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            ending = ".".join(parts[-count:])
            # The dots make whole parts match: `layer` is not an ending of `player`.
            if not any(other != name and f".{other}".endswith(f".{ending}") for other in names):
                break
        short[name] = ending
    return short


def shown_value(value: Any) -> str:
    """Return a value as a user types it; only the last part of a path, because results travel to other machines."""
    if isinstance(value, str):
        return Path(value).name if "/" in value else value
    return json.dumps(value, default=str)


def refuse_given_twice(sweep: Mapping[str, Any], given: Iterable[str]) -> None:
    """Refuse a swept key that also has a single value; ``given`` are the keys with a single value."""
    for key in given:
        if key in sweep:
            raise ConfigurationError(f"[[sweep]]: {key} has a single value too; give it once")


def check_each(runs: Sequence[PlannedRun], check: Callable[[Mapping[str, Any]], ResultT]) -> list[ResultT]:
    """Check every combination of values before the first run starts, and return the result of each run's check.

    Args:
        runs: The runs; runs that differ only in their seeds are checked once.
        check: Takes the swept values of a run, and raises :class:`ConfigurationError` if something is wrong with them.

    Raises:
        ConfigurationError: All mistakes of all combinations, each once, with the swept value that caused it.
    """
    checked: dict[str, ResultT] = {}  # by the values as JSON
    problems: dict[Any, Problem] = {}
    for run in runs:
        values_text = json.dumps(run.values, sort_keys=True, default=str)
        if values_text in checked:
            continue
        try:
            checked[values_text] = check(run.values)
        except ConfigurationError as error:
            if not run.values:
                raise
            for problem in error.problems:
                # A misspelt key is one mistake, however many values it has.
                problems.setdefault((problem.location, problem.text), _of_sweep(problem, run.values))
    if problems and not any("[[sweep=" in problem.raw for problem in problems.values()):
        raise ConfigurationError(problems.values())  # a single run would have the same mistakes
    if problems:
        count = f"{len(problems)} mistake{'s' if len(problems) > 1 else ''}"
        raise ConfigurationError(problems.values(), heading=f"[[sweep]]: {count}; nothing was run")
    return [checked[json.dumps(run.values, sort_keys=True, default=str)] for run in runs]


def _of_sweep(problem: Problem, values: Mapping[str, Any]) -> Problem:
    """Let a problem name ``[[sweep=...]]`` in place of the option that a single run would have been given.

    With the swept values ``{"layer": 99}``, the first rule that fits counts; the values are tried in turn:

    1. The problem stands in an override of a recipe, ``[[overrides='layer=99']]``: its origin is replaced.
    2. The text names the option, ``[[layer]]`` or ``[[layer=99]]``: the name is replaced.
    3. The text mentions ``'layer'``: the sweep is put in front of the text.
    4. Anything else is not about a swept value, and stays.
    """
    for key, value in values.items():
        named = f"[[sweep={ {key: value}!r}]]"
        if problem.origin == _origin_of_override(key, value):  # 1
            return Problem(problem.text, problem.location, problem.kind, Origin(named))
        option_in_text = re.search(rf"\[\[{re.escape(key)}(=.*?)?\]\]", problem.text)
        if option_in_text is not None:  # 2
            text = problem.text.replace(option_in_text[0], named)
            return Problem(text, problem.location, problem.kind, problem.origin)
        if repr(key) in problem.text:  # 3
            return Problem(f"{named}: {problem.text}", problem.location, problem.kind, problem.origin)
    return problem  # 4


def override(key: str, value: Any) -> str:
    """Return a swept value as a recipe's override: ``objectives.contrast.layer=4``."""
    return f"{key}={json.dumps(value, default=str)}"


def _origin_of_override(key: str, value: Any) -> Origin:
    """Return the origin that a problem of a swept value has when a recipe is read with the value as an override."""
    return Origin(f"[[overrides={override(key, value)!r}]]")
