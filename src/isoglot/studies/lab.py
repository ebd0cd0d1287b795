"""A lab: the cells of the papers' tables that a study fills, and the steps that these cells need.

Each cell has a function. To call the function makes nothing: it asks the lab for steps (`lab.make`, `lab.pretrain`,
...), and each answer is a :class:`Work`, the folder that the step leaves or will leave. So one call shows which steps
the cell needs, as far as that is known already. A cell that chooses a layer by a score asks for more steps once the
score is measured, so its function is called again then.

:mod:`isoglot.studies.program` calls the cells, :mod:`isoglot.studies.making` makes the steps, each once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isoglot.core.checks import given_texts
from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.runs.folder import require_checkpoint
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.inputs import Input
from isoglot.studies.parts import LabNotes, StudyPart, TaskScores, Work
from isoglot.studies.sizes import SCALES, Setting, SizeLog, Sizes, Variants
from isoglot.studies.step import Step, UnavailableError, with_leaves
from isoglot.studies.step_folders import StepFolders, empty_if_lost, record_of
from isoglot.studies.training_steps import Evaluate, External, Finetune, Pretrain, StudyTask

_FIRST_STAND_IN = 900_000_001
"""The first of the numbers that stand for numbers not known yet. No size of a study is near it."""
_MOST_LISTED = 6
"""Most languages that the name of an evaluation lists; more languages are counted: ``in 12 languages``."""


class Lab:
    """Collects the cells and figures of a study, and says which steps they need.

    A study is a function of a lab::

        def table1(lab):
            def score():
                encoder = lab.pretrain("tlm", "tlm", {"steps": lab.size["steps"]})
                return lab.evaluate(encoder, task).value("de")

            lab.cell("mine", row="tlm", column="de", value=score)

    Ask for every step inside the function of the cell: only the steps that this function asks for are made.

    Args:
        sizes: Sizes of the study, each one value or one value per scale: ``{"steps": (10, 100, 1000)}``.
        root: Folder of the steps. Several processes may share it.
        scale: ``tiny``, ``small`` or ``paper``.
        changes: Sizes in place of those of the scale.
        variants: Other choices where the paper is silent, such as ``literal``.
        keep: Keep fine-tuned weights after they are evaluated.
        progress: Gets the lines and bars of the steps.
        home: Folder of the study's file, in which its own recipes may lie.
    """

    def __init__(
        self,
        sizes: Sizes,
        *,
        root: Path | str = "runs/study",
        scale: str = "tiny",
        changes: Mapping[str, Any] | None = None,
        variants: Variants | None = None,
        keep: bool = False,
        progress: Reporter | None = None,
        home: Path | None = None,
    ) -> None:
        self.setting = Setting.of(sizes, variants or {}, scale=scale, changes=changes)
        self.scale = scale
        self.seeds = list(self.setting.size["seeds"])
        # The sizes that studies look up. It logs what is looked up; `setting.size` has the same sizes and no log.
        self.size = SizeLog(self.setting.size)
        self.root = Path(root).resolve()
        self.keep = keep
        self.progress = progress or Silent()
        self.home = home
        self.parts: list[StudyPart] = []
        # Filled while the function of one cell runs; each cell gets new ones (`StudyPart.ask`).
        self.notes = LabNotes()
        # Kept over all cells.
        self.inputs: dict[Work, list[Input]] = {}  # inputs of unfinished steps that come from outside
        self.problems: list[str] = []  # mistakes in the fields of steps
        # Stand-ins for unknown numbers, with what people read in their place: "known after data derived de".
        self.unknown: dict[int, str] = {}
        self.folders = StepFolders(self.root)
        # Manifests that were read in a block of `manifests_read_once`; None outside of such a block.
        self._manifests: dict[Path, dict[str, Any]] | None = None

    def at(self, tiny: Any, small: Any, paper: Any) -> Any:
        """Choose one of three values by the scale: ``lab.at(["de"], ["de", "fr"], ALL_LANGUAGES)``."""
        return (tiny, small, paper)[SCALES.index(self.scale)]

    def external(self, name: str, path: str, *, module: str = "") -> External:
        """Name a checkpoint that is there already, in a folder or on the hub.

        ``module``: A package that the checkpoint's tokenizer needs, such as ``sacremoses`` for XLM.
        """
        if module and find_spec(module) is None:
            raise UnavailableError(f"the tokenizer of {name} needs {module}; type `pip install {module}`")
        return External(name, path)

    def pretrain(
        self,
        name: str,
        recipe: str,
        sections: Mapping[str, Any],
        *,
        seed: int = 1,
        run: str = "",
        about: str = "",
    ) -> Work:
        """Ask for an encoder that is trained by a recipe with other values laid over it.

        Example::

            lab.pretrain("tlm", "tlm", {"streams": {"bitext": {"path": pairs / "pairs.tsv"}}, "steps": 100}, seed=2)

        Args:
            name: Beginning of the name of the step's folder.
            recipe: A built-in recipe, or a file in the current folder or beside the study.
            sections: Values laid over the recipe's; keys that they leave out keep the recipe's values. ``None`` deletes
                an entry of the recipe; an empty section ``{}`` changes nothing. Of two keys of which a recipe has only
                one, a given key deletes the other: ``steps`` deletes ``epochs``, ``sources`` deletes ``path``.
            seed: Seed of the run.
            run: Name of the run in results; by default ``name``.
            about: Printed when the training begins: ``MLM on English and its derived copy``.
        """
        if self.home is not None and not Path(recipe).is_file() and (self.home / recipe).is_file():
            recipe = str(self.home / recipe)
        changing = {key: value for key, value in sections.items() if value != {}}
        announced = about or name
        if len(self.seeds) > 1:
            announced = f"{announced}, seed {seed}"
        return self.make(
            f"{name} s{seed}",
            Pretrain,
            recipe=recipe,
            sections=changing,
            seed=seed,
            label=run or name,
            about=announced,
        )

    def finetune(
        self, encoder: Work | External, task: StudyTask, language: str, *, seed: int = 1, **train: Any
    ) -> Work:
        """Ask for an encoder that is fine-tuned on a task in a language: ``lab.finetune(encoder, task, "en")``.

        Args:
            encoder: The encoder to start from.
            task: The task, with its data and settings of fine-tuning.
            language: Language of the training data; several with commas, ``en,de``.
            seed: Seed of the run.
            **train: Settings of fine-tuning laid over those of the task: ``epochs=3``.
        """
        name, fields = self._finetuning(encoder, task, language, seed, train)
        return self.make(name, Finetune, **fields)

    def evaluate(
        self,
        model: Work | External,
        task: StudyTask,
        languages: Sequence[str] = (),
        *,
        trained_on: str = "",
        seed: int = 1,
        **train: Any,
    ) -> TaskScores:
        """Ask for the scores of a model on a task.

        Example::

            lab.evaluate(encoder, task, ["en", "de"], trained_on="en", setting="zero_shot").value("de")

        Args:
            model: The encoder, or a model that is fine-tuned already.
            task: The task, with its data and settings of fine-tuning.
            languages: Languages of the test data; by default those of the task.
            trained_on: Languages that the encoder is fine-tuned on first, as :meth:`finetune` does it. Leave it empty
                for a model that is fine-tuned already and for a task without a head.
            seed: Seed of the fine-tuning.
            **train: Settings of fine-tuning laid over those of the task; only with ``trained_on``.
        """
        if task.unavailable:
            raise UnavailableError(task.unavailable)
        if train and not trained_on:
            names = ", ".join(train)
            raise ConfigurationError(f"{task.kind}: give trained_on with {names}, or leave both out")
        languages = list(given_texts(languages or task.languages, "languages"))
        listed = ",".join(languages) if len(languages) <= _MOST_LISTED else f"{len(languages)} languages"
        finetuning_name, finetuning = self._finetuning(model, task, trained_on, seed, train)
        fields = {key: finetuning[key] for key in ("checkpoint", "task", "label")}
        about = f"{finetuning['label']} on {task.kind}"
        if trained_on:
            name = finetuning_name
            about += f", fine-tuned on {trained_on}"
            fields["finetune"] = finetuning
        else:
            name = f"{model.name} {task.kind}"
        work = self.make(
            f"{name} in {listed}",
            Evaluate,
            **fields,
            split=task.split,
            precision=task.train.get("precision", "float32"),
            about=about,
            languages=languages,
            keep=self.keep,
        )
        return TaskScores(work, languages)

    def _finetuning(
        self, encoder: Work | External, task: StudyTask, language: str, seed: int, train: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the name of a :class:`Finetune` step, ``tlm pos en zero_shot s1``, and the fields of the step."""
        transfer_setting = f" {train['setting']}" if "setting" in train else ""
        name = f"{encoder.name} {task.kind} {language}{transfer_setting} s{seed}"
        fields = {
            "checkpoint": self.checkpoint(encoder),
            "task": {"kind": task.kind, "data": task.data, "options": task.options},
            "preset": task.preset,
            "train": {**task.train, **train},
            "language": language,
            "seed": seed,
            "label": encoder.step.label if isinstance(encoder, Work) else encoder.name,
        }
        return name, fields

    def cell(
        self,
        table: str,
        *,
        row: str | Sequence[str],
        column: str | Sequence[str],
        value: Callable[[], float],
        seed: int | None = None,
        note: str = "",
        is_result: bool = True,
        added: bool = False,
    ) -> None:
        """Add a cell of a table to the study.

        Example::

            lab.cell("align_mlm:Table3", row="MLM / trans", column="pos.zs", value=measure, seed=1)

        Args:
            table: A table of a paper, ``align_mlm:Table3``, or a name of your own.
            row: Label of the row, or the label with the values of the row's attributes: ``("mBERT", "zero-shot")``.
            column: The same of the column.
            value: Function that returns the number. It is called several times, first before anything is made.
            seed: Seed of the run that the number belongs to; ``None`` if the number depends on no seed.
            note: Anything that a reader of the table has to know.
            is_result: Whether the number is a result of a system. A layer, or a correlation over systems, is not.
            added: Whether the row or column is your own, beside those of the paper.
        """
        part = StudyPart(
            lab=self,
            function=value,
            row=(row,) if isinstance(row, str) else tuple(row),
            column=(column,) if isinstance(column, str) else tuple(column),
            table=table,
            seed=seed,
            note=note,
            is_result=is_result,
            is_added=added,
            # The study's function may have built the cell from sizes, such as a number of layers.
            sizes_read_before=frozenset(self.size.read),
        )
        self.parts.append(part)

    def figure(self, name: str, draw: Callable[[], Work | Mapping[str, Any]]) -> None:
        """Add a figure to the study.

        ``draw``: Function that asks for the step that draws the figure, or that returns the content of a figure file
        (:mod:`isoglot.reports.figure_files`). Points and bars whose number is not known yet are left out.
        """
        self.parts.append(StudyPart(lab=self, function=draw, row=(name,)))

    def stand_in(self, meaning: str) -> int:
        """Return a number in place of one that a step will record.

        ``lab.stand_in("known after data derived de")`` is 900000001 if it is the first stand-in. The same meaning gets
        the same number again.
        """
        for number, known_meaning in self.unknown.items():
            if known_meaning == meaning:
                return number
        number = _FIRST_STAND_IN + len(self.unknown)
        self.unknown[number] = meaning
        return number

    def shown(self, values: Any) -> Any:
        """Return a step's fields for people to read: ``known after data derived de`` in place of 900000001."""

        def readable(value: Any) -> Any:
            # Not isinstance: True and False are integers too, and True would be looked up as 1.
            return self.unknown.get(value, value) if type(value) is int else value

        return with_leaves(values, readable)

    @staticmethod
    def checkpoint(model: Work | External) -> str:
        """Return the folder or hub name of a model's weights."""
        return model / "checkpoint" if isinstance(model, Work) else model.path

    def make(self, name: str, step_class: type[Step], /, **fields: Any) -> Work:
        """Ask for a step: return the folder that it leaves, or will leave. Only :meth:`run` makes the step.

        Equal fields give the same folder, whatever ``name`` is::

            pairs = lab.make("pairs", SamplePairs, source="en.txt", target="de.txt")
            text = pairs / "pairs.tsv"
        """
        found = self.folders.find(name, step_class, fields)
        # A step reads another step if its fields name that step's folder; the cell asked for that one before. A folder
        # ends in the step's key, so the path of one is never the beginning of another one's.
        needs = tuple(earlier for earlier in self.notes.steps if str(earlier) in found.text)
        manifest = self._manifest(found.folder)
        # While a value that the cell read is unknown, every later step is a guess (`Work.guessed_from`).
        guesses = tuple(self.notes.guesses)
        work = Work(found.folder, name, found.step, manifest, self, needs=needs, guessed_from=guesses)
        self.notes.steps[work] = None
        return work

    def _manifest(self, folder: Path) -> dict[str, Any]:
        """Read the record of the step in a folder; empty until the step is made."""
        if self._manifests is None:
            return record_of(folder).read() or {}
        if folder not in self._manifests:
            self._manifests[folder] = record_of(folder).read() or {}
        return self._manifests[folder]

    @contextmanager
    def manifests_read_once(self) -> Iterator[None]:
        """Read the manifest of each step at most once in the block; a block inside another one shares its manifests.

        A cell asks for the same steps many times, and a plan asks all cells. No step may be made inside a block: its
        manifest would stay empty here.
        """
        if self._manifests is not None:
            yield
            return
        self._manifests = {}
        try:
            yield
        finally:
            self._manifests = None

    def inputs_of(self, work: Work) -> list[Input]:
        """Return the inputs of an unfinished step that come from outside.

        A step whose fields have mistakes has no inputs here; its mistakes are added to ``problems``, once.
        """
        if work in self.inputs:
            return self.inputs[work]
        self.inputs[work] = []
        try:
            work.step.check()
            self.inputs[work] = work.step.reads(f"{self.root}/")
        except ConfigurationError as error:
            self.problems += [f"{work.title}: {problem}" for problem in error.problems]
        return self.inputs[work]

    def run(self, work: Work) -> bool:
        """Make a step in its folder; return False if the step was finished already.

        The steps that this one needs must be finished.
        """
        step = work.step

        def write(folder: Path) -> dict[str, Any]:
            """Run the step, and return the record of the step for the manifest."""
            began = time.monotonic()
            # Hashed before the run: the step reads these contents, and files may change while it runs.
            outside = {entry.path: entry.content for entry in step.reads(f"{self.root}/")}
            recorded = step.expanded().run(folder, self.progress)
            about = {"name": work.name, "step": step.model_dump(mode="json"), "outside": outside}
            return {**about, **recorded, "seconds": round(time.monotonic() - began, 2)}

        try:
            for need in work.needs:
                # Refuses weights that were changed since they were trained; a step without weights passes.
                require_checkpoint(need.folder)
            if work.has_lost_weights:
                # Another step needs the weights: the step is made again.
                empty_if_lost(work)
            _, is_new = record_of(work.folder).make(write, resumes=step.resumes)
        except IsoglotError as error:
            raise IsoglotError(f"{work.title}: {error}") from error
        except Exception as error:
            error.add_note(f"while doing {work.title} in {work.folder}")
            raise
        return is_new
