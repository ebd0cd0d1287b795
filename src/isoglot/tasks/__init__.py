"""Tasks: load, encode, head, score. Each is a class with its facts on it, and a line in :data:`TASKS`."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isoglot.checks import did_you_mean, resolve
from isoglot.errors import ConfigurationError

TASKS: dict[str, str] = {
    "pos": "isoglot.tasks.tagging:PartsOfSpeech",
    "ner": "isoglot.tasks.tagging:NamedEntities",
    "xnli": "isoglot.tasks.pairs:XNLI",
    "pawsx": "isoglot.tasks.pairs:PAWSX",
    "squad": "isoglot.tasks.questions:SQuAD",
    "xquad": "isoglot.tasks.questions:XQuAD",
    "mlqa": "isoglot.tasks.questions:MLQA",
    "tydiqa": "isoglot.tasks.questions:TyDiQA",
    "tatoeba": "isoglot.tasks.retrieval:Tatoeba",
    "flores": "isoglot.tasks.retrieval:Flores",
    "ntrex": "isoglot.tasks.retrieval:NTREX",
    "lexicon_induction": "isoglot.tasks.lexicon_induction:LexiconInductionTask",
    "word_alignment": "isoglot.tasks.word_alignment:WordAlignmentTask",
}
"""Name of a task to its class."""


@dataclass(frozen=True)
class TaskOption:
    """An option of a task."""

    name: str
    default: Any
    meaning: str


def build_task(name: str, data: Sequence[str], /, **options: Any) -> Any:
    """A task by name (:data:`TASKS` or ``package.module:Name``), its data, and options of :func:`task_options`.

    Raises:
        ConfigurationError: The task or an option is unknown, or a value does not fit the option's type.

    Example:
        >>> build_task("pos", ["ud/{language}-ud-{split}.conllu"]).primary_metric
        'f1'
    """
    from isoglot.corpus.labelled.places import DataSource  # noqa: PLC0415 - the names above load no libraries
    from isoglot.recipe.signatures import hints_of, mismatch  # noqa: PLC0415

    build = task_class(name)
    known, hints = {o.name for o in task_options(name)}, hints_of(build)
    problems = []
    for option, value in options.items():
        if option not in known:
            problems.append(f"task {name} has no option {option!r}; {did_you_mean(option, known)}")
        elif reason := mismatch(hints.get(option, inspect.Parameter.empty), value):
            problems.append(f"task {name}: {option}={value!r} given; {reason}")
    if problems:
        raise ConfigurationError(problems)
    try:
        task = build(data=DataSource(tuple(data)), **options)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"task {name} does not take these options: {error}; change them") from error
    if hasattr(task, "given"):
        task.given = frozenset(options)
    return task


def task_class(name: str) -> Any:
    """The class of a task."""
    return resolve(TASKS, name, kind="task")


def is_probe(name: str) -> bool:
    """Whether a task measures an encoder as it is; the others fine-tune a head first."""
    return hasattr(task_class(name), "measure")


def task_options(name: str) -> list[TaskOption]:
    """The options of a task, with their defaults and meanings."""
    from isoglot.recipe.signatures import argument_docs  # noqa: PLC0415 - loads the libraries

    build = task_class(name)
    meanings = argument_docs(build)
    return [
        TaskOption(p.name, p.default, meanings.get(p.name, ""))
        for p in inspect.signature(build).parameters.values()
        if p.name != "data"
    ]
