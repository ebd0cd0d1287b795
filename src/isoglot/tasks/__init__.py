"""Tasks: load, encode, head, score. One file a kind; languages are data."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from isoglot.errors import ConfigurationError

__all__ = ["ALIASES", "TASKS", "build_task", "task_options"]

TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "pos": ("isoglot.tasks.tagging:TaggingTask", {"kind": "pos"}),
    "ner": ("isoglot.tasks.tagging:TaggingTask", {"kind": "ner"}),
    "xnli": ("isoglot.tasks.pairs:PairTask", {"kind": "xnli"}),
    "pawsx": ("isoglot.tasks.pairs:PairTask", {"kind": "pawsx"}),
    "squad": ("isoglot.tasks.questions:QuestionTask", {"kind": "squad"}),
    "xquad": ("isoglot.tasks.questions:QuestionTask", {"kind": "xquad"}),
    "mlqa": ("isoglot.tasks.questions:QuestionTask", {"kind": "mlqa"}),
    "tydiqa": ("isoglot.tasks.questions:QuestionTask", {"kind": "tydiqa"}),
    "tatoeba": ("isoglot.tasks.retrieval:RetrievalTask", {"kind": "tatoeba"}),
    "flores": ("isoglot.tasks.retrieval:RetrievalTask", {"kind": "flores"}),
    "ntrex": ("isoglot.tasks.retrieval:RetrievalTask", {"kind": "ntrex"}),
    "lexicon_induction": ("isoglot.tasks.lexicon_induction:LexiconInductionTask", {}),
    "word_alignment": ("isoglot.tasks.word_alignment:WordAlignmentTask", {}),
}
"""Name of a task to what builds it."""

ALIASES = {
    "udpos": "pos",
    "panx": "ner",
    "wikiann": "ner",
    "nli": "xnli",
    "bli": "lexicon_induction",
    "retrieval": "tatoeba",
    "aer": "word_alignment",
}
"""Other names of tasks."""


def build_task(name: str, data: Sequence[str], /, **options: Any) -> Any:
    """A task by name.

    Args:
        name: one of :data:`TASKS` or :data:`ALIASES`, or ``package.module:Name``.
        data: where the data are; see :class:`isoglot.corpus.labelled.places.DataSource`.
        **options: of the task.

    Raises:
        ConfigurationError: no such task or option.

    Example:
        >>> build_task("pos", ["ud/{language}-ud-{split}.conllu"]).primary_metric
        'f1'
    """
    from isoglot.corpus.labelled.places import DataSource  # noqa: PLC0415 - the names above must come without the libraries

    build, fixed = _builder(name)
    known = [p for p in inspect.signature(build).parameters if p not in ("data", *fixed)]
    problems = [
        _unknown(name, option, known) for option in options if option not in known and option != "name"
    ]
    if problems:
        raise ConfigurationError(problems)
    try:
        return build(data=DataSource(tuple(data)), **{**fixed, **options})
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"task {name} does not take these options: {error}; change them") from error


def task_options(name: str) -> list[str]:
    """Names of a task's options."""
    build, fixed = _builder(name)
    return [p for p in inspect.signature(build).parameters if p not in ("data", *fixed)]


def _builder(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    if ":" in name:
        target, fixed = name, dict[str, Any]()
    else:
        known = ALIASES.get(name, name)
        if known not in TASKS:
            near = difflib.get_close_matches(name, [*TASKS, *ALIASES], n=1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            raise ConfigurationError(f"task {name!r} given{hint}; there are {', '.join(TASKS)}")
        target, fixed = TASKS[known]
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute), dict(fixed)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"task {name!r} cannot be imported ({error}); write package.module:Name"
        ) from error


def _unknown(task: str, option: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(option, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"task {task} has no option {option!r}; {hint}"
