"""``isoglot init``: a first recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.flags import with_flags
from isoglot.corpus.read.sources import Reading


@with_flags
def init(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT", help="Two files (line i translates line i), or TSV, CSV, JSONL, TMX, Parquet."
        ),
    ],
    model: Annotated[str, typer.Option("--model", help="Encoder to continue: folder or hub name.")],
    source_language: Annotated[
        str, typer.Option("--source-lang", "--source-language", help="Language of the source side: en.")
    ],
    target_language: Annotated[
        str, typer.Option("--target-lang", "--target-language", help="Language of the target side: de.")
    ],
    reading: Reading,
    out: Annotated[Path, typer.Option("--out", "-o", help="Recipe to write.")] = Path("recipe.yaml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Write a recipe for your files and encoder, with comments.

    isoglot init en-de.tsv --model xlm-roberta-base --source-lang en --target-lang de

    isoglot pretrain recipe.yaml --out runs/mine

    It trains masked words that may look at their translation (TLM); sentence retrieval and word alignment stand in it
    as comments.
    """
    from isoglot.cli.console import Console
    from isoglot.pretraining.new_recipe import new_recipe

    with Console():
        written = new_recipe(
            inputs,
            out,
            encoder=model,
            languages=(source_language, target_language),
            reading=reading.model_dump(exclude_unset=True),
            overwrite=overwrite,
        )
    typer.echo(f"wrote {written}; look at it, then: isoglot pretrain {written} --out runs/{written.stem}")
