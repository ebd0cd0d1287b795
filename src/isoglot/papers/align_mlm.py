"""ALIGN-MLM (Tang et al. 2022): four objectives from scratch on English and a derived copy of it.

``tableN`` and ``figureN`` are the paper's. Each row is an encoder, which is fine-tuned on English (zero-shot, ZS) or on
the derived language (supervised, SUP), and tested on the derived language. The drop is Δ = SUP − ZS. *Order* is the
paper's transformation, such as ``trans+inv``. Its derived language has the code ``en-x-trans+inv``. Recipes
call it ``xx``, because their language ids are fixed.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import isnan, nan
from statistics import fmean
from typing import Any

from isoglot.papers.align_mlm_data import LANGUAGE_IDS, absence_of, derived, language_of, task_of
from isoglot.studies import Lab, SamplePairs, ScoreEmbeddings, Work, rank_correlation

SYSTEMS = {"mlm": "MLM", "xlm": "XLM", "dict_mlm": "DICT-MLM", "align_mlm": "ALIGN-MLM"}
WITH_LANGUAGE_IDS = ("xlm", "dict_mlm")
ORDERS = ("trans", "trans+inv", "trans+syn")
TASKS = ("xnli", "ner", "pos")

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "seeds": ([1, 2, 3], [1, 2, 3], [1]),  # not given
    "parallel": 0.25,  # App. G.3: XLM's parallel sentences relative to the text
    "dictionary": 0.25,  # App. G.4 and G.5: DICT-MLM's and ALIGN-MLM's part of the dictionary
    "alpha": 10,  # App. G.5: weight of the alignment loss, of 1, 10, 100
    "algorithm": ("wordpiece", "wordpiece", "byte_bpe"),  # the authors' code
    "vocabulary": (1000, 12_000, 40_000),  # Table 10
    "masking": (0.3, 0.15, 0.15),  # not given
    "block": (40, 128, 512),  # App. G
    "pair_block": (80, 128, 512),  # App. G.3: both halves together
    "positions": (130, 130, 514),
    "hidden": (128, 256, 512),  # Table 10
    "layers": (2, 4, 8),  # Table 10
    "heads": (4, 4, 8),  # Table 10
    "feed_forward": (512, 1024, 2048),  # not given
    "initializer_range": (0.05, 0.02, 0.02),  # RoBERTa's
    "batch": (48, 32, 128),  # Table 10
    "steps": (600, 6_000, 500_000),  # Table 10
    "learning_rate": (2e-3, 5e-4, 1e-4),  # Table 10
    "warmup": (60, 600, 10_000),  # Table 10
    "save_steps": (6_000, 1_000, 5_000),
    "logging_steps": 100,
    "bf16": False,
    "precision": "float32",  # of fine-tuning
    "tuning_rate": (2e-3, 2e-4, 2e-5),  # Table 11
    "tuning_rate_nli": (1e-3, 2e-4, 2e-5),  # Table 11
    "tuning_batch": (64, 32, 32),  # Table 11
    "tuning_epochs": (4, 3, 10),  # Table 11: NER and POS
    "tuning_epochs_nli": (8, 3, 5),  # Table 11; tiny: with half as many, some runs do not learn inference
    "tuning_warmup": (0.1, 0.1, 0.0),  # not given
    "bucket": 50,  # batches in which examples are sorted by length; the authors' code: 1
    "tuning_examples": None,  # the first ones alone
    "tuning_examples_nli": None,
    # of the derived language
    "end_marks": ".!?",  # the authors' code; App. F: the period
    "split_tasks": False,  # invert sentence by sentence in the tasks' data too, as App. F has it
    "literal_nli": False,  # inference pairs inverted with the quirks of the authors' code
    "ud_labels": "ud2",  # renamed to UD 1.2, which the models know; the authors' code: literal
    "first_parse_only": False,  # of a text parsed as several; the authors' code
    "labels": "exact",  # how they move (App. G.1); the authors' code: first_match
    "repair": "entities",  # of tags; the authors' code: another way for each transformation
    "with_replacement": False,  # how shared pieces are drawn; the authors' code: 22.1 % for 25 %
    # of the alignment score
    "include_special": False,  # §5: "all tokens"
    "score_share": 1.0,  # of the tokens, among all of the other language; the authors' code: 40 %
    "score_language_ids": True,  # add language embeddings, as the authors' code; §5: word embeddings
    # of the miniature world
    "world_seed": (1, None, None),
    "lexemes": (400, None, None),
    "script": "tangut",
    "text": (12_000, None, None),
    "pos": (1_500, None, None),
    "ner": (1_500, None, None),
    "nli": (4_000, None, None),
    "dev": (400, None, None),
}
VARIANTS: dict[str, Any] = {  # docs/reference/variants.md
    "literal": {
        "end_marks": ".",
        "split_tasks": True,
        "include_special": True,
        "score_language_ids": False,
        "bucket": 1,
    },
    "authors": {
        "literal_nli": True,
        "ud_labels": "literal",
        "first_parse_only": True,
        "labels": "first_match",
        "repair": "authors",
        "with_replacement": True,
        "include_special": True,
        "score_share": 0.4,
        "bucket": 1,
    },
}
ABOUT = {
    "tiny": (
        "The miniature world: generated English-like sentences with trees, names and inference pairs, and its "
        "derived copy; syntax by the built-in head-final order. One sentence an instance (XLM: as many as fit 40 "
        "tokens)."
    ),
    "small": (
        "Real text: WikiText-2 and English sides of bitext, with EWT (POS), WikiANN (NER), MNLI's and SNLI's "
        "development sets (NLI; nine tenths to train on). Syntax needs trees: under trans+syn the text is EWT's "
        "training part alone, and only POS is measured."
    ),
    "paper": "The paper's sizes. "
    "ISOGLOT_CORPORA holds WikiText-103, the tasks' data and their trees, ISOGLOT_GALACTIC the .orm models.",
}


def table1(lab: Lab) -> None:
    """XLM by the amount of parallel text, and ALIGN-MLM without any (trans+inv)."""
    for label, share in {"1%": 0.01, "10%": 0.1, "25%": 0.25, "100%": 1.0}.items():
        row_of(lab, "align_mlm:Table1", label, "xlm", "trans+inv", ("zs", "delta"), parallel=share)
    row_of(lab, "align_mlm:Table1", "ALIGN-MLM (0%)", "align_mlm", "trans+inv", ("zs", "delta"))


def table2(lab: Lab) -> None:
    """The drop by the size of the dictionary (trans+inv)."""
    _dictionaries(lab, "align_mlm:Table2", "trans+inv")


def table3(lab: Lab) -> None:
    """Four objectives on three transformations: supervised, zero-shot, and the drop between them."""
    for system, order in product(SYSTEMS, ORDERS):
        row_of(lab, "align_mlm:Table3", f"{SYSTEMS[system]} / {order}", system, order)


def table4(lab: Lab) -> None:
    """The drop by the size of the dictionary (trans+inv), as the appendix prints Table 2 again."""
    _dictionaries(lab, "align_mlm:Table4", "trans+inv")


def table5(lab: Lab) -> None:
    """The drop by the size of the dictionary (trans+syn)."""
    _dictionaries(lab, "align_mlm:Table5", "trans+syn")


def table6(lab: Lab) -> None:
    """XLM by the amount of parallel text (trans+inv), in full."""
    for label, share in {"1%": 0.01, "10%": 0.1, "25%": 0.25, "100%": 1.0}.items():
        row_of(lab, "align_mlm:Table6", label, "xlm", "trans+inv", parallel=share)


def table7(lab: Lab) -> None:
    """XLM by the part of the vocabulary that both languages share (trans+inv)."""
    for label, share in {"0%": 0.0, "25%": 0.25, "50%": 0.5}.items():
        row_of(lab, "align_mlm:Table7", label, "xlm", "trans+inv", overlap=share)


def table8(lab: Lab) -> None:
    """Alignment score of the word embeddings, and XNLI's drop."""
    table = "align_mlm:Table8"
    for system, order, seed in product(SYSTEMS, ORDERS, lab.seeds):
        # Table 8 names its rows by the system, `mlm / trans`; Table 3 by the name in print, `MLM / trans`.
        row = f"{system} / {order}"
        score = partial(alignment_of, lab, system, order, seed)
        lab.cell(table, row=row, column="alignment", value=score, seed=seed)
        drop = partial(measured, lab, "delta", system, order, "xnli", seed)
        lab.cell(table, row=row, column="xnli.delta", value=drop, seed=seed)


def figure2(lab: Lab) -> None:
    """The drop of four objectives on three transformations: Table 3's bars."""
    for order, (system, name) in product(ORDERS, SYSTEMS.items()):
        row_of(lab, "align_mlm:Table3", f"{name} / {order}", system, order, ("delta",))

    def draw() -> dict[str, Any]:
        bars = []
        for order, (system, name), task in product(ORDERS, SYSTEMS.items(), TASKS):
            drop = _drop(lab, system, order, task)
            bars.append({"panel": order, "group": task.upper(), "series": name, "value": drop})
        about = {"kind": "bars", "title": "Δ by objective", "y_label": "Δ", "note": "Means over seeds."}
        return {**about, "bars": bars}

    lab.figure("figure2", draw)


def figure3(lab: Lab) -> None:
    """Alignment against transfer: Spearman's correlation over twelve points a task (Fig. 3, App. E)."""
    for task in TASKS:
        note = f"Over {len(_systems_with(lab, task))} points, means over seeds; the drop is negated."
        for statistic in ("rho", "p"):
            value = partial(_correlation, lab, task, statistic)
            lab.cell(
                "align_mlm:E", row=task.upper(), column=statistic, value=value, note=note, is_result=False
            )
        lab.figure(f"figure3-{task}", partial(_scatter, lab, task, note))


def _correlation(lab: Lab, task: str, statistic: str) -> float:
    """``rho`` of alignment score and negated drop, or its two-tailed ``p``; NaN while a point is unknown."""
    points = _scatter(lab, task, "")["points"]
    scores = [point["x"] for point in points]
    drops = [point["y"] for point in points]
    if any(map(isnan, [*scores, *drops])):
        return nan
    correlation = rank_correlation(scores, drops)
    if correlation is None:
        return nan
    # The points have the drop as it is. To negate it changes the sign of rho, and p not at all.
    return -correlation.rho if statistic == "rho" else correlation.p


def _systems_with(lab: Lab, task: str) -> list[tuple[str, str]]:
    """Return the systems with the orders in which a task is measured: the points of Figure 3."""
    return [(system, order) for system, order in product(SYSTEMS, ORDERS) if not absence_of(lab, task, order)]


def _scatter(lab: Lab, task: str, note: str) -> dict[str, Any]:
    """Return Figure 3 of a task as the content of a figure file."""
    points = []
    for system, order in _systems_with(lab, task):
        point = {
            "label": f"{SYSTEMS[system]} / {order}",
            "group": SYSTEMS[system],
            "x": fmean(alignment_of(lab, system, order, seed) for seed in lab.seeds),
            "y": _drop(lab, system, order, task),
        }
        points.append(point)
    labels = {"x_label": "alignment score (%)", "y_label": f"Δ of {task.upper()}"}
    about = {"kind": "scatter", "title": f"{task.upper()}: alignment score and Δ", **labels}
    return {**about, "points": points, "correlate": "-y", "note": note}


def training_time(lab: Lab) -> None:
    """Hours of pre-training (App. I, trans+inv); what the paper calls TLM is XLM."""
    rows = {"mlm": "MLM", "xlm": "TLM", "align_mlm": "ALIGN-MLM", "dict_mlm": "DICT-MLM"}

    def hours(system: str, seed: int) -> float:
        return encoder_of(lab, system, "trans+inv", seed).value("hours")

    for (system, row), seed in product(rows.items(), lab.seeds):
        lab.cell("align_mlm:I", row=row, column="hours", value=partial(hours, system, seed), seed=seed)


def alpha(lab: Lab) -> None:
    """The weight of the alignment loss: 1, 10 and 100 (App. G.5, trans+inv); the paper gives no figures."""
    for weight in (1, 10, 100):
        row_of(lab, "align_mlm/alpha", f"alpha {weight}", "align_mlm", "trans+inv", alpha=weight)


def _dictionaries(lab: Lab, table: str, order: str) -> None:
    """Add the cells of a table of drops by the size of the dictionary, of DICT-MLM and ALIGN-MLM side by side."""
    columns = {"dict_mlm": "DICT", "align_mlm": "ALIGN"}
    for (label, share), (system, column) in product({"25%": 0.25, "50%": 0.5}.items(), columns.items()):
        for task, seed in product(TASKS, lab.seeds):
            drop = partial(measured, lab, "delta", system, order, task, seed, dictionary=share)
            lab.cell(table, row=label, column=f"{task}.{column}", value=drop, seed=seed)


def row_of(
    lab: Lab,
    table: str,
    label: str,
    system: str,
    order: str,
    quantities: Sequence[str] = ("sup", "zs", "delta"),
    tasks: Sequence[str] = TASKS,
    **values: float,
) -> None:
    """Add the row of an encoder to a table: the quantities ``sup``, ``zs`` and ``delta`` of each task, or some of them.

    ``values`` as in :func:`encoder_of`.
    """
    for task, seed in product(tasks, lab.seeds):
        for name in quantities:
            value = partial(measured, lab, name, system, order, task, seed, **values)
            lab.cell(table, row=label, column=f"{task}.{name}", value=value, seed=seed)


def measured(
    lab: Lab, quantity: str, system: str, order: str, task: str, seed: int, **values: float
) -> float:
    """The score of a task in the derived language: ``sup``, ``zs``, or their difference ``delta``."""
    if quantity == "delta":
        supervised = measured(lab, "sup", system, order, task, seed, **values)
        zero_shot = measured(lab, "zs", system, order, task, seed, **values)
        return supervised - zero_shot
    language = language_of(order)
    study_task = task_of(lab, task, order, values.get("overlap", 0.0))
    is_zero_shot = quantity == "zs"
    trained_on = "en" if is_zero_shot else language
    settings: dict[str, Any] = {"setting": "zero_shot" if is_zero_shot else "translate_train"}
    # The authors give language ids in fine-tuning too, one per sentence.
    if system in WITH_LANGUAGE_IDS:
        settings["language_ids"] = dict(zip(("en", language), LANGUAGE_IDS, strict=True))
    encoder = encoder_of(lab, system, order, seed, **values)
    scores = lab.evaluate(encoder, study_task, trained_on=trained_on, seed=seed, **settings)
    return scores.value(language)


def _drop(lab: Lab, system: str, order: str, task: str) -> float:
    """The mean drop of a system over the seeds."""
    return fmean(measured(lab, "delta", system, order, task, seed) for seed in lab.seeds)


def alignment_of(lab: Lab, system: str, order: str, seed: int) -> float:
    """The alignment score of an encoder's word embeddings, by default with its language embeddings added."""
    encoder = encoder_of(lab, system, order, seed)
    options: dict[str, Any] = {"include_special": lab.size["include_special"]}
    if lab.size["score_share"] < 1:
        options["subset"] = {"share": lab.size["score_share"], "seed": 42}  # as in the authors' code
    if system in WITH_LANGUAGE_IDS and lab.size["score_language_ids"]:
        options["language_ids"] = list(LANGUAGE_IDS)
    work = lab.make(
        f"{encoder.name} alignment",
        ScoreEmbeddings,
        checkpoint=lab.checkpoint(encoder),
        vocabulary=derived(lab, order) / f"{language_of(order)}/text/tokenizer",
        options=options,
        label=encoder.step.label,
        about=f"how {encoder.step.about} aligns word embeddings",
    )
    return work.value("alignment_score", row=("embedding_alignment", language_of(order), "alignment_score"))


def encoder_of(lab: Lab, system: str, order: str, seed: int, **values: float) -> Work:
    """Ask for an encoder that is trained from scratch by one of the four objectives, on English and its derived copy.

    ``values``: ``parallel``, ``dictionary``, ``alpha`` or ``overlap`` in place of the usual ones. They are part of the
    run's name: ``encoder_of(lab, "xlm", "trans+inv", 1, parallel=0.01)`` is the run ``xlm parallel=0.01``.
    """
    size = lab.size | values
    copy = derived(lab, order, values.get("overlap", 0.0))
    text = copy / f"{language_of(order)}/text"
    copied_vocabulary = copy.fact("copied_vocabulary")
    original = {"path": f"{text}/original.txt", "language": "en"}
    translation = {"path": f"{text}/derived.txt", "language": "xx"}

    # All four systems: masked text of both languages.
    masked = {"probability": size["masking"]}
    if lab.scale == "paper":
        # The authors' code draws random tokens from the original's half of the vocabulary.
        masked["random_pool"] = [0, copied_vocabulary]
    block = {"block": size["block"]}
    packed = lab.at(block if system == "xlm" else None, block, block)  # tiny: one sentence an instance
    streams: dict[str, Any] = {"text": {"sources": [original, translation], "pack": packed}}
    views: dict[str, Any] = {"text": masked}
    objectives: dict[str, Any] = {}

    # Each system but plain MLM adds its own knowledge of both languages: sentence pairs or a dictionary.
    if system == "xlm":
        sides = {"source": original["path"], "target": translation["path"]}
        pairs = lab.make("pairs", SamplePairs, **sides, share=size["parallel"])
        streams["pairs"] = {"path": pairs / "pairs.tsv", "pack": {"block": size["pair_block"]}}
        views["pair"] = masked
    elif system in ("dict_mlm", "align_mlm"):
        # The dictionary is the vocabulary itself: each piece of English has a copy in the derived language.
        dictionary = {
            "lexicon": None,
            "copied_vocabulary": copied_vocabulary,
            "share": size["dictionary"],
        }
        streams["words"] = None
        if system == "dict_mlm":  # a masked word is to be predicted in the other language
            views["text"] = {**masked, **dictionary}
        else:  # embeddings of a word and its translation are pulled together
            objectives["dictionary"] = {**dictionary, "weight": size["alpha"]}

    sections = {
        "model": {
            "max_position_embeddings": size["positions"],
            "hidden_size": size["hidden"],
            "num_hidden_layers": size["layers"],
            "num_attention_heads": size["heads"],
            "intermediate_size": size["feed_forward"],
            "initializer_range": size["initializer_range"],
            **lab.at({"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}, {}, {}),
        },
        # The tokenizer is read, not trained: the recipe's options of training it are taken away.
        "tokenizer": {"algorithm": None, "family": None, "vocab_size": None, "path": f"{text}/tokenizer"},
        "streams": streams,
        "views": views,
        "objectives": objectives,
        "batch": {"examples": size["batch"]},
        "steps": size["steps"],
        "train": {
            "learning_rate": size["learning_rate"],
            "warmup_steps": size["warmup"],
            "bf16": size["bf16"],
            "save_steps": size["save_steps"],
            "logging_steps": size["logging_steps"],
        },
    }
    recipe = "mlm_scratch" if system == "mlm" else system

    # Values that the study's sizes have anyway stay out of the name, so that tables share the run. They are compared
    # with `lab.setting.size`: a look into `lab.size` would list the size as one that the cell depends on.
    changed = [f"{k}={v}" for k, v in values.items() if v != lab.setting.size.get(k, 0.0)]
    run = " ".join([system, *changed])
    label = " ".join([SYSTEMS[system], *changed])
    about = f"{label} on English and its derived copy ({order})"
    return lab.pretrain(f"{run} {order}", recipe, sections, seed=seed, run=run, about=about)
