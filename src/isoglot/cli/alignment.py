"""``isoglot align``, ``score``, ``tune`` and ``merge``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.aligners.embedding.choice import RatedChoice, choice_file
from isoglot.aligners.embedding.options import METHODS
from isoglot.aligners.options import (
    STATISTICAL,
    Eflomal,
    Encoder,
    FastAlign,
    FileScoring,
    Gold,
    Hmm,
    LayerScoring,
    LinkFormat,
    ModelScoring,
    SavedModel,
    layer_numbers,
    scoring_of,
)
from isoglot.cli.console import Console
from isoglot.cli.flags import RemakeFlags, ReplaceFlags, ResumeFlags, RunFlags, SideLanguages, with_flags
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, option, settings_option
from isoglot.formats.sources import PairReading
from isoglot.runs.files import refuse_overwriting, require_writable

if TYPE_CHECKING:
    from isoglot.aligners.scoring import ScoreReport
    from isoglot.results.link_counts import AlignmentScore


Bitext = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="Two files (line i translates line i), or one of `source ||| target` lines, TSV, JSONL, TMX or "
        "Parquet; a folder that `isoglot prepare` wrote; - for standard input.",
    ),
]
_FEW = 0.6
"""A development set has few links per word if it has less than this share of what another set has."""
_CHOSEN_BY_TUNE = {"model", "tokenizer", "gold", "weights", "layers", "candidates", "with_best", "progress"}
"""Arguments of the functions behind `isoglot tune` that the command gives itself, so that ``--set`` must not."""


class MethodSettings(Options):
    """Options of an aligner that have no flag of their own."""

    settings: dict[str, Any] = settings_option(
        "Another option of the method: --set level=word; repeatable. With an encoder also encode=joint; argmax, "
        "itermax and match have distortion=0.5, softmax threshold=0.1, ot iterations=2 and links=itermax, eflomal "
        "program=PATH."
    )


class TuneFlags(Options):
    """Options that all methods have that `isoglot tune` tries."""

    settings: dict[str, Any] = settings_option(
        "An option of all methods that are tried: --set level=word; repeatable: encode=joint, device=cuda."
    )


class Method(Options):
    """The flag that chooses an aligner."""

    method: str | None = option(
        None,
        f"How links are found. With an encoder: {', '.join(METHODS)} (default: what suits --model best). Learning from "
        "the bitext: "
        f"{', '.join(STATISTICAL)}. Your own class: package.module:Name.",
        flags=["--method", "-m"],
    )


class LinkMethod(Options):
    """The flag that chooses the method of an encoder."""

    method: str | None = option(
        None, f"How an encoder's links are chosen: {', '.join(METHODS)}.", flags=["--method", "-m"]
    )


class BitextReading(PairReading, SideLanguages):
    """Flags for how sentence pairs are read, and for their languages; of `isoglot align` and `isoglot filter`."""


def _list_methods(listed: bool) -> None:
    if listed:
        for name, what in STATISTICAL.items():
            typer.echo(f"{name:12s} {what}")
        for name, what in METHODS.items():
            typer.echo(f"{name:12s} with an encoder: {what}")
        raise typer.Exit


@with_flags
def align(
    *,
    inputs: Bitext,
    options: Annotated[dict[str, Any], Method, FastAlign, Hmm, SavedModel, Eflomal, Encoder, MethodSettings],
    form: LinkFormat,
    sides: BitextReading,
    running: RemakeFlags,
    stopped: ResumeFlags,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="File to write; a file that is there is replaced. A folder with --format corpus.",
        ),
    ] = "-",
    methods: Annotated[
        bool,
        typer.Option(
            "--methods", is_eager=True, callback=_list_methods, help="List what --method can be, and exit."
        ),
    ] = False,
) -> None:
    """Find which word translates which in sentence pairs.

    With the aligner that comes with isoglot, for English and 64 other languages (isoglot/models/box.md lists them):

    isoglot align en.txt de.txt -o links.txt

    With an aligner that learns from the sentence pairs themselves, for many of them or for any other language:

    isoglot align en.txt de.txt -m hmm -o links.txt

    With another encoder, here multilingual BERT:

    isoglot align pairs.txt -m itermax --model bert-base-multilingual-cased -o links.txt

    The output has a line for each input line: `0-0 1-2` links the first words of both sides, and the second word with
    the third. A pair that cannot be aligned gets an empty line and a warning on standard error.

    A run of `-o FILE` that was stopped goes on with --resume. From a pipe, results are written as lines come:

    tail -f new.tsv | isoglot align - --input-format tsv
    """
    from isoglot.aligners.align_file import align_file
    from isoglot.aligners.load_aligner import aligner_request
    from isoglot.corpus.open_corpus import corpus_sources

    request = aligner_request(**options)
    # `sides.reading` has the values of the reading flags (columns, formats), `tags_or_unnamed` the two language codes.
    sources = corpus_sources(inputs, languages=sides.tags_or_unnamed, **sides.reading)
    with Console(quiet=running.quiet) as console:
        if isinstance(request, Encoder) and "method" not in options:
            console.note(f"method: {request.options.method} (--method chooses another; --methods lists them)")
        align_file(
            sources,
            out,
            request,
            form,
            progress=console,
            # For a corpus folder and a saved model; a file of links is always replaced.
            overwrite=running.overwrite,
            resume=stopped.resume,
        )


@with_flags
def score(
    *,
    gold: Gold,
    options: Annotated[dict[str, Any], FileScoring, ModelScoring, LayerScoring, LinkMethod, MethodSettings],
    links: Annotated[
        str | None,
        typer.Argument(
            metavar="LINKS",
            help="File of links, or - for standard input; without one, --model aligns the words of the gold file.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; rates in %.")] = False,
) -> None:
    """Compare word links with links made by hand.

    Prints precision, recall, F1 and alignment error rate (AER). A file of links:

    isoglot score links.txt --gold gold.txt

    The aligner that comes with isoglot, or one that `isoglot align --save` wrote, on the words of the gold file:

    isoglot score --gold gold.jsonl

    isoglot score --gold gold.jsonl --model models/hmm

    An encoder, layer by layer:

    isoglot score --gold gold.jsonl --model xlm-roberta-base --layers all

    Every sure link is also a possible one, whether the file repeats it or not. A warning says if a file seems to count
    words from another number, or to have its sides exchanged.
    """
    if links is not None:
        options["links"] = links
    chosen = scoring_of(**options)
    # An encoder is scored layer by layer. The aligner that comes with isoglot is one too, with one layer.
    if isinstance(chosen, LayerScoring):
        if "method" not in options:
            typer.echo(f"method: {chosen.options.method} (--method chooses another)", err=True)
        from isoglot.aligners.embedding.score_layers import score_layers

        with Console():
            rows = score_layers(gold, chosen)
        _print_layers(rows, as_json)
        return
    if chosen.sentences is not None:
        scored = chosen.model if isinstance(chosen, ModelScoring) else chosen.links
        refuse_overwriting(chosen.sentences, [scored, gold.gold])
        require_writable(chosen.sentences)
    from isoglot.aligners.scoring import score_file, score_model, write_sentences

    with Console():
        report = score_model(gold, chosen) if isinstance(chosen, ModelScoring) else score_file(gold, chosen)
    try:
        if chosen.sentences is not None:
            write_sentences(report, chosen.sentences)
    finally:
        _print_score(report, as_json)


def _print_score(report: ScoreReport, as_json: bool) -> None:
    """Print the rates of a file or a model as a table with one line, or as a JSON object."""
    if as_json:
        typer.echo(json.dumps(report.summary()))
    else:
        typer.echo("precision  recall     F1    AER  sentences")
        total = report.total
        rates = (total.precision, total.recall, total.f1, total.aer)
        cells = [f"{rate:.2f}" for rate in rates]
        typer.echo(f"{cells[0]:>9s} {cells[1]:>7s} {cells[2]:>6s} {cells[3]:>6s}  {report.count:,}")
    if report.hint:
        typer.secho(f"Warning: {report.hint}", err=True, fg=typer.colors.YELLOW, bold=True)


@with_flags
def tune(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="Folder of a checkpoint or a run.")],
    gold: Annotated[
        list[str],
        typer.Option(
            "--gold",
            "-g",
            help="Development links, repeatable: JSON lines with words, or a folder of `isoglot align --format "
            "corpus`, whose links then stand in for gold ones. FILE=3 weighs three times as much in the mean.",
        ),
    ],
    options: Annotated[dict[str, Any], TuneFlags],
    running: RunFlags,
    layers: Annotated[str, typer.Option(help="Layers to try: all, or numbers such as 6,7,8.")] = "all",
) -> None:
    """Find an encoder's best layer and method for linking words.

    isoglot tune runs/aligner --gold dev.en-de.jsonl --gold dev.en-ja.jsonl

    Tries argmax, itermax and softmax with several thresholds at each layer. With the best of them it tries whether
    words without a link should take the links of a neighbour. The choice with the lowest mean alignment error rate is
    kept in aligner.json beside the weights, where `isoglot align --model` finds it. Of a folder the first 500 pairs
    are used. Settings for close languages may leave distant ones almost without links: check the recall of each set,
    and include one for each kind of language that you will align.
    """
    from isoglot.aligners.gold import gold_pairs
    from isoglot.aligners.tuning import require_different
    from isoglot.aligners.tuning import tune as run

    require_writable(choice_file(encoder))
    weighted = list(map(_weighted, gold))
    require_different(name for name, _ in weighted)
    weights = dict(weighted)
    sets = {name: gold_pairs(name) for name in weights}
    with Console(quiet=running.quiet) as console:
        for name, pairs in sets.items():
            console.note(f"{name}: {len(pairs):,} pairs")
        if twice := sorted(set(options) & _CHOSEN_BY_TUNE):
            raise ConfigurationError(f"--set {twice[0]}: this command gives it itself; leave it out")
        tuned = run(encoder, sets, weights=weights, layers=layer_numbers(layers), progress=console, **options)
        best, density = tuned.best, tuned.density
        # The choice is kept before the tables are printed: whoever reads them through a pipe may close it.
        try:
            place = tuned.keep()
        finally:
            _print_tried(tuned.table[:5])
            typer.echo("\n     AER  precision  recall  links per word  development set")
            for name, score in best.scores.items():
                rates = f"{score.aer:8.2f}  {score.precision:9.2f}  {score.recall:6.2f}"
                typer.echo(f"{rates}  {density[name]:14.2f}  {name}")
    most = max(density.values())
    for name, value in density.items():
        if value < _FEW * most:
            typer.secho(
                f"Warning: {name}: {value:.2f} links per word, elsewhere up to {most:.2f}; if its "
                f"recall matters, weigh it more (--gold {name}=3) or tune a copy of the encoder for it alone",
                err=True, fg=typer.colors.YELLOW, bold=True,
            )  # fmt: skip
    typer.echo(str(place))


@with_flags
def merge(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", help="Folders that `isoglot align --save` wrote; two or more."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    running: ReplaceFlags,
) -> None:
    """Combine aligners that learned from parts of a large text.

    For text that does not fit into the memory of one machine, or to train on several machines. The models' counts of
    word pairs are added. All parts need the same method and options:

    isoglot align part-1.tsv -m hmm --save models/1 -o links-1.txt

    isoglot merge models/1 models/2 models/3 --out models/all

    isoglot align more.tsv --load models/all -o links.txt

    For a model that is closer to one of the whole text, train again from the merged model and merge again:

    isoglot align part-1.tsv -m hmm --start models/all --set iterations=1 --save again/1 -o links-1.txt
    """
    from isoglot.aligners.statistical.merging import merge as run
    from isoglot.aligners.statistical.methods import require_replaceable
    from isoglot.runs.fingerprint import fingerprint, key_of

    refuse_overwriting(out, models)
    require_writable(out, folder=True)
    made_from = key_of(sorted(fingerprint(model) for model in models if Path(model).exists()))
    require_replaceable(out, None if running.overwrite else made_from)
    with Console(quiet=running.quiet) as console:

        def read() -> Iterator[str]:
            for number, name in enumerate(models):
                console.progress("models", number, len(models))
                yield name

        merged = run(read())
        merged.save(out, made_from=made_from)
        pairs = len(merged.trained().word_pairs[0])
        console.note(f"{len(models):,} models merged, {pairs:,} word pairs: {out}")


def _weighted(text: str) -> tuple[str, float]:
    """Split the value of ``--gold`` into a file and its weight in the mean: ``dev.jsonl=3``, or ``dev.jsonl`` (1).

    A text with ``=`` that is the name of an existing file is a file.
    """
    name, equals, weight = text.rpartition("=")
    if not equals or Path(text).exists():
        return text, 1.0
    try:
        value = float(weight)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ConfigurationError(
            f"--gold {text}: the weight must be a number above 0, got {weight!r}; write for example {name}=3"
        )
    return name, value


def _print_tried(tried: Sequence[RatedChoice]) -> None:
    typer.echo("mean AER  layer  method")
    for choice, aer, _ in tried:
        others = [f"{name}={value}" for name, value in choice.items() if name not in ("layer", "method")]
        typer.echo(" ".join([f"{aer:8.2f}  {choice['layer']:5d}  {choice['method']}", *others]))


def _print_layers(rows: Sequence[tuple[int, AlignmentScore]], as_json: bool) -> None:
    """Print the rates of an encoder as a table with a line for each layer, or as a JSON list of an object for each."""
    if as_json:
        objects = []
        for layer, total in rows:
            objects.append({"layer": layer, **total.to_dict()})
        typer.echo(json.dumps(objects))
        return
    typer.echo("layer  precision  recall     F1    AER")
    for layer, total in rows:
        typer.echo(f"{layer:5d} {total.precision:10.2f} {total.recall:7.2f} {total.f1:6.2f} {total.aer:6.2f}")
