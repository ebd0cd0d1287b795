"""``isoglot score``: links against gold links, and an encoder's layers against them."""

from pathlib import Path

from isoglot.aligners.embedding.options import MEASURED
from isoglot.aligners.options import FileScoring, Gold, LayerScoring
from isoglot.aligners.scoring import FIGURES, ScoreReport, score_sentences
from isoglot.errors import ConfigurationError
from isoglot.formats.link_files import LinkReader
from isoglot.link_counts import AlignmentScore
from isoglot.runs.files import write_text


def score_file(gold: Gold, options: FileScoring) -> ScoreReport:
    """Score a file of links, one sentence at a time."""
    return score_sentences(
        LinkReader(options.links, name=options.format, base=options.base, reverse=options.reverse),
        LinkReader(gold.gold, name=gold.gold_format, base=gold.gold_base, gold=True),
        each=options.sentences is not None,
    )


def write_sentences(report: ScoreReport, path: Path) -> None:
    """One sentence a line: name, precision, recall, F1, AER (in %), links, sure links; with tabs and a header."""
    lines = ["\t".join(("sentence", *FIGURES))]
    lines += [
        f"{name}\t{s.precision:.2f}\t{s.recall:.2f}\t{s.f1:.2f}\t{s.aer:.2f}\t{s.links}\t{s.sure}"
        for name, s in report.sentences
    ]
    write_text(path, "\n".join(lines) + "\n")


def score_layers(gold: Gold, chosen: LayerScoring) -> list[tuple[int, AlignmentScore]]:
    """AER of an encoder's layers on gold data that holds the words (XLM-Align, Fig. 2)."""
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.aligners.embedding.layer_error import layer_error  # noqa: PLC0415
    from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415

    pairs = gold_pairs(gold.gold, limit=None, name=gold.gold_format, base=gold.gold_base)
    unset = {name: value for name, value in MEASURED.items() if name not in chosen.options.model_fields_set}
    aligner = EmbeddingAligner(chosen.model, options=chosen.options.model_copy(update={"layer": 0, **unset}))
    return list(layer_error(aligner, pairs, layers=layer_numbers(chosen.layers)).items())


def layer_numbers(text: str) -> list[int] | None:
    """Layers as the command line gives them: ``None`` for ``all``."""
    try:
        return None if text == "all" else [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"--layers must be `all` or numbers such as 4,8,12, got {text!r}") from None
