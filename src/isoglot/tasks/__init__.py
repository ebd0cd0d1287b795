"""Tasks: load, encode, head, score. Each is a class with its facts on it, and a line in :data:`TASKS`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isoglot.checks import given_texts, resolve
from isoglot.errors import ConfigurationError

if TYPE_CHECKING:
    from isoglot.corpus.labelled.places import DataSource
    from isoglot.recipe.spec import Spec

TASKS: dict[str, str] = {
    "pos": "isoglot.tasks.tagging:PartsOfSpeech",
    "ner": "isoglot.tasks.tagging:NamedEntities",
    "xnli": "isoglot.tasks.pairs:XNLI",
    "pawsx": "isoglot.tasks.pairs:PAWSX",
    "text_classification": "isoglot.tasks.text_classification:TextClassification",
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


def build_task(name: str, data: Sequence[str] | DataSource, /, **options: Any) -> Any:
    """A task by name (:data:`TASKS` or ``package.module:Name``), its data, and options of :func:`task_options`.

    Raises:
        ConfigurationError: The task or an option is unknown, or a value does not fit the option's type.

    Example:
        >>> build_task("pos", ["ud/{language}-ud-{split}.conllu"]).primary_metric
        'f1'
    """
    from isoglot.corpus.labelled.places import DataSource  # noqa: PLC0415 - the names above load no libraries

    try:
        spec = task_options(name).of(options)
    except ConfigurationError as error:
        raise ConfigurationError([f"task {name}: {problem}" for problem in error.problems]) from error
    source = data if isinstance(data, DataSource) else DataSource(tuple(given_texts(data, "data")))
    task = spec.make(f"task {name}", data=source)
    if hasattr(task, "given"):
        task.given = frozenset(options)
    return task


def task_class(name: str) -> Any:
    """The class of a task."""
    return resolve(TASKS, name, kind="task")


def is_probe(name: str) -> bool:
    """Whether a task measures an encoder as it is; the others fine-tune a head first."""
    return hasattr(task_class(name), "measure")


def task_options(name: str) -> type[Spec]:
    """The options of a task."""
    from isoglot.recipe.spec import spec_of  # noqa: PLC0415 - loads the libraries

    return spec_of(task_class(name), "data")
