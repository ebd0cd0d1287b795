"""Encoders: ``isoglot trim``, ``pack``, ``export``, ``init``, ``recipes``, ``inspect`` and ``pretrain``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from isoglot.cli.console import Console, print_table
from isoglot.cli.flags import (
    KEEP_ADAPTER,
    CompareFlags,
    RemakeFlags,
    ReplaceFlags,
    RunFlags,
    with_flags,
)
from isoglot.cli.tasks import Checkpoint
from isoglot.core.options import Options, option
from isoglot.formats.sources import Reading
from isoglot.pretraining.options import PretrainRequest, SentenceExport, TrimRequest
from isoglot.runs.files import file_to_write


@with_flags
def trim(
    checkpoint: Checkpoint,
    request: TrimRequest,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    running: RemakeFlags,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="More text; so --text data/*.tsv.gz takes all files of a pattern."
        ),
    ] = None,
) -> None:
    """Shrink an encoder to the vocabulary that your text needs.

    Most of a multilingual encoder is its vocabulary. Without the pieces of other languages it takes less memory and
    trains faster. Your text is cut into the same pieces as before, and each has the same hidden states and masked-LM
    logits. Special tokens and the characters of your text always stay, so that no other text in these scripts becomes
    unknown. Other text loses pieces that it needs. If the estimate for ten times the text is far above the number
    kept, give more text.

    isoglot trim xlm-roberta-base --text en-de.tsv.gz --held-out dev.txt --out encoders/en-de
    """
    from isoglot.pretraining.trim import trim as run

    # The shell expands a pattern: --text gets its first file, the others arrive here as arguments.
    request = request.model_copy(update={"text": (*request.text, *(more or ()))})
    with Console(quiet=running.quiet) as console:
        trimmed = run(checkpoint, out, request, overwrite=running.overwrite, progress=console)
        if trimmed.skipped:
            console.note(f"nothing to do: {out} holds this trimmed encoder already")
    if running.quiet:
        return
    pieces_before, pieces_kept = trimmed.pieces
    typer.echo(f"pieces: {pieces_before:,} -> {pieces_kept:,}")
    if trimmed.tenfold > pieces_kept:
        # To two digits: 12,345 is about 12,000.
        about = round(trimmed.tenfold, 2 - len(str(trimmed.tenfold)))
        typer.echo(f"estimate: ten times as much text of this kind would keep about {about:,} pieces")
    parameters_before, parameters_kept = trimmed.parameters
    typer.echo(f"parameters: {parameters_before:,} -> {parameters_kept:,}")
    if trimmed.held_out is not None:
        tokens, changed = trimmed.held_out
        share = f" ({100 * changed / tokens:.2f}%)" if tokens else ""
        typer.echo(f"held-out text: {changed:,} of {tokens:,} tokens cut differently{share}")
    typer.echo(str(trimmed.path))


@with_flags
def pack(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Checkpoint or run whose layer is chosen; or a packed aligner, to unpack it.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, or the folder to unpack into.")],
    running: ReplaceFlags,
    sentences: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Encoder with the same lower layers, whose upper ones give sentence vectors: kept in a second file.",
        ),
    ] = None,
) -> None:
    """Store an aligner in one small file that is easy to share.

    isoglot pack runs/aligner --out aligner.safetensors

    The file can be given wherever a command takes an encoder: `isoglot align --model aligner.safetensors`. To unpack
    such a file, or the aligner that comes with isoglot, which is called box:

    isoglot pack box --out encoders/box

    The file holds the tokenizer, the layers up to the one that is read, and the method. Weights are stored in 8 bits,
    embeddings in 4 where they were published so.
    """
    from isoglot.aligners.embedding.packing import pack as run

    with Console(quiet=running.quiet):
        run(model, out, sentences=sentences, overwrite=running.overwrite)
    if not running.quiet:
        typer.echo(str(out))


@with_flags
def export(
    checkpoint: Checkpoint,
    request: SentenceExport,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    running: RemakeFlags,
) -> None:
    """Save an encoder for sentence-transformers or ONNX.

    The vectors are those that `isoglot evaluate` measures with the same --layer and --pooling. With --to onnx,
    model.onnx maps input_ids and attention_mask to token_embeddings and sentence_embedding.

    isoglot export RUN --to sentence-transformers --layer 8 --out encoders/sentences

    isoglot export RUN --to onnx --layer 8 --out encoders/onnx
    """
    from isoglot.pretraining.sentence_export import export_sentences

    with Console(quiet=running.quiet) as console:
        if not export_sentences(checkpoint, out, request, overwrite=running.overwrite):
            console.note(f"nothing to do: {out} holds this export already")
    if not running.quiet:
        typer.echo(str(out))


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
    out: Annotated[
        Path, typer.Option("--out", "-o", parser=file_to_write, metavar="PATH", help="Recipe to write.")
    ] = Path("recipe.yaml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Write a training recipe (YAML) for your files and encoder.

    isoglot init en-de.tsv --model xlm-roberta-base --source-lang en --target-lang de

    Read recipe.yaml and change what you like, then train:

    isoglot pretrain recipe.yaml --out runs/mine

    The recipe trains the encoder to guess masked words from the sentence and its translation (translation language
    modelling, TLM). Training for sentence retrieval and for word alignment is in it as comments.
    """
    from isoglot.pretraining.new_recipe import init as run

    with Console():
        languages = (source_language, target_language)
        given = reading.model_dump(exclude_unset=True)
        written = run(inputs, out, model=model, languages=languages, overwrite=overwrite, **given)
    typer.echo(f"wrote {written}; look at it, then: isoglot pretrain {written} --out runs/{written.stem}")


def recipes(
    name: str | None = typer.Argument(None, metavar="NAME", help="Print this recipe instead of the list."),
    objectives: bool = typer.Option(False, "--objectives", help="List the objectives and their options."),
    views: bool = typer.Option(False, "--views", help="List the views and their options."),
) -> None:
    """List the recipes that come with isoglot, or print one.

    isoglot recipes

    Save one under another name and change it:

    isoglot recipes tlm > mine.yaml

    A recipe is made of views (what the encoder sees of a sentence pair) and objectives (what it learns from them). To
    list both with their options:

    isoglot recipes --views --objectives
    """
    if objectives or views:
        from isoglot.cli.option_list import constructor_list

        sections = [section for section, listed in (("views", views), ("objectives", objectives)) if listed]
        typer.echo("\n\n".join(constructor_list(section) for section in sections))
        return
    from isoglot.recipe.source import builtin_recipes, find

    if name is not None:
        typer.echo(find(name).read_text(encoding="utf-8"), nl=False)
        return
    known = builtin_recipes()
    width = max(map(len, known), default=0)
    for key, path in known.items():
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        typer.echo(f"{key:{width}}  {first.removeprefix('#').strip()}")


class RecipeChanges(Options):
    """The flag that replaces values of a recipe.

    Every command that takes a recipe has it: error messages know these commands by the field ``overrides``.
    """

    overrides: tuple[str, ...] = option(
        (),
        "Replace a value of the recipe: --set train.learning_rate=5e-5; repeatable.",
        flags=["--set"],
        metavar="KEY=VALUE",
    )


class PositionRange(Options):
    """Flags for which training examples are shown."""

    count: int = option(2, "How many examples to show of each view.", flags=["--count", "-n"], ge=1)
    start: int = option(0, "The first example to show, counted from 0.", ge=0)


_Recipe = Annotated[
    str, typer.Argument(metavar="RECIPE", help="YAML file, or name of a recipe that `isoglot recipes` lists.")
]


@with_flags
def pretrain(  # noqa: PLR0917 - the command line gives them by name
    recipe: _Recipe,
    changes: RecipeChanges,
    request: PretrainRequest,
    running: CompareFlags,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run, or of all runs; required without --check."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue the unfinished run in the folder; several runs always do."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run of another recipe, other data or other code.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the recipe and print every value that it will use.")
    ] = False,
    keep_adapter: Annotated[bool, typer.Option("--keep-adapter", help=KEEP_ADAPTER)] = False,
) -> None:
    """Start or continue the training of an encoder by a recipe.

    On your own bitext (English, tab, German), from multilingual BERT:

    isoglot pretrain tlm --set streams.bitext.path=en-de.tsv --out runs/tlm

    Raw files that the recipe names are prepared, tokenised and cached on the way. The checkpoint is written to
    OUT/checkpoint; plain transformers loads it. A finished run is not run again.

    Several seeds, or several values of a setting, make a run each in a folder of OUT:

    isoglot pretrain RECIPE --sweep objectives.contrast.layer=4,6,8 --seed 1,2,3 --workers 3 --out runs/layers

    To look before you train, `isoglot pretrain tlm --check` prints every value, `isoglot inspect tlm` what the model
    will see, and `isoglot recipes --objectives --views` what a recipe can be made of.

    With several devices: torchrun --nproc-per-node 2 -m isoglot.cli pretrain RECIPE --out DIR
    """
    from isoglot.pretraining.api import pretrain as run

    if check:
        _print_recipes(recipe, changes.overrides, request, keep_adapter=keep_adapter)
        return
    if out is None:
        raise typer.BadParameter("a folder for the run is needed; add --out runs/NAME", param_hint="--out")
    asked = dict(request)
    # A number is the seed of one run, in OUT itself; several seeds are runs in folders of OUT.
    if request.seed is not None and len(request.seed) == 1:
        asked["seed"] = request.seed[0]
    with Console(quiet=running.quiet) as console:
        made: Any = run(
            recipe, out, overrides=changes.overrides, keep_adapter=keep_adapter, resume=resume, overwrite=overwrite,
            progress=console, **asked,
        )  # fmt: skip
    # Under torchrun every process comes here; only the first one prints.
    if os.environ.get("RANK", "0") == "0":
        for checkpoint in made if isinstance(made, list) else [made]:
            typer.echo(str(checkpoint))


def _print_recipes(
    recipe: str, overrides: Sequence[str], request: PretrainRequest, *, keep_adapter: bool
) -> None:
    """Print every value of the recipe of each run; several runs have their folders as comments above."""
    from isoglot.pretraining.api import checked_recipes
    from isoglot.pretraining.build import explicit
    from isoglot.recipe.document import dump_yaml
    from isoglot.runs.sweep import planned_runs

    runs = planned_runs("OUT", request.sweep, request.seed or [None])
    recipes = checked_recipes(recipe, runs, overrides, keep_adapter=keep_adapter)
    for run, checked in zip(runs, recipes, strict=True):
        if run.label:
            # Without --seed the label ends in a seed that nobody gave.
            typer.echo(f"# {run.label.removesuffix('/seed-None')}")
        seed = {} if run.seed is None else {"seed": run.seed}
        typer.echo(dump_yaml(explicit(checked.model_copy(update=seed))), nl=False)


@with_flags
def inspect(recipe: _Recipe, changes: RecipeChanges, positions: PositionRange, running: RunFlags) -> None:
    """Show the masked words and labels that a recipe trains on.

    isoglot inspect recipe.yaml

    One table per training example, exactly as training on one device sees it, a line for each piece of a word. `input`
    is what the encoder gets (= where it is the piece itself), `predict` what it has to predict there, and `links` the
    positions of the translations. A table has only the columns that the view makes: without `position` the model counts
    through the sequence, without `language` it gets no language ids.
    """
    from isoglot.pretraining.check import load_recipe
    from isoglot.pretraining.inspect import inspect_recipe, table

    loaded = load_recipe(recipe, changes.overrides)
    with Console(quiet=running.quiet) as console:
        instances = inspect_recipe(loaded, positions=positions.count, start=positions.start, progress=console)
    for number, instance in enumerate(instances):
        if number:
            typer.echo()
        typer.echo(
            f"position {instance.position}, view {instance.view} ({instance.type}) of stream {instance.stream}: "
            f"{len(instance.rows)} pieces, {instance.masked} to predict"
        )
        print_table(*table(instance))
