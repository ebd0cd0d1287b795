"""Tasks: labelled data, a head that is trained on them or an encoder that is measured, and metrics.

    files, hub, memory ──load──> examples ──encode──> EncodedRows ──head──> outputs ──decode──> predictions ──score──> %

Open ``base.py`` first: the protocol. Tasks with a head inherit ``head_task.py``: ``tagging.py`` (POS, NER),
``pairs.py`` (XNLI, PAWS-X), ``text_classification.py``, ``questions.py`` (XQuAD, MLQA, TyDiQA). Probes measure an
encoder without further training: ``retrieval.py``, ``lexicon_induction.py``, ``word_alignment.py``. Each class states
its facts (:class:`TaskFacts`) and has a line in :data:`TASKS`. A new metric is one more name in what the task's
``score`` or ``measure`` returns. ``metrics/`` has metrics over plain values, ``submission.py`` XTREME's files.

- *example*: a row of a task's data: a text, a pair, a sentence of words, a question.
- *encoded row*: one input of the encoder. A long example may have several.
- *kind*: a task's own name, such as ``xnli``; its *name* in results may be another.
- *heads*: kinds that can use each other's fine-tuned models have equal ``heads``: ``xquad`` and ``mlqa``.
- *gold*: the right labels, answers or links, as the data give them.
- *card*: what a checkpoint was made from, read from the files beside it (``cards.py``).
- *[[name]]*, *[[name=value]]* in a message: an option, shown as the caller writes it, ``--name`` or ``name=``.
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
"""Name of a task to its class, which is imported only when the task is asked for."""


@dataclass(frozen=True)
class TaskFacts:
    """Facts of a task that are known before any data are read. The class of a task has them as class attributes.

    A custom task states the facts that it needs; the others have the defaults below.

    Args:
        kind: The task's own name, whatever it is called in results.
        heads: Tasks of equal ``heads`` can be evaluated with each other's fine-tuned models; by default the kind.
        languages: Languages of the data set, as XTREME has them; empty if the task takes any language.
        presets: Name of a paper to its settings of fine-tuning, which may hold options of the task.
        inherited: Options that an evaluation takes from the fine-tuning unless it is given others.
        xtreme: Folder of the predictions in XTREME's submission format; by default the task's name.
    """

    kind: str = ""
    heads: str = ""
    languages: str = ""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    inherited: tuple[str, ...] = ("max_length",)
    xtreme: str = ""

    @classmethod
    def of(cls, task: Any) -> Self:
        """Return the facts of a task or of a task's class."""
        stated = {fact.name: getattr(task, fact.name) for fact in fields(cls) if hasattr(task, fact.name)}
        kind = stated.get("kind") or getattr(task, "name", "")
        return cls(**{**stated, "kind": kind, "heads": stated.get("heads") or kind})


def build_task(name: str, data: Sequence[str] | DataSource, /, **options: Any) -> Any:
    """Build a task by its name (one of :data:`TASKS`, or ``package.module:Name``), with data and options.

    ``options``: Options of the task, as :func:`task_options` lists them.

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
    # An option that is named with its default value is not replaced by the fine-tuning's (`HeadTask.with_checkpoint`).
    if hasattr(task, "named_options"):
        task.named_options = frozenset(options)
    return task


def task_with_data(
    task: str | Task, data: Any, columns: Mapping[str, Any] | None = None, /, **options: Any
) -> Task:
    """Build a task by its name, or copy a task object, with other data.

    Args:
        task: The name, or the object; an object is copied only if ``data`` are given.
        data: Paths, rows in memory, or a dictionary from languages to these; as
            :func:`isoglot.formats.labelled.memory.data_source` takes them.
        columns: Column of the task to its name in the data.
        **options: Options of a task that is built by name. A task object has its own already.

    Raises:
        ConfigurationError: The name is unknown, has no data, or options are given for a task object.
    """
    from isoglot.formats.labelled.memory import data_source  # noqa: PLC0415 - loads the libraries

    if isinstance(task, str):
        # First of all, because it reports an unknown name.
        task_type = task_class(task)
        if data is None:
            raise ConfigurationError(
                f"task {task} needs data=: a path, a datasets.Dataset, or a dict from languages"
            )
        return build_task(task, data_source(data, task_type, columns), **options)  # type: ignore[no-any-return]
    if options:
        raise ConfigurationError(
            f"got {', '.join(options)}, but the task is built already; set them on {type(task).__name__}(...)"
        )
    if data is not None:
        task = copy.copy(task)
        task.data = data_source(data, task, columns)
    return task


def task_class(name: str) -> Any:
    """Return the class of a task."""
    return resolve(TASKS, name, kind="task")


def is_probe(name: str) -> bool:
    """Whether a task measures an encoder without training; any other task has a head that must be fine-tuned first."""
    return hasattr(task_class(name), "measure")


def task_options(name: str) -> type[Spec]:
    """Return the model of a task's options: the arguments of its class without ``data``."""
    from isoglot.recipe.spec import spec_of  # noqa: PLC0415 - loads the libraries

    return spec_of(task_class(name), "data")
