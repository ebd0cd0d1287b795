"""Tasks: labelled data go in; a head is trained on them, or an encoder measured, and metrics come out.

    files, hub, memory ─> load ─> encode ─> (head) ─> decode ─> score
                          rows    EncodedRow          predictions  metrics in %

Open ``base.py`` first: the protocol. Tasks with a head inherit ``head_task.py``: ``tagging.py`` (POS, NER),
``pairs.py`` (XNLI, PAWS-X), ``text_classification.py``, ``questions.py`` (XQuAD, MLQA, TyDiQA). Probes measure an
encoder as it is: ``retrieval.py``, ``lexicon_induction.py``, ``word_alignment.py``. Each class states its facts
(:class:`TaskFacts`) and has a line in :data:`TASKS`. ``metrics/`` has metrics over plain values, ``submission.py``
XTREME's files.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from isoglot.core.checks import given_texts, resolve
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import one_component

if TYPE_CHECKING:
    from isoglot.formats.labelled.sources import DataSource
    from isoglot.recipe.spec import Spec
    from isoglot.tasks.base import Task

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


@dataclass(frozen=True)
class TaskFacts:
    """What is known of a task before any data. They stand on its class, as attributes of these names.

    A custom task states those that it needs; the others have the defaults below.

    Args:
        kind: The task's own name, whatever it is called in results.
        heads: Tasks of equal ``heads`` can be evaluated with each other's fine-tuned models; by default the kind.
        languages: Languages of its data set, as XTREME has them; empty where any will do.
        presets: Paper to its settings of fine-tuning, options of the task among them.
        inherited: Options that an evaluation takes from the fine-tuning unless it is given others.
        xtreme: Folder of its predictions in XTREME's submission format; by default the task's name.
    """

    kind: str = ""
    heads: str = ""
    languages: str = ""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    inherited: tuple[str, ...] = ("max_length",)
    xtreme: str = ""

    @classmethod
    def of(cls, task: Any) -> Self:
        """The facts of a task or a task's class."""
        stated = {f.name: getattr(task, f.name) for f in fields(cls) if hasattr(task, f.name)}
        kind = stated.get("kind") or getattr(task, "name", "")
        return cls(**{**stated, "kind": kind, "heads": stated.get("heads") or kind})


def build_task(name: str, data: Sequence[str] | DataSource, /, **options: Any) -> Any:
    """A task by name (:data:`TASKS` or ``package.module:Name``), its data, and options of :func:`task_options`.

    Raises:
        ConfigurationError: The task or an option is unknown, or a value does not fit the option's type.

    Example:
        >>> build_task("pos", ["ud/{language}-ud-{split}.conllu"]).primary_metric
        'f1'
    """
    from isoglot.formats.labelled.sources import DataSource  # noqa: PLC0415 - the names above load no libraries

    known = task_options(name)
    try:
        # Results and predictions go into files and folders of this name.
        if isinstance(options.get("name"), str):
            one_component(options["name"])
    except ValueError as error:
        raise ConfigurationError(f"[[name]]: {error}") from error
    try:
        spec = known.of(options)
    except ConfigurationError as error:
        raise ConfigurationError([f"task {name}: {problem}" for problem in error.problems]) from error
    source = data if isinstance(data, DataSource) else DataSource(tuple(given_texts(data, "data")))
    task = spec.make(f"task {name}", data=source)
    if hasattr(task, "named_options"):
        task.named_options = frozenset(options)
    return task


def task_with_data(
    task: str | Task, data: Any, columns: Mapping[str, Any] | None = None, /, **options: Any
) -> Task:
    """A task by its name, or a copy of one, that reads data as :func:`isoglot.formats.labelled.memory.data_source`.

    ``options``: Of the task; one that is built already keeps its own.
    """
    from isoglot.formats.labelled.memory import data_source  # noqa: PLC0415 - loads the libraries

    if isinstance(task, str):
        kind = task_class(task)  # an unknown name is the first to report
        if data is None:
            raise ConfigurationError(
                f"task {task} needs data=: a path, a datasets.Dataset, or a dict from languages"
            )
        return build_task(task, data_source(data, kind, columns), **options)  # type: ignore[no-any-return]
    if options:
        raise ConfigurationError(
            f"got {', '.join(options)}, but the task is built already; set them on {type(task).__name__}(...)"
        )
    if data is not None:
        task = copy.copy(task)
        task.data = data_source(data, task, columns)
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
