"""``isoglot analyse``: what analyses start from and what they leave, and the alignment score.

Each analysis writes figures (``OUT/figures/NAME.json``) or rows of results (``OUT/results.jsonl``), which
``isoglot report OUT`` draws. The other analyses stand beside this module.
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
    """A checkpoint to look at."""

    source: Path | str
    label: str
    about: Mapping[str, Any]

    @cached_property
    def shared(self) -> dict[str, Any]:
        """Fields of all rows of results on it."""
        return {
            "run": self.label,
            "seed": seed_of(self.source, self.about),
            "checkpoint_hash": measured_hash(self.source, self.about),
            "recipe_hash": str(self.about.get("recipe_hash", "")),
            "changes": changes_of(self.source, self.about),
        }

    def rows(self, values: Mapping[str, tuple[float | None, int]], **more: Any) -> list[Result]:
        """Rows of results on this checkpoint: by metric its value, if there is one, and how many examples it has."""
        return [
            Result(metric=metric, value=value, examples=examples, **self.shared, **more)
            for metric, (value, examples) in values.items()
            if value is not None
        ]


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
        """The checkpoints with names that tell them apart: the runs', or the paths where two runs have one name."""
        checkpoints, labels = self.checkpoints, self.labels
        if not checkpoints:
            raise ConfigurationError("no checkpoint; name at least one folder")
        if labels and len(labels) != len(checkpoints):
            raise ConfigurationError(
                f"got {len(labels)} labels for {len(checkpoints)} checkpoints; give one label each, in the same order"
            )
        for what, several in (("checkpoints", checkpoints), ("labels", labels)):
            if len(set(map(str, several))) < len(several):
                raise ConfigurationError(f"got {what} {', '.join(map(str, several))}; give each once")
        sources = [checkpoint_folder(c) for c in checkpoints]
        about = [origin(source) for source in sources]
        names = list(labels) or [str(known["run"]) for known in about]
        times = Counter(names)
        names = [str(c) if times[n] > 1 else n for n, c in zip(names, checkpoints, strict=True)]
        return [AnalysisSubject(s, n, a) for s, n, a in zip(sources, names, about, strict=True)]

    def figure(self, name: str, figure: ReportFigure) -> None:
        """Write ``figures/NAME.json`` in place of what was there."""
        self.write(f"{name}.json", figure.model_dump_json(indent=1, exclude_none=True))

    def write(self, name: str, text: str) -> None:
        """Write ``figures/NAME``."""
        self.written.append(write_text(self.out / "figures" / name, f"{text}\n"))


def analyse_alignment(
    job: Job, request: AlignmentRequest, *, measured: Callable[[list[Result]], None] | None = None
) -> list[Result]:
    """ALIGN-MLM's alignment score of checkpoints, as rows of results.

    Metrics: ``alignment_score`` and ``alignment_backward`` in %, ``cosine`` of the gold pairs, and, where the
    checkpoint was trained on a dictionary, the scores of its entries (``alignment_trained``) and of all others
    (``alignment_held_out``). ``measured`` gets the rows before they are written.
    """
    if request.lexicon is None and request.options.single:
        raise ConfigurationError("[[single]]: is for a lexicon; add [[lexicon=FILE]]")
    if request.lexicon is not None and request.options.include_special:
        raise ConfigurationError("[[include_special]]: a lexicon has no special tokens; leave it out")
    lexicon = None
    if request.lexicon is not None:
        entries = list(
            corpus_rows([request.lexicon], "lexicon", languages=request.languages, **request.reading)
        )
        columns = {name: [entry[name] for entry in entries] for name in LEXICON}
        lexicon = Dataset.from_dict(columns, features=LEXICON)
    # What rows of one language differ in; a lexicon by content as well.
    named: dict[str, Any] = request.model_dump(include={"copied_from"}, exclude_none=True)
    if lexicon is not None:
        named = {"lexicon": f"{Path(str(request.lexicon)).name} {key_of(lexicon.to_list())[:8]}"}
    rows: list[Result] = []
    for number, subject in enumerate(job.subjects, 1):
        vocabulary = request.vocabulary
        if vocabulary is None and request.copied_from is None and lexicon is None:
            tokenizer = (run_of(subject.source).get("values") or {}).get("tokenizer") or {}
            path = tokenizer.get("path") if isinstance(tokenizer, dict) else None
            if path and (Path(path) / COPY_FILE).is_file():  # a copy that is still there
                vocabulary = str(path)
        score = checkpoint_alignment_score(
            subject.source,
            vocabulary=vocabulary,
            copied_from=request.copied_from,
            lexicon=lexicon,
            options=request.options,
        )
        if lexicon is not None:
            pair_or_derived = f"{lexicon[0]['source_language']}-{lexicon[0]['target_language']}"
        else:  # of a derived language, what the folder that it was written to says
            known = read_json(Path(vocabulary).parent / MANIFEST) if vocabulary else None
            pair_or_derived = str((known or {}).get("language", "derived"))
        language = request.name or pair_or_derived
        changed = request.options.model_dump(exclude={"device"}, exclude_defaults=True)
        rows += subject.rows(score.metrics, task=ALIGNMENT, language=language, options={**changed, **named})
        if request.induction and lexicon is not None:
            rows += _induction(subject, request, lexicon, named)
        job.report.progress("checkpoints", number, len(job.subjects))
    if measured is not None:
        measured(rows)
    append(job.out / FILE_NAME, rows, only_new=True)
    return rows


def asked_layers(text: str, model: PreTrainedModel) -> list[int]:
    """Layers by number: ``all``, or ``0,4,-1`` (negative from the end)."""
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
    """Rows of a prepared folder or of files in any format, all of one pair of languages.

    ``kind`` is bitext, aligned or lexicon; ``languages`` are those of files that do not name theirs, and ``reading``
    has further keys of their sources.
    """
    tags = [tag or default for tag, default in zip([*languages, "", ""], UNNAMED[:2], strict=False)]
    first: tuple[str, str] | None = None
    for row in islice(open_corpus(paths, kind, languages=tags, **reading), limit):
        pair = (row["source_language"], row["target_language"])
        first = first or pair
        if pair != first:
            both = f"{'-'.join(first)} and of {'-'.join(pair)}"
            raise InputError(f"holds rows of {both}; prepare them separately", path=paths[0])
        yield row
    if first is None:
        lacking = "entry; a lexicon has `source target` lines" if kind == "lexicon" else "sentence pair"
        raise InputError(f"holds no {lacking}", path=paths[0])


def _induction(
    subject: AnalysisSubject, request: AlignmentRequest, lexicon: Dataset, named: Mapping[str, str]
) -> list[Result]:
    """MUSE's precisions with static embeddings, from the source language to the target language and back."""
    source, target = lexicon[0]["source_language"], lexicon[0]["target_language"]
    path = str(request.lexicon)
    task = LexiconInductionTask(DataSource([path]), words=request.words)
    forward = task.load(f"{source}-{target}", "test")
    sources, targets = list(forward["source"]), list(forward["target"])
    answers = {word for word, is_asked in zip(targets, forward["asked"], strict=True) if is_asked}
    # An answer counts with all of its translations, not only with those that were asked for.
    columns = {"source": targets, "target": sources, "asked": [word in answers for word in targets]}
    backward = Dataset.from_dict(columns)
    rows: list[Result] = []
    for language, data in ((f"{source}-{target}", forward), (f"{target}-{source}", backward)):
        scores, nearest = task.measure(subject.source, data, language=language)
        values = {metric: (value, len(nearest)) for metric, value in scores.items()}
        options = {**changed_options(task, {}), **named}
        rows += subject.rows(values, task=task.name, language=language, options=options)
    return rows
