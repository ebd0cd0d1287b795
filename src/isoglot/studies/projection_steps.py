"""Training data that a study makes for other languages: tags of a tagger, and labels carried to translations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.options import Precision
from isoglot.projection.options import ProjectRequest, project_request
from isoglot.runs.files import write_text
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step

if TYPE_CHECKING:  # it loads the libraries
    from isoglot.evaluation.head import FinetunedModel


class TagPairs(Step):
    """Sentence pairs drawn from a corpus, with the tags that a fine-tuned tagger gives the words of both sides.

    ``source.tsv`` and ``LANGUAGE.tsv`` hold words and tags, ``target.txt`` the translations as text.
    """

    checkpoint: str
    task: str
    corpus: str  # BITEXT, as `isoglot prepare` writes it
    language: str  # of the translations
    count: int
    seed: int
    precision: Precision

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw pairs, tag both sides, write."""
        import torch  # noqa: PLC0415 - loads the libraries

        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415
        from isoglot.evaluation.head import FinetunedModel  # noqa: PLC0415
        from isoglot.evaluation.options import EvaluateOptions  # noqa: PLC0415
        from isoglot.seeding import generator_for  # noqa: PLC0415
        from isoglot.tasks import build_task  # noqa: PLC0415
        from isoglot.tasks.cards import origin  # noqa: PLC0415

        pairs = load_corpus(self.corpus)
        order = torch.randperm(len(pairs), generator=generator_for(self.seed, "pairs", self.language))
        drawn = pairs.select(sorted(order[: self.count].tolist()))
        place, options = Path(self.checkpoint), EvaluateOptions(precision=self.precision)
        model = FinetunedModel(place, build_task(self.task, []), origin(place), options, report)
        write_text(folder / "source.tsv", _tagged(model, drawn["source"], "en"))
        write_text(folder / f"{self.language}.tsv", _tagged(model, drawn["target"], self.language))
        write_text(folder / "target.txt", "".join(f"{text}\n" for text in drawn["target"]))
        return {"pairs": len(drawn)}


def _tagged(model: "FinetunedModel", texts: Sequence[str], language: str) -> str:
    """The words of texts, each with its tag on a line."""
    from datasets import Dataset  # noqa: PLC0415 - loads the libraries

    from isoglot.corpus.encode.words import split_words  # noqa: PLC0415
    from isoglot.corpus.labelled.tags import UNLABELLED  # noqa: PLC0415
    from isoglot.schema import TAGGED  # noqa: PLC0415

    words = [split_words(text) for text in texts]
    rows = {"words": words, "tags": [[UNLABELLED] * len(own) for own in words]}
    dataset = Dataset.from_dict({**rows, "language": [language] * len(words)}, features=TAGGED)
    found = model.predict(dataset, progress=lambda done, total: None)
    pairs = (zip(own, tags, strict=True) for own, tags in zip(words, found, strict=True))
    return "\n".join("".join(f"{word}\t{tag}\n" for word, tag in pair) for pair in pairs)


class ProjectLabels(Step):
    """Labels carried to a translation in ``LANGUAGE.tsv`` (tags) or ``LANGUAGE.jsonl``, as `isoglot project` does."""

    labels: str
    translation: str
    language: str  # of the translation
    options: dict[str, Any] = {}  # noqa: RUF012 - of `isoglot project`; the model copies it

    def check(self) -> ProjectRequest:
        """The options of ``isoglot project``."""
        return project_request(self.labels, target_language=self.language, **self.options)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Project."""
        from isoglot.projection.project import project  # noqa: PLC0415 - loads the libraries

        request = self.check()
        out = folder / f"{self.language}.{'jsonl' if request.kind == 'questions' else 'tsv'}"
        counts = project(self.labels, self.translation, out, request, progress=report)
        report.note(counts.summary())
        return {"projected": counts.summary()}
