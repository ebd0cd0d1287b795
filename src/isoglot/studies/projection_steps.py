"""Steps that label the translations of labelled text: by a tagger, or by projection over word links."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.options import Precision
from isoglot.projection.options import ProjectOptions, project_options
from isoglot.runs.files import write_text
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step

if TYPE_CHECKING:  # it loads the libraries
    from isoglot.evaluation.head import FinetunedModel


class TagPairs(Step):
    """Sentence pairs drawn from a corpus, with the tags that a fine-tuned tagger gives the words of both sides.

    The words and tags of the English sentences are in ``source.tsv``, those of the translations in ``LANGUAGE.tsv``.
    ``target.txt`` has the translations as text.

    Args:
        checkpoint: Tagger.
        task: Task that the tagger was fine-tuned on, such as ``pos``.
        corpus: Bitext, as ``isoglot prepare`` writes it; its source is English.
        language: Language of the translations.
        count: Maximum number of pairs.
        seed: Seed for sampling.
        precision: Precision in which the tagger runs.
    """

    checkpoint: str
    task: str
    corpus: str
    language: str
    count: int
    seed: int
    precision: Precision

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw pairs, tag both sides, write."""
        import torch  # noqa: PLC0415 - loads the libraries

        from isoglot.core.seeding import generator_for  # noqa: PLC0415
        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415
        from isoglot.evaluation.head import FinetunedModel  # noqa: PLC0415
        from isoglot.evaluation.options import EvaluateOptions  # noqa: PLC0415
        from isoglot.tasks import build_task  # noqa: PLC0415
        from isoglot.tasks.cards import origin  # noqa: PLC0415

        pairs = load_corpus(self.corpus)
        order = torch.randperm(len(pairs), generator=generator_for(self.seed, "pairs", self.language))
        drawn = pairs.select(sorted(order[: self.count].tolist()))
        checkpoint, options = Path(self.checkpoint), EvaluateOptions(precision=self.precision)
        model = FinetunedModel(checkpoint, build_task(self.task, []), origin(checkpoint), options, report)
        write_text(folder / "source.tsv", _tagged_lines(model, drawn["source"], "en"))
        write_text(folder / f"{self.language}.tsv", _tagged_lines(model, drawn["target"], self.language))
        write_text(folder / "target.txt", "".join(f"{text}\n" for text in drawn["target"]))
        return {"pairs": len(drawn)}


def _tagged_lines(model: "FinetunedModel", texts: Sequence[str], language: str) -> str:
    """Tag the words of texts, and return a line per word, with an empty line between two texts.

    ``["Cats sleep"]`` becomes a line of ``Cats``, a tab and ``NOUN``, and one of ``sleep``, a tab and ``VERB``.
    """
    from datasets import Dataset  # noqa: PLC0415 - loads the libraries

    from isoglot.formats.labelled.tags import UNLABELLED  # noqa: PLC0415
    from isoglot.formats.schema import TAGGED  # noqa: PLC0415
    from isoglot.formats.words import split_words  # noqa: PLC0415

    sentences = [split_words(text) for text in texts]
    columns = {
        "words": sentences,
        "tags": [[UNLABELLED] * len(words) for words in sentences],
        "language": [language] * len(sentences),
    }
    dataset = Dataset.from_dict(columns, features=TAGGED)
    predictions = model.predict(dataset, progress=lambda done, total: None)
    blocks = []
    for words, tags in zip(sentences, predictions, strict=True):
        lines = [f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)]
        blocks.append("".join(lines))
    return "\n".join(blocks)


class ProjectLabels(Step):
    """Labels carried to a translation, as ``isoglot project`` does it.

    The translation with its labels is in ``LANGUAGE.jsonl`` if the labels are answers to questions, else in
    ``LANGUAGE.tsv``.
    """

    labels: str  # the labelled file
    translation: str
    language: str  # of the translation
    options: dict[str, Any] = {}  # noqa: RUF012 - of `isoglot project`; the model copies it

    def check(self) -> ProjectOptions:
        """Check the options, and return them as those of ``isoglot project``."""
        return project_options(self.labels, target_language=self.language, **self.options)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Project."""
        from isoglot.projection.project import project  # noqa: PLC0415 - loads the libraries

        ending = "jsonl" if self.check().kind == "questions" else "tsv"
        counts = project(
            self.labels,
            self.translation,
            folder / f"{self.language}.{ending}",
            progress=report,
            target_language=self.language,
            **self.options,
        )
        report.note(counts.summary())
        return {"projected": counts.summary()}
