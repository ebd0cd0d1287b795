"""``isoglot analyse``: the :class:`Job` that every analysis works on, and the analysis of alignment scores.

Each analysis writes figures (``OUT/figures/NAME.json``) or rows of results (``OUT/results.jsonl``), which
``isoglot report OUT`` draws. The other analyses are in modules ``analyse_*.py``.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PreTrainedModel

from isoglot.aligners.options import layer_numbers
from isoglot.analysis.checkpoint_score import checkpoint_alignment_score
from isoglot.analysis.options import ALIGNMENT, AlignmentRequest
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.derivation.sharing import COPY_FILE
from isoglot.formats.labelled.sources import DataSource
from isoglot.formats.schema import LEXICON
from isoglot.formats.sources import UNNAMED, Kind
from isoglot.modules.encoder import layer_number, num_layers
from isoglot.reports.figure_files import ReportFigure
from isoglot.results.rows import FILE_NAME, Result, append
from isoglot.runs.files import read_json, require_writable, write_text
from isoglot.runs.fingerprint import key_of
from isoglot.runs.record import MANIFEST
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks.cards import changes_of, measured_hash, origin, run_of, seed_of
from isoglot.tasks.description import changed_options
from isoglot.tasks.lexicon_induction import LexiconInductionTask


@dataclass(frozen=True)
class AnalysisSubject:
    """A checkpoint to analyse."""

    source: Path | str
    label: str  # its name in legends and results
    about: Mapping[str, Any]  # the run that it is from

    @cached_property
    def shared(self) -> dict[str, Any]:
        """The fields that all rows of results on this checkpoint share."""
        return {
            "run": self.label,
            "seed": seed_of(self.source, self.about),
            "checkpoint_hash": measured_hash(self.source, self.about),
            "recipe_hash": str(self.about.get("recipe_hash", "")),
            "changes": changes_of(self.source, self.about),
        }

    def rows(self, values: Mapping[str, tuple[float | None, int]], **more: Any) -> list[Result]:
        """Make rows of results on this checkpoint, one for each metric that has a value.

        ``values``: By metric, its value and the number of examples behind it.
        """
        rows = []
        for metric, (value, examples) in values.items():
            if value is not None:
                rows.append(Result(metric=metric, value=value, examples=examples, **self.shared, **more))
        return rows


class Job:
    """Checkpoints to analyse, and where the findings go.

    Args:
        out: A run's folder, or any other; figures go to ``OUT/figures``, rows to ``OUT/results.jsonl``.
        labels: Names of the checkpoints in legends and results; by default those of their runs.
    """

    def __init__(
        self,
        checkpoints: Sequence[str | Path],
        *,
        out: str | Path,
        labels: Sequence[str] = (),
        progress: AnyReporter | None = None,
    ) -> None:
        self.out = Path(out)
        require_writable(out, folder=True)
        self.checkpoints, self.labels, self.report = checkpoints, labels, reporter_of(progress)
        self.written: list[Path] = []

    @cached_property
    def subjects(self) -> list[AnalysisSubject]:
        """The checkpoints with names that tell them apart: labels, names of runs, or paths where runs share one."""
        checkpoints, labels = self.checkpoints, self.labels
        if not checkpoints:
            raise ConfigurationError("no checkpoint; name at least one folder")
        if labels and len(labels) != len(checkpoints):
            raise ConfigurationError(
                f"got {len(labels)} labels for {len(checkpoints)} checkpoints; give one label each, in the same order"
            )
        for what, given in (("checkpoints", checkpoints), ("labels", labels)):
            if len(set(map(str, given))) < len(given):
                raise ConfigurationError(f"got {what} {', '.join(map(str, given))}; give each once")
        sources = [checkpoint_folder(checkpoint) for checkpoint in checkpoints]
        runs = [origin(source) for source in sources]
        names = list(labels) or [str(run["run"]) for run in runs]
        times = Counter(names)
        subjects = []
        for checkpoint, source, run, name in zip(checkpoints, sources, runs, names, strict=True):
            label = str(checkpoint) if times[name] > 1 else name
            subjects.append(AnalysisSubject(source, label, run))
        return subjects

    def figure(self, name: str, figure: ReportFigure) -> None:
        """Write ``figures/NAME.json`` in place of what was there."""
        self.write(f"{name}.json", figure.model_dump_json(indent=1, exclude_none=True))

    def write(self, name: str, text: str) -> None:
        """Write ``figures/NAME``."""
        self.written.append(write_text(self.out / "figures" / name, f"{text}\n"))


def analyse_alignment(
    job: Job, request: AlignmentRequest, *, on_measured: Callable[[list[Result]], None] | None = None
) -> list[Result]:
    """Score the alignment of checkpoints as ALIGN-MLM does; return rows of results.

    Metrics: ``alignment_score`` and ``alignment_backward`` in %, ``cosine`` of the gold pairs, and, where the
    checkpoint was trained on a dictionary, the scores of its entries (``alignment_trained``) and of all others
    (``alignment_held_out``). ``on_measured`` gets the rows before they are written.
    """
    if request.lexicon is None and request.options.single:
        raise ConfigurationError("[[single]]: is for a lexicon; add [[lexicon=FILE]]")
    if request.lexicon is not None and request.options.include_special:
        raise ConfigurationError("[[include_special]]: a lexicon has no special tokens; leave it out")
    lexicon = _lexicon(request)
    # Values in the options of a row that say what was scored. Two lexicons of one name differ by a hash.
    scored_on: dict[str, Any] = request.model_dump(include={"copied_from"}, exclude_none=True)
    if lexicon is not None:
        scored_on = {"lexicon": f"{Path(str(request.lexicon)).name} {key_of(lexicon.to_list())[:8]}"}
    rows: list[Result] = []
    for number, subject in enumerate(job.subjects, 1):
        vocabulary = request.vocabulary
        if vocabulary is None and request.copied_from is None and lexicon is None:
            vocabulary = _copy_of_recipe(subject)
        score = checkpoint_alignment_score(
            subject.source,
            vocabulary=vocabulary,
            copied_from=request.copied_from,
            lexicon=lexicon,
            options=request.options,
        )
        changed = request.options.model_dump(exclude={"device"}, exclude_defaults=True)
        rows += subject.rows(
            score.metrics,
            task=ALIGNMENT,
            language=request.name or _language_scored(lexicon, vocabulary),
            options={**changed, **scored_on},
        )
        if request.induction and lexicon is not None:
            rows += _induction(subject, request, lexicon, scored_on)
        job.report.progress("checkpoints", number, len(job.subjects))
    if on_measured is not None:
        on_measured(rows)
    append(job.out / FILE_NAME, rows, only_new=True)
    return rows


def _language_scored(lexicon: Dataset | None, vocabulary: str | None) -> str:
    """The language of a row: the pair of a lexicon, ``en-de``, or a derived language, ``en-x-trans``."""
    if lexicon is not None:
        return f"{lexicon[0]['source_language']}-{lexicon[0]['target_language']}"
    # The tokenizer is in the folder of a derived corpus, whose manifest names the language.
    manifest = read_json(Path(vocabulary).parent / MANIFEST) if vocabulary else None
    return str((manifest or {}).get("language", "derived"))


def _lexicon(request: AlignmentRequest) -> Dataset | None:
    """Read the lexicon of a request, if it names one."""
    if request.lexicon is None:
        return None
    entries = list(corpus_rows([request.lexicon], "lexicon", languages=request.languages, **request.reading))
    columns = {name: [entry[name] for entry in entries] for name in LEXICON}
    return Dataset.from_dict(columns, features=LEXICON)


def _copy_of_recipe(subject: AnalysisSubject) -> str | None:
    """The tokenizer of a checkpoint's recipe, if it is a vocabulary copy that still exists."""
    recipe = run_of(subject.source).get("values") or {}
    tokenizer = recipe.get("tokenizer") or {}
    path = tokenizer.get("path") if isinstance(tokenizer, dict) else None
    if not path or not (Path(path) / COPY_FILE).is_file():
        return None
    return str(path)


def asked_layers(text: str, model: PreTrainedModel) -> list[int]:
    """Read the layers that are asked for: ``all``, or ``0,4,-1`` (negative from the end); return their numbers."""
    numbers = layer_numbers(text)
    if numbers is None:
        return list(range(num_layers(model) + 1))
    return sorted({layer_number(model, number, name="[[layers]]") for number in numbers})


def corpus_rows(
    paths: Sequence[str],
    kind: Kind,
    *,
    languages: Sequence[str] = (),
    limit: int | None = None,
    **reading: Any,
) -> Iterator[dict[str, Any]]:
    """Yield rows of a prepared folder or of files in any format; refuse rows of a second pair of languages.

    ``kind``: bitext, aligned or lexicon.
    ``languages``: The two languages of files that do not name them.
    ``reading``: Further keys of the sources, such as ``header=True``.
    """
    codes = list(UNNAMED[:2])  # for sides whose language is not given
    for side, language in enumerate(languages[:2]):
        if language:
            codes[side] = language
    first_pair: tuple[str, str] | None = None
    for row in islice(open_corpus(paths, kind, languages=codes, **reading), limit):
        pair = (row["source_language"], row["target_language"])
        first_pair = first_pair or pair
        if pair != first_pair:
            both = f"{'-'.join(first_pair)} and of {'-'.join(pair)}"
            raise InputError(f"holds rows of {both}; prepare them separately", path=paths[0])
        yield row
    if first_pair is None:
        lacking = "entry; a lexicon has `source target` lines" if kind == "lexicon" else "sentence pair"
        raise InputError(f"holds no {lacking}", path=paths[0])


def _induction(
    subject: AnalysisSubject, request: AlignmentRequest, lexicon: Dataset, scored_on: Mapping[str, str]
) -> list[Result]:
    """Measure MUSE's precisions with static embeddings, from the source language to the target language and back.

    On the way back, the words to translate are the translations of the words that were asked on the way forth.
    """
    source, target = lexicon[0]["source_language"], lexicon[0]["target_language"]
    path = str(request.lexicon)
    task = LexiconInductionTask(DataSource([path]), words=request.words)
    forward = task.load(f"{source}-{target}", "test")
    sources, targets = list(forward["source"]), list(forward["target"])
    translations = {word for word, is_asked in zip(targets, forward["asked"], strict=True) if is_asked}
    # All entries of these words count, also those whose source word was not asked.
    is_asked_back = [word in translations for word in targets]
    backward = Dataset.from_dict({"source": targets, "target": sources, "asked": is_asked_back})
    rows: list[Result] = []
    for language, data in ((f"{source}-{target}", forward), (f"{target}-{source}", backward)):
        scores, nearest = task.measure(subject.source, data, language=language)
        values = {metric: (value, len(nearest)) for metric, value in scores.items()}
        options = {**changed_options(task, {}), **scored_on}
        rows += subject.rows(values, task=task.name, language=language, options=options)
    return rows
