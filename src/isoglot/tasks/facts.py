"""What is known of a task before any data; without the libraries, for the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self


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
        given = {f.name: getattr(task, f.name) for f in fields(cls) if hasattr(task, f.name)}
        kind = given.get("kind") or getattr(task, "name", "")
        return cls(**{**given, "kind": kind, "heads": given.get("heads") or kind})
