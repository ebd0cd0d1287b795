"""``isoglot evaluate``: a checkpoint, a task and languages in, rows of results out."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.errors import ConfigurationError
from isoglot.finetuning.finetune import TASK_FILE, origin
from isoglot.finetuning.inputs import changed_options, describe_task, identify
from isoglot.finetuning.options import EvaluateOptions
from isoglot.finetuning.train import fit_length
from isoglot.modules.checkpoint import require_room_for
from isoglot.modules.devices import resolve_device
from isoglot.results import Result, append, held
from isoglot.runs.checkpoint import checkpoint_folder
from isoglot.runs.files import is_stream, read_json, require_writable
from isoglot.runs.folder import hash_checkpoint, key_of
from isoglot.runs.lock import locked
from isoglot.runs.ranks import world_size
from isoglot.runs.reporter import Reporter, Silent
from isoglot.tasks import submission
from isoglot.tasks.base import Predictions, Probe, Task, TrainableTask, check_places, load_rows, places_of
from isoglot.tasks.facts import Facts
from isoglot.tasks.features import RowCollator, Step, predict_rows
from isoglot.tasks.language_vectors import attach, attached, chosen_vectors, number_rows

_OWN = {"language_ids", "precision"}
"""Options of an evaluation that change its figures."""


def evaluate(
    checkpoint: str | Path,
    task: Task,
    *,
    languages: Sequence[str],
    split: str = "test",
    options: EvaluateOptions | None = None,
    progress: Reporter | None = None,
    measured: Callable[[list[Result]], None] | None = None,
) -> list[Result]:
    """Measure a checkpoint on a task in several languages.

    A task with a head needs a fine-tuned checkpoint, the others are put to any encoder: a folder, a run's folder, or a
    hub name. A fine-tuned model is loaded once, an encoder once a language; rows are batched by length, and each
    language's results are written as soon as they are known. ``languages`` are ISO codes, ``de-es`` for MLQA across
    languages, ``en-de`` for pairs. ``measured`` gets each language's results, even where they cannot be written.

    Returns:
        One row a language and metric, in per cent, in the order of the languages; rows that were there already too.

    Raises:
        ConfigurationError: no head for the task, or no data.
        InputError: data that cannot be read.
    """
    options, report = options or EvaluateOptions(), progress or Silent()
    if not languages:
        raise ConfigurationError("no language given; name them with --languages de,es")
    own = options.model_dump(include=_OWN, exclude_defaults=True)
    if own and not isinstance(task, TrainableTask):
        raise ConfigurationError(
            f"{' and '.join(sorted(own))} given, but {task.name} measures an encoder in float32, without its language "
            "embeddings; leave it out"
        )
    languages = list(dict.fromkeys(languages))
    if options.out is not None:
        require_writable(options.out)
        held(options.out)  # whatever else stands there must not get rows
    if options.predictions is not None:
        require_writable(options.predictions, folder=True)
    source = checkpoint_folder(checkpoint)
    check_places(task, [(language, split) for language in languages])
    measure = _Measure(source, task, options, report, measured or (lambda rows: None))
    known: dict[str, list[Result]] = {}
    for language in languages:
        done = not options.again and measure.written(language, split)
        known[language] = measure.known(language, split) if done else []
    datasets = measure.load([language for language in languages if not known[language]], split)
    for number, language in enumerate(languages, 1):
        if known[language]:
            report.note(f"{task.name} {language} {split}: already measured")
            measure.measured(known[language])
        else:
            known[language] = measure(language, split, datasets.pop(language))
        report.progress("languages", number, len(languages))
    return [row for language in languages for row in known[language]]


class _Measure:
    """One checkpoint on one task; loads what it needs when it first needs it."""

    def __init__(
        self,
        source: Path | str,
        task: Task,
        options: EvaluateOptions,
        report: Reporter,
        measured: Callable[[list[Result]], None],
    ) -> None:
        self.measured = measured
        kept = getattr(task, "for_checkpoint", None)
        task = kept(source) if kept else copy.copy(task)  # what it takes from the checkpoint stays here
        self.source, self.task, self.options, self.report = source, task, options, report
        self.about = origin(source)
        self.hash = (
            hash_checkpoint(source) if isinstance(source, Path) else str(self.about["pretrained_hash"])
        )
        self.run = options.run or str(self.about["run"])
        trained_with = self.about.get("options", {}) if isinstance(task, TrainableTask) else {}
        inherited = {
            n: trained_with[n] for n in Facts.of(task).inherited if n in trained_with and hasattr(task, n)
        }
        for name in inherited.keys() - changed_options(task, {}).keys() - getattr(task, "given", frozenset()):
            setattr(task, name, inherited[name])
        own = options.model_dump(include=_OWN, exclude_defaults=True)
        self._changed = Result.in_order({**changed_options(task, inherited), **own})
        self._described = describe_task(task)  # before the model limits what is asked for
        self._model: Any = None
        self._tokenizer: Any = None

    def load(self, languages: Sequence[str], split: str) -> dict[str, Dataset]:
        """All data, before any of them is measured; a fine-tuned head says which labels they may have."""
        if languages and isinstance(self.task, TrainableTask):
            self._load_head(self.task)
        found = {language: load_rows(self.task, language, split) for language in languages}
        self._require_own_rows(found, split)
        return found

    def _require_own_rows(self, found: dict[str, Dataset], split: str) -> None:
        """Refuse a file without languages as the data of two of them."""
        owners: dict[str, str] = {}
        for language, rows in found.items():
            first = {name: value for name, value in rows[0].items() if "language" not in name}
            paths = [place.path for place in places_of(self.task, language, split)]
            owner = owners.setdefault(key_of([paths, len(rows), first]), language)
            if owner != language:
                raise ConfigurationError(
                    f"{', '.join(paths)}: read for {owner!r} and for {language!r}, with the same rows; name each "
                    "language's own file with {language} in --data, or one language"
                )

    def __call__(self, language: str, split: str, dataset: Dataset) -> list[Result]:
        told = " (training data of this model)" if self._trained_on(language, split) else ""
        self.report.note(f"{self.task.name} {language} {split}{told}")
        step = partial(self.report.progress, f"{self.task.name} {language}")
        if isinstance(self.task, TrainableTask):
            predictions = self._predict(self.task, dataset, step)
            scores = self.task.score(dataset, predictions, language=language)
        elif isinstance(self.task, Probe):
            scores, predictions = self.task.measure(self.source, dataset, language=language, progress=step)
        else:
            raise ConfigurationError(
                f"task {self.task.name} can neither be trained nor measured; see Task in isoglot.tasks.base"
            )
        rows = [
            Result(
                run=self.run,
                task=self.task.name,
                language=language,
                split=split,
                metric=metric,
                value=value,
                seed=self.about.get("seed"),
                examples=len(predictions),
                checkpoint_hash=self.hash,
                recipe_hash=str(self.about.get("recipe_hash", "")),
                options=self._changed,
            )
            for metric, value in scores.items()
        ]
        self.measured(rows)
        if self.options.predictions is not None:
            submission.write(self.options.predictions, self.task, language, split, predictions)
            _note(self.options.predictions, [self.task.name, language, split], self._key(language, split))
        return self._kept(language, split, rows)

    def _trained_on(self, language: str, split: str) -> bool:
        """Whether the model was fine-tuned on a part of these data."""
        if language not in self.about.get("languages", ()):
            return False
        learned = [part for data in self.about.get("trained_on", ()) for part in data]
        pairs = product(learned, identify(self.task, language, split))
        return any(one[0] == other[0] and one[1] < other[2] and other[1] < one[2] for one, other in pairs)

    def known(self, language: str, split: str) -> list[Result]:
        """Rows that an earlier call wrote for the same checkpoint, task options and data."""
        out = self.options.out
        wanted = self._measured(language, split)
        if out is None or _noted(out, wanted) != self._key(language, split):
            return []  # never measured, or on other data since
        latest = {
            row.metric: row
            for row in held(out)
            if [row.run, row.task, row.language, row.split, row.checkpoint_hash, row.options] == wanted
        }
        return list(latest.values())

    def written(self, language: str, split: str) -> bool:
        """Whether the predictions, where they are asked for, are there, and of this checkpoint and these data."""
        place = self.options.predictions
        if place is None:
            return True
        own = _noted(place, [self.task.name, language, split]) == self._key(language, split)
        return own and submission.written(place, self.task, language, split)

    def _load_head(self, task: TrainableTask) -> None:
        if self._model is not None:
            return
        if isinstance(self.source, Path) and (self.source / TASK_FILE).is_file():
            trained_on = (read_json(self.source / TASK_FILE) or {}).get("options", {})
            own, heads = Facts.of(task), trained_on.get("heads", trained_on.get("kind"))
            if heads is not None and heads != own.heads:
                raise ConfigurationError(
                    f"{self.source}: was fine-tuned for {trained_on['kind']}, task {own.kind} given; fine-tune the "
                    "encoder for it"
                )
        model = task.trained(self.source)
        fit_length(task, model, self.report)
        vectors = chosen_vectors(self.source, self.options.language_ids)
        if vectors is not None:
            attach(model, vectors)
        self._model = model.to(resolve_device())  # type: ignore[arg-type]
        self._tokenizer = load_tokenizer(self.source)
        require_room_for(self._tokenizer, model, self.source)

    def _predict(self, task: TrainableTask, dataset: Any, step: Step) -> Predictions:
        rows = task.encode(dataset, self._tokenizer, self._model, training=False)
        unknown = number_rows(rows, dataset, attached(self._model))
        if unknown:
            self.report.note(
                f"no language embedding for {', '.join(sorted(unknown))}: the mean of the others is added"
            )
        collator = RowCollator(self._tokenizer, multiple=8 if torch.cuda.is_available() else 1)
        outputs = predict_rows(
            self._model,
            rows,
            collator,
            task.reduce,
            max_tokens=self.options.max_tokens,
            precision=self.options.precision,
            progress=step,
        )
        return task.decode(dataset, rows, outputs)

    def _measured(self, language: str, split: str) -> list[Any]:
        """What tells rows of results apart."""
        return [self.run, self.task.name, language, split, self.hash, self._changed]

    def _key(self, language: str, split: str) -> str:
        return key_of(
            {
                "run": self.run,
                "checkpoint": self.hash,
                "task": self._described,
                "precision": self.options.precision,
                "language_ids": self.options.language_ids,
                "language": language,
                "split": split,
                "data": identify(self.task, language, split),
            }
        )

    def _kept(self, language: str, split: str, rows: list[Result]) -> list[Result]:
        """Add rows to the file, unless another process has measured the same in the meantime."""
        out = self.options.out
        if out is None:
            return rows
        if is_stream(out):
            append(out, rows)
            return rows
        with locked(out):
            known = [] if self.options.again else self.known(language, split)
            if known:
                return known
            if (
                self.options.again or held(out)[-len(rows) :] != rows
            ):  # else of a run killed before it noted them
                append(out, rows)
            _note(out, self._measured(language, split), self._key(language, split))
        return rows


def require_one_process(command: str, work: str) -> None:
    """Refuse to be one of several processes."""
    if world_size() > 1:
        raise ConfigurationError(
            f"{command} given to torchrun, but it {work} in one process; start it without torchrun"
        )


def _journal(out: Path) -> Path:
    """Beside results, or a folder of predictions: which evaluations are whole there, and what each was made of."""
    return out.parent / f".{out.name}.done"


def _note(out: Path, what: list[Any], made_of: str) -> None:
    with _journal(out).open("a", encoding="utf-8") as file:
        file.write(f"{key_of(what)} {made_of}\n")


def _noted(out: Path, what: list[Any]) -> str | None:
    """What an evaluation was made of, the last time; ``None`` if it was never made."""
    if not _journal(out).is_file():
        return None
    lines = _journal(out).read_text(encoding="utf-8").splitlines()
    return dict(line.partition(" ")[::2] for line in lines).get(key_of(what))
