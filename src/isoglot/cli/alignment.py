"""``isoglot align`` and ``isoglot score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from isoglot.cli.settings import parse_settings

__all__ = ["align", "score"]

_READING, _EMBEDDING, _STATISTICAL, _WRITING, _SCALE = (
    "How to read", "With an encoder", "Learning from the bitext", "How to write", "On many machines",
)  # fmt: skip


def _list_methods(wanted: bool) -> None:
    if not wanted:
        return
    from isoglot.align.embedding.options import METHODS as EMBEDDING
    from isoglot.align.statistical.eflomal import METHOD as EFLOMAL
    from isoglot.align.statistical.methods import METHODS as STATISTICAL

    for name in STATISTICAL:
        typer.echo(f"{name:12s} statistical: learns from the bitext")
    typer.echo(f"{EFLOMAL:12s} statistical: the external program, if it is installed (pip install eflomal)")
    for name, what in EMBEDDING.items():
        typer.echo(f"{name:12s} with --model: {what}")
    raise typer.Exit


def align(  # noqa: PLR0917 - one parameter a flag
    inputs: list[str] = typer.Argument(
        ...,
        metavar="INPUT",
        help="Two files (line i translates line i), or one of `source ||| target` lines, TSV, JSONL, TMX or Parquet; "
        "a folder that `isoglot prepare` wrote; - for standard input.",
    ),
    out: str = typer.Option("-", "--out", "-o", help="File to write, or a folder with --format corpus."),
    method: str | None = typer.Option(
        None,
        "--method",
        "-m",
        help="Without an encoder: fast_align (the default), hmm (the most accurate), eflomal (if installed). With "
        "--model: itermax (the default), argmax, "
        "match, forward, backward (SimAlign), softmax, entmax (awesome-align), ot (XLM-Align), pointer. "
        "What each does: `isoglot align --methods`.",
    ),
    methods: bool = typer.Option(
        False, "--methods", is_eager=True, callback=_list_methods, help="List the methods."
    ),
    model: str | None = typer.Option(
        None, help="Folder or hub name of the encoder.", rich_help_panel=_EMBEDDING
    ),
    layer: int | None = typer.Option(
        None, help="Hidden states to compare: 0 = embeddings, 8 by default.", rich_help_panel=_EMBEDDING
    ),
    precision: str = typer.Option(
        "auto",
        help="float32, bfloat16, float16, or auto: bfloat16 where the hardware computes in it.",
        rich_help_panel=_EMBEDDING,
    ),
    device: str = typer.Option("auto", help="cpu, cuda, cuda:1, …", rich_help_panel=_EMBEDDING),
    settings: list[str] = typer.Option(
        None,
        "--set",
        metavar="KEY=VALUE",
        help="Any other option of the method; can be given several times. With an encoder: level=word, encode=joint, "
        "distortion=0.5, threshold=0.1, links=itermax, iterations=2, max_tokens=4096 and the rest of "
        "EmbeddingOptions. hmm: threshold=0.5 (of agreement). eflomal: program=PATH.",
    ),
    min_probability: float | None = typer.Option(
        None, help="Leave out links below this probability.", rich_help_panel=_WRITING
    ),
    min_score: float | None = typer.Option(
        None,
        help="Abstain: leave the line of a pair empty whose score (mean over its words of the best link's "
        "probability) is below.",
        rich_help_panel=_WRITING,
    ),
    symmetrise: str | None = typer.Option(
        None,
        help="intersect, union, grow-diag, grow-diag-final, grow-diag-final-and or, for methods with posteriors, "
        "agreement; by default the method's own.",
        rich_help_panel=_STATISTICAL,
    ),
    lowercase: bool = typer.Option(False, help="Compare words without case.", rich_help_panel=_STATISTICAL),
    train_on: list[str] = typer.Option(
        None,
        help="More bitext to learn from (`source ||| target` or TSV); it is not written.",
        rich_help_panel=_STATISTICAL,
    ),
    load: Path | None = typer.Option(
        None,
        help="Align with a saved model instead of learning from the input.",
        rich_help_panel=_STATISTICAL,
    ),
    save: Path | None = typer.Option(
        None, help="Keep the model in this folder.", rich_help_panel=_STATISTICAL
    ),
    lexicon: Path | None = typer.Option(
        None,
        help="Write the translation table here: source, target, probability.",
        rich_help_panel=_STATISTICAL,
    ),
    words: str = typer.Option(
        "whitespace",
        help="whitespace for tokenised text; unicode for running text (Han, Kana and Thai by character).",
        rich_help_panel=_READING,
    ),
    source_language: str | None = typer.Option(
        None, "--source-lang", help="Language of the source side.", rich_help_panel=_READING
    ),
    target_language: str | None = typer.Option(
        None, "--target-lang", help="Language of the target side.", rich_help_panel=_READING
    ),
    input_format: str | None = typer.Option(
        None,
        "--input-format",
        help="moses, bars (|||), tsv, jsonl, …; told from the file name by default.",
        rich_help_panel=_READING,
    ),
    output: str = typer.Option(
        "pharaoh",
        "--format",
        "-f",
        help="pharaoh, talp, alignv2, naacl, jsonl (words, probabilities, score), offsets (characters of the text), "
        "words, or corpus: a folder that recipes read with `kind: aligned` (links only, no probabilities).",
        rich_help_panel=_WRITING,
    ),
    base: int | None = typer.Option(
        None, min=0, max=1, help="Count words from 0 or 1.", rich_help_panel=_WRITING
    ),
    reverse: bool = typer.Option(False, help="Write the target side first.", rich_help_panel=_WRITING),
    engine: str = typer.Option(
        "local",
        help="local, or ray: the parts of a prepared folder on all machines of a Ray cluster (RAY_ADDRESS; without it "
        "on this one). A run that died goes on where it stood.",
        rich_help_panel=_SCALE,
    ),
    workers: int | None = typer.Option(
        None, help="With --engine ray: how many encoders work at a time.", rich_help_panel=_SCALE
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Link the words of sentence pairs.

    Without an encoder the aligner learns from the input itself:

    isoglot align en.txt de.txt -m fast_align -o links.txt

    With an encoder any amount of text streams through, in constant memory:

    isoglot align pairs.txt -m itermax --model bert-base-multilingual-cased -o links.txt

    Every input line has its line in the output: what cannot be aligned is left empty and named on standard error.
    """
    del methods
    from isoglot.align.align_file import AlignRequest, align_file
    from isoglot.align.embedding.options import METHODS
    from isoglot.align.files.pairs import bitext_sources
    from isoglot.cli.console import Console
    from isoglot.errors import ConfigurationError

    assumed = method is None and model is not None
    method = method or ("itermax" if assumed else "fast_align")
    options = aligner_settings(settings)
    if method in METHODS:
        options |= {"dtype": precision, "device": device} | ({} if layer is None else {"layer": layer})
    elif unused := [
        flag
        for flag, given in (("--layer", layer is not None), ("--precision", precision != "auto"),
                            ("--device", device != "auto"))
        if given
    ]:  # fmt: skip
        raise ConfigurationError(
            f"{', '.join(unused)} given, but method {method} uses no encoder; leave it out, or give --model and one "
            f"of {', '.join(METHODS)}"
        )
    languages = [source_language or "src", target_language or "tgt"]
    sources = bitext_sources(inputs, languages=languages, file_format=input_format)
    more = [source for path in train_on or () for source in bitext_sources([path], languages=languages)]
    request = AlignRequest(
        method=method, model=model, options=options, words=_mode(words), symmetrisation=symmetrise,
        lowercase=lowercase, load=load, save=save, also_train_on=tuple(more), lexicon=lexicon,
        min_probability=min_probability, min_score=min_score, output=output,
        base=base, reverse=reverse, engine=engine, workers=workers,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        if assumed:
            console.note(f"method: {method} (--method chooses another; --methods lists them)")
        count = align_file(sources, out, request, progress=None if quiet else console)
        if out != "-":
            console.note(f"{count:,} pairs aligned: {out}")


def score(  # noqa: PLR0917 - one parameter a flag
    links: str | None = typer.Argument(
        None, help="File of links, or - for standard input; not with --layers."
    ),
    gold: Path = typer.Option(..., "--gold", "-g", help="File of gold links."),
    name: str | None = typer.Option(
        None,
        "--format",
        "-f",
        help="Format of the links: pharaoh, talp, alignv2, naacl, jsonl; told by default.",
    ),
    gold_name: str | None = typer.Option(None, "--gold-format", help="Format of the gold links."),
    base: int | None = typer.Option(None, min=0, max=1, help="The links count words from 0 or 1."),
    gold_base: int | None = typer.Option(None, min=0, max=1, help="The gold links count words from 0 or 1."),
    reverse: bool = typer.Option(False, help="The links have the target side first."),
    sentences: Path | None = typer.Option(None, help="Write the scores of each sentence here, as TSV."),
    layers: str | None = typer.Option(
        None,
        help="Score an encoder instead of a file: `all`, or numbers such as 4,8,12 (gold with words: jsonl).",
    ),
    model: str | None = typer.Option(None, help="With --layers: folder or hub name of the encoder."),
    method: str = typer.Option("itermax", "--method", "-m", help="With --layers: how links are chosen."),
    settings: list[str] = typer.Option(
        None, "--set", metavar="KEY=VALUE", help="With --layers: method options."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Measure links against gold links.

    Prints precision, recall, F1 and alignment error rate. Sure gold links count as possible ones whether the file
    repeats them or not. Where the score suggests that a file counts its words from another base or has its sides in
    another order, a line on standard error says so.
    """
    from isoglot.align.score_file import score_file, score_layers, write_sentences
    from isoglot.runs.files import refuse_overwriting

    _one_way_of_scoring(
        layers,
        of_file={"LINKS": links, "--format": name, "--base": base is not None, "--reverse": reverse,
                 "--sentences": sentences},
        of_encoder={"--model": model, "--method": method != "itermax", "--set": settings},
    )  # fmt: skip
    if layers is not None:
        _print_layers(score_layers(gold, model=model, layers=layers, method=method, gold_format=gold_name,
                                   gold_base=gold_base, options=aligner_settings(settings)), as_json)  # fmt: skip
        return
    if links is None:
        raise typer.BadParameter("LINKS is needed, unless --layers is given")
    report = score_file(
        links, gold, name=name, base=base, reverse=reverse, gold_name=gold_name, gold_base=gold_base
    )
    if sentences is not None:
        refuse_overwriting(sentences, [links, gold])
        write_sentences(report, sentences)
    if as_json:
        import json

        typer.echo(json.dumps(report.summary()))
    else:
        typer.echo("precision  recall     F1    AER  sentences")
        total = report.total
        values = (total.precision, total.recall, total.f1, total.aer)
        cells = [f"{100 * value:.2f}" for value in values]
        typer.echo(f"{cells[0]:>9s} {cells[1]:>7s} {cells[2]:>6s} {cells[3]:>6s}  {len(report.sentences):,}")
    if report.hint:
        typer.secho(f"LOOK OUT: {report.hint}", err=True, fg=typer.colors.YELLOW, bold=True)


def _one_way_of_scoring(
    layers: str | None, *, of_file: dict[str, object], of_encoder: dict[str, object]
) -> None:
    """Flags of the other way of scoring would do nothing.

    Raises:
        ConfigurationError: some are given.
    """
    from isoglot.errors import ConfigurationError

    given = ", ".join(flag for flag, value in (of_encoder if layers is None else of_file).items() if value)
    if given:
        why = (
            "is for --layers" if layers is None else "is for a file of links, and --layers scores an encoder"
        )
        raise ConfigurationError(f"{given}: {why}; leave it out")


def _print_layers(rows: list[tuple[int, Any]], as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps([{"layer": layer, "aer": total.aer, "precision": total.precision,
                                "recall": total.recall} for layer, total in rows]))  # fmt: skip
        return
    typer.echo("layer  precision  recall     AER")
    for layer, total in rows:
        typer.echo(
            f"{layer:5d} {100 * total.precision:10.2f} {100 * total.recall:7.2f} {100 * total.aer:7.2f}"
        )


def aligner_settings(given: list[str] | None) -> dict[str, Any]:
    """``--set`` of the commands that align with an encoder."""
    return parse_settings(given, example="level=word")


def _mode(words: str) -> Any:
    from isoglot.errors import ConfigurationError

    if words not in ("whitespace", "unicode"):
        raise ConfigurationError(f"--words {words!r} given; it is whitespace or unicode")
    return words
