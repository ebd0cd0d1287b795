"""Options of evaluations."""

from pathlib import Path

from pydantic import field_validator

from isoglot.core.options import Options, Precision, name_of_torch, option


class MeasureOptions(Options):
    """Options of the measurement itself: batches, precision, and the name of the run in rows of results."""

    run: str | None = option(None, "Name of the run in results; by default the checkpoint's.")
    max_tokens: int | None = option(
        None, "Padded tokens in a batch; by default 1024 on a CPU, 8192 elsewhere.", ge=1
    )
    precision: Precision = option(
        "float32", "Numbers to compute in; bfloat16 and float16 are faster on GPUs."
    )
    # torch.bfloat16 counts as bfloat16.
    _precision_from_torch = field_validator("precision", mode="before")(name_of_torch)
    again: bool = option(False, "Measure again, even if the file of results has the row.")


class EvaluateOptions(MeasureOptions):
    """Options of an evaluation: how to compute, and which files to write."""

    out: Path | None = option(None, "File of results; what it already has is not measured again.")
    predictions: Path | None = option(
        None, "Folder for one model's predictions, in XTREME's submission format."
    )
    language_ids: dict[str, int] | None = option(
        None, "Ids of the checkpoint's language embeddings, in place of those it was trained with."
    )
