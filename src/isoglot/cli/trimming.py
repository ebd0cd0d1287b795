"""``isoglot trim``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Replacing
from isoglot.pretraining.trim_options import TrimRequest


@with_flags
def trim(
    encoder: Annotated[
        str, typer.Argument(metavar="ENCODER", help="Folder of a checkpoint or a run, or hub name.")
    ],
    request: TrimRequest,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    running: Replacing,
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="More text, as a shell fills in --text data/*.tsv.gz."),
    ] = None,
) -> None:
    """Reduce an encoder's vocabulary to the pieces that your text uses.

    Most of a multilingual encoder is its vocabulary. Without the pieces of other languages it takes less memory and
    trains faster. Your text is cut into the same pieces as before, and each has the same hidden states and masked-LM
    logits. Special tokens and the characters of your text always stay, so that no other text in these scripts becomes
    unknown.

    isoglot trim xlm-roberta-base --text en-de.tsv.gz --held-out dev.txt --out encoders/en-de
    """
    from isoglot.cli.console import Console
    from isoglot.pretraining.trim import trim as run

    request = request.model_copy(update={"text": (*request.text, *(more or ()))})
    with Console(quiet=running.quiet) as console:
        done = run(encoder, out, request, overwrite=running.overwrite, progress=console)
        if done.skipped:
            console.note(f"nothing to do: {out} holds this trimmed encoder already")
    if running.quiet:
        return
    typer.echo(f"pieces: {done.pieces[0]:,} -> {done.pieces[1]:,}")
    typer.echo(f"parameters: {done.parameters[0]:,} -> {done.parameters[1]:,}")
    if done.held_out is not None:
        tokens, changed = done.held_out
        share = f" ({100 * changed / tokens:.2f}%)" if tokens else ""
        typer.echo(f"held-out text: {changed:,} of {tokens:,} tokens cut differently{share}")
    typer.echo(str(done.path))
