"""XLM-Align (Chi et al. 2021): MLM, TLM and denoising word alignment (DWA), continued from XLM-R.

``tableN`` and ``figureN`` are the paper's. Tables 1, 2 and 13-19 are the full model, Tables 3-7 a shorter run. Rows of
several tables that are one model are one run here:

- XLM-Align of Table 3, layer 10 of Table 4, "Enable" of Table 6, "masked" of Table 7;
- -DWA of Table 3, "no-query" of Table 7;
- layer 12 of Table 4, layer 12 of Table 5.

Settings that the paper does not give are in the recipe xlm_align.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import isoglot as iso
from isoglot.papers import languages
from isoglot.papers.languages import CORPORA, METRICS, aligned
from isoglot.papers.xlm_align_data import COPIES, gold_file, gold_pairs, task_of, text_sources
from isoglot.studies import (
    DrawFigure,
    External,
    Lab,
    PaperColumn,
    PaperRow,
    StatisticalAlignment,
    StudyTask,
    UnavailableError,
    Work,
    paper_table,
)

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "seeds": ([1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5]),  # Table 1: five runs, of fine-tuning (inferred)
    "ablation_seeds": ([1], [1, 2, 3], [1, 2, 3, 4, 5]),  # 48 fine-tuned models of 12 encoders a seed
    "steps": (800, 3_000, 150_000),  # Table 11
    "accumulation": (1, 1, 64),  # of batches of 32: 2,048 (Table 11)
    "ablation_steps": (800, 3_000, 50_000),  # §5
    "ablation_accumulation": (1, 1, 8),  # of batches of 32: 256 (§5)
    "warmup": (80, 200, 10_000),  # Table 11, of pre-training
    "learning_rate": (5e-4, 5e-4, 2e-4),  # Table 11
    "masking": (0.3, 0.2, 0.15),  # not given
    "order": "official",  # the authors' code: columns first; Eq. 6: paper, rows first
    "filter": "itermax",  # the authors' code, SimAlign's; Eq. 7-9: printed
    "links": "intersection",  # of optimal transport; §4.3 has those of §3.1: printed
    "floor": 1e-6,  # of similarities in optimal transport; not given; the released aligner runs without one: 0
    "self_after": (400, 1_500, None),  # steps labelled by the corpus: a small encoder labels badly at first
    "from_scratch": False,  # §6: true starts from new weights, and never labels by the corpus (no `self_after`)
    "tag_rate": (5e-4, 3e-4, None),  # of fine-tuning; the paper's grids are the preset's (Table 12)
    "pair_rate": (3e-4, 2e-4, None),
    "question_rate": (5e-4, 2e-4, None),
    "tag_epochs": (3, 4, None),
    "pair_epochs": (5, 4, None),
    "question_epochs": (6, 10, None),
    **languages.SIZES,
}
VARIANTS: dict[str, Any] = {  # docs/reference/variants.md
    "literal": {"order": "paper", "filter": "printed", "links": "printed", "bucket": 1},
    "authors": {"steps": (800, 3_000, 200_000), "floor": 0.0, "bucket": 1},
}
ABOUT = {
    "tiny": (
        "The miniature world; derived copies of it play German, Spanish, French, Hindi and Chinese. XLM-R is an "
        "encoder of 4 layers trained on all of them: where layers label and point, its 2, 3 and 4 stand for 8, 10 "
        "and 12. The first half "
        "of the steps is labelled by the links of construction, because an encoder this small labels badly at "
        "first; the second half by the model itself. XQuAD, MLQA and TyDiQA are the same stories, with their own "
        "metrics and random numbers."
    ),
    "small": (
        "Real text in English, German, Spanish, French, Hindi and Chinese, and an encoder of 4 layers trained on it "
        "in place of XLM-R: where layers label and point, its 2, 3 and 4 stand for 8, 10 and 12. The first half of "
        "the steps is labelled "
        "by a statistical aligner's links, the second half by the model itself. POS is trained on EWT and tested on "
        "PUD, NER is WikiANN; XQuAD's first four fifths of articles to train on and its last to test serve for "
        "XQuAD and MLQA (no SQuAD here); NLI is trained on MNLI's and SNLI's development sets. fast_align learns "
        "from the test sentences alone."
    ),
    "paper": "The paper's sizes. TyDiQA-GoldP has no test data of its own: the data that are reported also choose "
    "checkpoint and settings of fine-tuning on it, as they must in the paper. "
    "ISOGLOT_CHECKPOINTS holds XLM-R, mBERT and XLM, ISOGLOT_CORPORA text, bitext, XTREME's data and gold links.",
}
_LINK_LAYER = 3
"""Layer of Table 2 in an encoder of 4 layers; the paper's is 8 of 12."""
_FOUR = {
    "architecture": "bert",
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
}
# Shapes of an encoder that starts from new weights (from_scratch), at tiny, small and paper; the tokenizer stays.
_NEW = (
    {**_FOUR, "hidden_size": 128, "intermediate_size": 512, "initializer_range": 0.05},
    {**_FOUR, "hidden_size": 192, "intermediate_size": 768},
    {"architecture": "xlm-roberta", "max_position_embeddings": 514},
)
XLMR = "xlm-roberta-base"
_NAMES = {
    "xlm_align": "XLM-Align",
    "xlm_align_no_dwa": "XLM-Align - DWA",
    "xlm_align_no_tlm": "XLM-Align - TLM",
    "xlmr_continued_mlm": "XLM-R*",
}
"""Systems that are trained here, with their names in results."""
_KINDS = {"udpos": "pos", "panx": "ner"}
"""The paper's names of tasks, with ours where they differ."""
_USUAL = {
    "self_label_layer": 10,  # Table 11
    "dwa_layer": 12,  # Table 5
    "filtering": "itermax",  # Table 6
    "query": "masked",  # Table 7
}
"""Choices of the full model. In an ablation, a table row's attribute of the same name replaces one of them."""


def table1(lab: Lab) -> None:
    """XTREME, mean over languages."""
    note = "Rows with a star are other papers' numbers, and so is mT5's; of ours only mT5's encoder is fine-tuned."
    languages.fill(lab, "xlm_align:Table1", partial(_task_score, lab), note=note)


def table2(lab: Lab) -> None:
    """Alignment error rate of SimAlign and optimal transport, before and after; and of fast_align."""
    quoted = "SimAlign's first two rows are its own paper's numbers, fast_align's are not the paper's own."
    here = f"; here layer {_LINK_LAYER} of 4, the nearest to two thirds of the depth"
    note = f"{quoted} The paper reads links at layer 8 of 12{'' if lab.scale == 'paper' else here}."
    languages.fill(lab, "xlm_align:Table2", partial(_error_rate, lab), note=note)


def _table(number: int, title: str, *, short: bool = False) -> Callable[[Lab], None]:
    """Make the study of a table of scores by task, or by language; ``short``: the table's encoders are short runs."""

    def study(lab: Lab) -> None:
        seeds = lab.size["ablation_seeds" if short else "seeds"]
        languages.fill(lab, f"xlm_align:Table{number}", partial(_task_score, lab, short=short), seeds=seeds)

    study.__name__, study.__doc__ = f"table{number}", title
    return study


table3 = _table(3, "MLM, TLM and word alignment.", short=True)
table4 = _table(4, "The layer that labels.", short=True)
table5 = _table(5, "The layer of the pointer network.", short=True)
table6 = _table(6, "Filtering of the labels.", short=True)
table7 = _table(7, "Which words are queries.", short=True)


def table8(lab: Lab) -> None:
    """Text by language, in gigabytes, with its sentences and tokens."""
    both = (
        " CCNet and Wikipedia lie in one file a language: both are counted here."
        if lab.scale == "paper"
        else ""
    )
    _data(lab, 8, "text", f"Counted in the text of XLM-Align's recipe.{both}")


def table9(lab: Lab) -> None:
    """Text of Wikipedia by language, in gigabytes."""
    _data(lab, 9, "", "")


def table10(lab: Lab) -> None:
    """Bitext by pair of languages, in gigabytes, with its pairs of sentences and their tokens."""
    _data(lab, 10, "bitext", "Counted in the bitext of XLM-Align's recipe; tokens are those of both sides.")


table13 = _table(13, "POS tagging by language.")
table14 = _table(14, "NER by language.")
table15 = _table(15, "XQuAD by language.")
table16 = _table(16, "MLQA by language.")
table17 = _table(17, "TyDiQA-GoldP by language.")
table18 = _table(18, "XNLI by language.")
table19 = _table(19, "PAWS-X by language.")


def _data(lab: Lab, number: int, stream: str, note: str) -> None:
    """Add the cells of a table of data to the study.

    1. The paper gives gigabytes. Sentences and tokens stand beside them in columns of our own.
    2. A row without data here has one cell, which says why it is empty.

    ``stream``: Stream of the recipe that is counted; empty if the recipe reads no such data.
    """
    table = f"xlm_align:Table{number}"
    for row in paper_table(table).rows:
        place = str(row.attributes.get("pair") or row.attributes["lang"])
        code = place.removeprefix("en-")
        has_data = lab.scale == "paper" or code in ("en", *COPIES)
        # Column -> name of the count that fills it. Without data the name is empty, and `_counted` says why (2).
        columns = {"size_gb": "gigabytes" if has_data else ""}
        if stream and has_data:
            columns |= {"sentences": "kept", "tokens": "tokens"}  # 1
        for column, size in columns.items():
            lab.cell(
                table,
                row=row.label,
                column=column,
                value=partial(_counted, lab, stream, place, size),
                note=note,
                is_result=False,
                added=column != "size_gb",
            )


def _counted(lab: Lab, stream: str, place: str, size: str) -> float:
    """A size of the data that XLM-Align's recipe reads, as :class:`CountStreams` counts it; empty if there are none.

    ``place``: A language, or a pair of languages such as ``en-de``.
    """
    if not stream:
        raise UnavailableError("no file of Wikipedia alone is read: see Table 8")
    if not size:
        raise UnavailableError("no data in this language at this scale")
    base = languages.start(lab, XLMR, label="XLM-R")
    sections = _sections(lab, "xlm_align", _USUAL)
    count = languages.counted(lab, "xlm_align", "xlm_align", base, sections)
    return count(f"{stream}/{place}/{size}")


def figure2(lab: Lab) -> None:
    """Alignment error rate by layer, mean over the language pairs, before and after, by two methods."""

    def draw() -> Work:
        after = _continued(lab, "xlm_align", lab.seeds[0])
        panels = {
            "XLM-R": lab.checkpoint(languages.start(lab, XLMR, label="XLM-R")),
            "XLM-Align": lab.checkpoint(after),
        }
        gold = [gold_file(lab, pair) for pair in gold_pairs(lab).values()]
        options = {"methods": ["itermax", "ot"], "layers": "all", "gold": gold}
        return lab.make(
            "xlm_align figure2", DrawFigure, type="layers", name="figure2", panels=panels, options=options
        )

    lab.figure("xlm_align figure2", draw)


def _task_score(lab: Lab, row: PaperRow, column: PaperColumn, seed: int, *, short: bool = False) -> float:
    """Return the zero-shot score of the row's encoder on the column's task.

    The score is that of the column's language (Tables 13-19), or the mean over all languages if the column has none
    (Tables 1 and 3-7).

    The metric is the column's. ``mean()`` and ``value(language)`` without a metric would take the task's own.
    """
    task = task_of(lab, _KINDS.get(column.task, column.task))
    metric = METRICS.get(column.metric, column.metric)
    system = row.system
    changes = {name: row.attributes[name] for name in _USUAL if name in row.attributes}
    # Without queries word alignment has no loss: Table 7's row is the run of Table 3 without word alignment.
    if changes.get("query") == "none":
        system = "xlm_align_no_dwa"
        changes = {}
    encoder = _encoder(lab, system, seed, short=short, **changes)
    scores = lab.evaluate(encoder, task, trained_on="en", seed=seed, setting="zero_shot")
    return scores.value(column.language, metric) if column.language else scores.mean(metric)


def _error_rate(lab: Lab, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """The AER of the row's aligner on the column's pair of languages."""
    pairs = gold_pairs(lab)
    if column.id not in pairs:
        raise UnavailableError(f"no gold links of {column.id} at this scale")
    pair = pairs[column.id]
    if row.system == "fast_align":
        path = f"{CORPORA}/wordalign/train.{pair}.tsv"
        train = lab.at(None, None, {"path": path, "source_language": "xx", "target_language": "yy"})
        work = lab.make(
            f"fast_align {pair}",
            StatisticalAlignment,
            gold=gold_file(lab, pair),
            train=train,
            label="fast_align",
        )
        return work.value("aer", row=("word_alignment", pair, "aer"))
    method = str(row.attributes["aligner"]).removeprefix("simalign_")
    options: dict[str, Any] = {"method": method, "layer": lab.at(_LINK_LAYER, _LINK_LAYER, 8)}
    # Only options of optimal transport that differ from the aligner's defaults are given.
    if method == "ot":
        transport = {name: lab.size[name] for name in ("links", "order")}
        aligner = iso.EmbeddingOptions.build(method=method, **transport, epsilon=lab.size["floor"] or None)
        changed = aligner.model_dump(exclude_defaults=True, exclude={"method"})
        options |= {"aligner": changed} if changed else {}
    task = StudyTask("word_alignment", [gold_file(lab, "{language}")], list(pairs.values()), options=options)
    return lab.evaluate(_encoder(lab, row.system, seed), task).value(pair, "aer")


def _encoder(lab: Lab, system: str, seed: int, *, short: bool = False, **changes: Any) -> Work | External:
    """Ask for the encoder of a row: a published one, or one that is continued here.

    ``short`` and ``changes`` as in :func:`_continued`.
    """
    if system == "xlmr_base":
        return languages.start(lab, XLMR, label="XLM-R")
    if system == "mt5_base":
        return languages.external(lab, "mT5", "mt5-base")
    if system == "mbert":
        return languages.external(lab, "mBERT", "bert-base-multilingual-cased")
    if system == "xlm":
        return languages.external(lab, "XLM", "xlm-mlm-100-1280", "sacremoses")
    return _continued(lab, system, seed, short=short, **changes)


def _continued(lab: Lab, system: str, seed: int, *, short: bool = False, **changes: Any) -> Work:
    """Ask for XLM-R continued by MLM (Table 3: XLM-R*), by MLM and TLM, or by XLM-Align.

    The name of the run has the ``changes``, the number of steps of a shorter run, and ``scratch`` for a start from new
    weights. At scale paper the seed is 1: the paper's five runs are of fine-tuning.

    ``short``: Whether to train as short as the paper's ablations (Tables 3-7).
    ``changes``: Choices in place of those of :data:`_USUAL`.
    """
    size = lab.size
    choices = {**_USUAL, **changes}
    sections = _sections(lab, system, choices, short=short)
    recipe = "mlm" if system == "xlmr_continued_mlm" else system
    changed = [f"{name}={choice}" for name, choice in choices.items() if choice != _USUAL[name]]
    if short and size["ablation_steps"] != size["steps"]:
        changed.append(f"{size['ablation_steps']} steps")
    base = languages.start(lab, XLMR, label="XLM-R")
    if size["from_scratch"]:
        sections["model"] = {"path": None, **lab.at(*_NEW)}
        sections["tokenizer"] = {"path": lab.checkpoint(base)}
        changed.append("scratch")
    name = " ".join([system, *changed])
    label = " ".join([_NAMES[system], *changed])
    return languages.continued(lab, label, recipe, base, sections, seed=lab.at(seed, seed, 1), name=name)


def _sections(lab: Lab, system: str, choices: dict[str, Any], *, short: bool = False) -> dict[str, Any]:
    """Return sections for a recipe that extends ``mlm``, with the ``choices`` that :data:`_USUAL` names.

    A ``short`` run takes the sizes of the ablations, which begin with ``ablation_``.
    """
    size = lab.size
    prefix = "ablation_" if short else ""
    is_small = lab.scale == "small"
    is_paper = lab.scale == "paper"
    has_bitext = system != "xlmr_continued_mlm"
    masked = {"probability": size["masking"]}
    train: dict[str, Any] = {
        "learning_rate": size["learning_rate"],
        "warmup_steps": size["warmup"],
        "gradient_accumulation_steps": size[f"{prefix}accumulation"],
    }

    # Masked text of each language, and masked pairs of sentences; lengths that are not given are the recipe's.
    streams: dict[str, Any] = {"text": {"sources": text_sources(lab)}}
    views: dict[str, Any] = {"text": {**masked, "max_length": 128} if is_small else masked}
    if has_bitext:
        views["pair"] = {**masked, "max_length": 256} if is_small else masked

    objectives: dict[str, Any] = {}
    has_word_alignment = system in ("xlm_align", "xlm_align_no_tlm")
    if has_word_alignment:
        # The paper's layers of 12, and those at about the same depth in an encoder of 4.
        layers = {8: 8, 10: 10, 12: 12} if is_paper else {8: 2, 10: 3, 12: 4}
        # `itermax` names the paper's usual filter, of which its equations and its code differ: `filter` says which.
        filtering = choices["filtering"]
        if filtering == "itermax":
            filtering = size["filter"]
        objectives["word_alignment"] = {
            "label_layer": layers[choices["self_label_layer"]],
            "layer": layers[choices["dwa_layer"]],
            "order": size["order"],
            "filtering": filtering,
            "queries": choices["query"].replace("-", "_"),
        }

    if not is_paper:
        streams["text"] |= {"sampling_exponent": None, "pack": None}
        train["fp16"] = None
        if has_bitext:
            # The order of the sources is part of the hash of runs that exist.
            codes = COPIES if is_small else ("es", "de", "fr", "hi", "zh")
            sources = [{"path": f"{aligned(lab, c)}/data-*.parquet", "target_language": c} for c in codes]
            streams["bitext"] = {"kind": "aligned", "sampling_exponent": None, "sources": sources}
            if is_small:
                streams["bitext"]["encode"] = {"max_length": 256, "max_side": 126}
        if has_word_alignment and not size["from_scratch"]:
            # A small encoder labels badly at first: it learns from the links of the corpus until `self_after`.
            objectives["word_alignment"]["labels"] = "corpus_then_self"
            objectives["word_alignment"]["self_after_step"] = size["self_after"]
    return {
        "streams": streams,
        "views": views,
        "objectives": objectives,
        "steps": size[f"{prefix}steps"],
        "train": train,
    }
