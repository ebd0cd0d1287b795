"""``isoglot derive`` and ``isoglot fit-order``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

__all__ = ["derive", "fit_order"]

_READING, _SCRIPT, _ORDER, _SYNTAX, _LABELS = (
    "How to read", "trans: another script", "inv, perm: another order", "syn: another syntax", "What follows the words",
)  # fmt: skip


def derive(  # noqa: PLR0917 - one parameter a flag
    ctx: typer.Context,
    inputs: list[str] = typer.Argument(
        ...,
        metavar="INPUT...",
        help="A text, CoNLL-U, JSONL, WikiANN, NLI, SQuAD or bitext file, or a folder of `isoglot prepare`; two files "
        "for a bitext.",
    ),
    transform: str = typer.Option(
        ...,
        "--transform",
        "-t",
        help="trans, inv, perm, syn, or some with +: trans+inv inverts, then transliterates.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write."),
    language: str = typer.Option(None, "--lang", "--language", help="Language of the input: en."),
    target_language: str = typer.Option(
        None, "--target-lang", help="Language of the target side of a bitext."
    ),
    derived_language: str = typer.Option(
        None, "--derived-lang", help="Tag of the derived language; en-x-trans-inv and so on by default."
    ),
    seed: int = typer.Option(0, help="Seed of everything that is drawn."),
    kind: str = typer.Option(
        None,
        help="text, bitext, aligned, treebank, tagged (NER, POS), nli, paws or qa; else told from the file.",
        rich_help_panel=_READING,
    ),
    format: str = typer.Option(  # noqa: A002 - the name of the flag
        None, help="Format of a corpus, as for `isoglot prepare`.", rich_help_panel=_READING
    ),
    split: bool = typer.Option(
        False,
        "--split-sentences",
        help="Tokenised text: cut after . ! ? and write one sentence a line.",
        rich_help_panel=_READING,
    ),
    limit: int = typer.Option(None, min=1, help="Take the first so many rows.", rich_help_panel=_READING),
    tokenizer: str = typer.Option(
        None,
        help="Copy this tokenizer's pieces, id to id + V, and write the doubled tokenizer; letters change otherwise.",
        rich_help_panel=_SCRIPT,
    ),
    alphabet: str = typer.Option(
        "armenian",
        help="Letters without a tokenizer: armenian, georgian, cherokee or deseret.",
        rich_help_panel=_SCRIPT,
    ),
    script: str = typer.Option(
        "tangut", help="Script of a tokenizer's copies: tangut or hangul.", rich_help_panel=_SCRIPT
    ),
    overlap: float = typer.Option(
        0.0, help="Part of the vocabulary that both languages share, 0 to 1.", rich_help_panel=_SCRIPT
    ),
    with_replacement: bool = typer.Option(
        False, help="Draw that part as the paper's code does: 22.1 % for 0.25.", rich_help_panel=_SCRIPT
    ),
    level: str = typer.Option("word", help="inv: word, or token with --tokenizer.", rich_help_panel=_ORDER),
    literal: bool = typer.Option(
        False, help="inv: the paper's XNLI code with its quirks.", rich_help_panel=_ORDER
    ),
    keep_final: bool = typer.Option(False, help="perm: a final . ! ? stays last.", rich_help_panel=_ORDER),
    syntax: str = typer.Option(
        None, metavar="SPEC", help="For example en~fr@N~fr@V.", rich_help_panel=_SYNTAX
    ),
    models: Path | None = typer.Option(
        None,
        help="Folder with en@N.orm, fr@N.orm and so on; or built-in, with head-final as the other language.",
        rich_help_panel=_SYNTAX,
    ),
    rate: float = typer.Option(0.05, "--lambda", help="Share of the substrate.", rich_help_panel=_SYNTAX),
    parses: str = typer.Option(
        None,
        help="CoNLL-U file with the trees of the input's sentences, if it has none.",
        rich_help_panel=_SYNTAX,
    ),
    first_parse_only: bool = typer.Option(
        False, help="Of a text parsed as several sentences take the first.", rich_help_panel=_SYNTAX
    ),
    ud_labels: str = typer.Option(
        "ud2", help="ud2 (renamed to version 1.2) or literal.", rich_help_panel=_SYNTAX
    ),
    reattach: bool = typer.Option(
        False, help="Attach cc and punct of conjuncts as UD 1 does.", rich_help_panel=_SYNTAX
    ),
    oversize: str = typer.Option(
        "skip",
        help="A head with over six dependents: skip the sentence or keep its order.",
        rich_help_panel=_SYNTAX,
    ),
    best: bool = typer.Option(
        False, help="The most probable order, not a drawn one.", rich_help_panel=_SYNTAX
    ),
    labels: str = typer.Option(
        "exact", help="exact, or first_match by word form as the paper's code.", rich_help_panel=_LABELS
    ),
    repair: str = typer.Option(
        "entities",
        help="IOB2 tags: entities, or the paper's flip or consistent, or none.",
        rich_help_panel=_LABELS,
    ),
    side: str = typer.Option(
        "source", help="Side of sentence pairs to derive: source, target or both.", rich_help_panel=_LABELS
    ),
    lexicon: float = typer.Option(
        1.0,
        help="Part of the gold lexicon to draw: 0.25, 0.5, 1; 0 for none.",
        rich_help_panel=_LABELS,
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a corpus that was derived otherwise."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Derive a language: another script, word order or syntax.

    The derived corpus differs from its input in that alone; labels, trees and answers follow their words. Beside it
    stand an aligned corpus from each original sentence to its image with gold links, the gold lexicon, and, with
    --tokenizer, the doubled tokenizer.

    isoglot derive wiki.txt --transform trans+inv --split-sentences --lang en --out data/derived

    isoglot derive en_ewt.conllu --transform syn --syntax en~fr@N~fr@V --models galactic --lang en --out data/syn
    """
    from isoglot.cli.console import Console
    from isoglot.derive.derive_corpus import DeriveRequest, derive_corpus
    from isoglot.derive.rows import DeriverOptions
    from isoglot.derive.spec import TransformOptions

    options = TransformOptions(
        seed=seed, alphabet=alphabet, script=script, overlap=overlap, with_replacement=with_replacement,
        level=_one_of("--level", level, "word", "token"), literal=literal, keep_final=keep_final, syntax=syntax,
        models=models, rate=rate, ud_labels=_one_of("--ud-labels", ud_labels, "ud2", "literal"), reattach=reattach,
        oversize=_one_of("--oversize", oversize, "skip", "keep"), best=best,
    )  # fmt: skip
    rows = DeriverOptions(
        split=split,
        labels=_one_of("--labels", labels, "exact", "first_match"),
        repair=_one_of("--repair", repair, "entities", "consistent", "flip", "none"),
        side=_one_of("--side", side, "source", "target", "both"),
    )
    _refuse_idle(ctx)
    request = DeriveRequest(
        transform=transform, kind=kind, languages=tuple(x for x in (language, target_language) if x),
        derived_language=derived_language, tokenizer=tokenizer, options=options, rows=rows, parses=parses,
        first_parse_only=first_parse_only, lexicon=lexicon, source={} if format is None else {"format": format},
        limit=limit,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        summary = derive_corpus(
            inputs, out, request, overwrite=overwrite, progress=None if quiet else console
        )
        if summary.skipped:
            console.note(f"nothing to do: {out} holds these {summary.rows:,} rows already")
            return
        for reason, count in summary.counts.items():
            if reason != "derived":
                console.note(f"left out: {reason}: {count:,}")
        console.note(
            f"{out}: {summary.rows:,} rows in {summary.language}, {summary.pairs:,} aligned pairs, "
            f"{summary.entries:,} lexicon entries, {summary.seconds:.1f} s"
        )


def fit_order(  # noqa: PLR0917 - one parameter a flag
    treebank: list[str] = typer.Argument(..., metavar="TREEBANK...", help="CoNLL-U files of one language."),
    out: Path = typer.Option(..., "--out", "-o", help="Folder for LANGUAGE@N.orm and LANGUAGE@V.orm."),
    language: str = typer.Option(..., "--lang", "--language", help="Language of the treebank: fr."),
    l2: float = typer.Option(1.0, help="Weight of the squared norm of the features."),
    high_order: float = typer.Option(0.1, help="Part of the commonest runs of three to five that are kept."),
    ud_labels: str = typer.Option("ud2", help="ud2 (renamed to version 1.2) or literal."),
    reattach: bool = typer.Option(False, help="Attach cc and punct of conjuncts as UD 1 does."),
    iterations: int = typer.Option(200, min=1, help="Most steps of L-BFGS."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Fit the word-order models that `derive` needs for syn.

    Any UD treebank will do.

    isoglot fit-order fr_gsd-ud-train.conllu --lang fr --out models
    """
    from isoglot.cli.console import Console
    from isoglot.derive.fit_order import OrderFitRequest, fit_order_models

    request = OrderFitRequest(
        language=language, l2=l2, high_order=high_order, reattach=reattach, iterations=iterations,
        labels=_one_of("--ud-labels", ud_labels, "ud2", "literal"),
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        for path, fit in fit_order_models(treebank, out, request):
            console.note(
                f"{path}: {len(fit.model.weights):,} features from {fit.groups:,} groups, "
                f"{fit.bits_before:.2f} bits an order before and {fit.bits:.2f} after"
            )


_NEEDED_TRANSFORM = {
    "alphabet": "trans", "script": "trans", "overlap": "trans", "with_replacement": "trans", "lexicon": "trans",
    "level": "inv", "literal": "inv", "keep_final": "perm", "syntax": "syn", "models": "syn", "rate": "syn",
    "parses": "syn", "first_parse_only": "syn", "ud_labels": "syn", "reattach": "syn", "oversize": "syn", "best": "syn",
}  # fmt: skip
_NEEDED_KIND = {
    "split": ("text",), "side": ("bitext", "aligned"), "labels": ("tagged",), "repair": ("tagged",),
}  # fmt: skip


def _refuse_idle(ctx: typer.Context) -> None:
    """Flags that would do nothing are a mistake.

    Raises:
        ConfigurationError: all of them.
    """
    from isoglot.derive.input import INPUT_KINDS, kind_of
    from isoglot.derive.sharing import COPY_FILE
    from isoglot.derive.spec import parse_names
    from isoglot.errors import ConfigurationError

    values = ctx.params
    flags = {p.name: next(o for o in p.opts if o.startswith("--")) for p in ctx.command.params if p.name in values
             and any(o.startswith("--") for o in p.opts)}  # fmt: skip
    told = {n for n in flags if str(ctx.get_parameter_source(n)).endswith("COMMANDLINE") and values[n]}
    names = parse_names(values["transform"])
    kind = values["kind"] or kind_of(values["inputs"][0])
    problems = [
        f"{flags[name]} is for {needed}, and --transform is {values['transform']}; leave it out"
        for name, needed in _NEEDED_TRANSFORM.items()
        if name in told and needed not in names
    ]
    problems += [
        f"{flags[name]} is for {' and '.join(kinds)} data, and {kind} is given; leave it out"
        for name, kinds in _NEEDED_KIND.items()
        if name in told and kind not in kinds and kind in INPUT_KINDS
    ]
    tokenizer = values["tokenizer"]
    copied = tokenizer is not None and (Path(tokenizer) / COPY_FILE).is_file()
    for name, idle, why in (
        ("tokenizer", not ("trans" in names or ("inv" in names and values["level"] == "token")),
         "is for trans, and for inv with --level token"),
        ("alphabet", tokenizer is not None, "changes letters, and --tokenizer copies pieces"),
        ("script", tokenizer is None, "is of the copies of a --tokenizer, and none is given"),
        ("with_replacement", not values["overlap"], "is how --overlap is drawn, and none is given"),
        ("first_parse_only", values["parses"] is None, "is for --parses, and none are given"),
        *((name, copied, f"is fixed in the copy {tokenizer}") for name in ("overlap", "with_replacement", "script")),
    ):  # fmt: skip
        if name in told and idle:
            problems.append(f"{flags[name]} {why}; leave it out")
    if problems:
        raise ConfigurationError(problems)


def _one_of(flag: str, given: str, *allowed: str) -> Any:
    from isoglot.errors import ConfigurationError

    if given not in allowed:
        raise ConfigurationError(f"{flag} {given!r} given; it is {' or '.join(allowed)}")
    return given
