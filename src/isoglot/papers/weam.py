"""WEAM (Yang et al. 2021): multilingual BERT continued on bitext with word links, one model per language pair.

TLM, its baseline, is WEAM without the second loss. ``tableN`` and ``figureN`` are the paper's. Word links: FastAlign in
the paper, HMM at small, by construction at tiny.
"""

from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from isoglot.papers import languages
from isoglot.papers.languages import METRICS, aligned, cao2020, continued, fill, start, task_data, zero_shot
from isoglot.studies import (
    DrawFigure,
    External,
    Lab,
    PaperColumn,
    PaperRow,
    StudyTask,
    UnavailableError,
    Work,
)

#        name: (tiny, small, paper), or one value for all scales
SIZES: dict[str, Any] = {
    "seeds": ([1, 2, 3], [1, 2, 3], [1]),  # not given
    "masking": 0.30,  # §3.1
    "weight": 1.0,  # §3.1: λ of Eq. 11
    "length": (64, 128, 128),  # §3.1
    "batch": 32,  # §3.1
    "epochs": (4, 4, 2),  # §3.1
    "learning_rate": (1e-3, 5e-4, 5e-5),  # §3.1
    "head": "bert",  # of both predictions; not given, but Eq. 3-4 and 7-8 write literal
    "unaligned": "exclude",  # masked words without a link; Eq. 10 sums over them: literal
    "many": "mean",  # several links of a word; Eq. 5: sum
    "share_linear": False,  # Eq. 4 and 8 write one symbol
    "cao_rate": (2e-4, 1e-4, 5e-5),  # Cao et al. 2020, its code
    "cao_batch": (32, 32, 8),  # Cao et al. 2020, its code
    "cao_pairs": (None, None, 250_000),  # Cao et al. 2020: pairs a language
    "mlqa_epochs": (6, 10, 3),  # of fine-tuning, not given: XTREME's
    "mlqa_rate": (5e-4, 2e-4, 3e-5),
    "mlqa_warmup": (0.1, 0.1, 500),
    "xnli_epochs": (5, 4, 5),
    "xnli_rate": (3e-4, 2e-4, 2e-5),
    "xnli_warmup": (0.1, 0.1, 0.0),
    **languages.SIZES,
}
VARIANTS: dict[str, Any] = {  # docs/reference/variants.md
    "literal": {"head": "literal", "unaligned": "literal", "many": "sum", "share_linear": True, "bucket": 1},
    "authors": "WEAM's authors published no code",
}
ABOUT = {
    "tiny": (
        "The miniature world; derived copies of it play Spanish (other letters), German (other letters, inverted) "
        "and Chinese (other letters, words in random order). mBERT is an encoder trained on all of them. Word links "
        "by construction."
    ),
    "small": (
        "Real text: 32,000 to 57,000 pairs a language, and an encoder of 4 layers trained on both sides of them in "
        f"place of mBERT. {languages.REAL_SMALL}"
    ),
    "paper": "The paper's sizes. "
    "ISOGLOT_CHECKPOINTS holds mBERT, ISOGLOT_CORPORA bitext and the tasks' data, translations too.",
}
PAIRS = ("es", "de", "zh")
"""Languages of the pairs with English."""
MBERT = "bert-base-multilingual-cased"
RATES, WEIGHTS = (0.15, 0.30, 0.45), (0.0, 0.5, 1.0, 2.0)
_NAMES = {"tlm": "mBERT+TLM", "weam": "mBERT+WEAM"}
_TRIED = {"xnli": "accuracy", "mlqa": "f1"}
"""Tasks of the studies of masking and weight, and their metrics."""
_CHANGED_BY = {"masking": ("tlm", "weam"), "weight": ("weam",)}
"""Systems that a size changes: TLM has no second loss to weigh."""


def table1(lab: Lab) -> None:
    """MLQA, TLM against WEAM: zero-shot and translate-train."""
    note = "Rows with a dagger print Lewis et al.'s numbers for mBERT; ours in them is the run of mBERT's other row."
    fill(lab, "weam:Table1", partial(_cell, lab, "mlqa"), note=note)


def table2(lab: Lab) -> None:
    """XNLI, TLM against WEAM: zero-shot and translate-train."""
    note = "Rows with a dagger print other papers' numbers; ours are trained here."
    fill(lab, "weam:Table2", partial(_cell, lab, "xnli"), note=note)


def figure2(lab: Lab) -> None:
    """Frequent aligned words before and after: t-SNE of 20 English-German links without stop words."""

    def draw() -> Work:
        weam = _pair_model(lab, "weam", "de", lab.seeds[0])
        panels = {"mBERT": lab.checkpoint(start(lab, MBERT)), "mBERT+WEAM": lab.checkpoint(weam)}
        options = {"corpus": [aligned(lab, "de")], "count": 20, "stop_words": "auto", "pieces": "mean"}
        return lab.make(
            "weam figure2", DrawFigure, type="map", name="figure2", panels=panels, options=options
        )

    lab.figure("weam figure2", draw)


def masking_rate(lab: Lab) -> None:
    """The share of masked tokens, of TLM and of WEAM (§3.1: 0.3 "gives better performance"; no figures)."""
    for (system, name), rate in product(_NAMES.items(), RATES):
        _row(lab, "weam/masking_rate", f"{name}, masking {rate:.2f}", system, masking=rate)


def loss_weight(lab: Lab) -> None:
    """The weight λ of the cross-lingual prediction (Eq. 11; §3.1 sets 1; no figures). λ = 0 is TLM."""
    for weight in WEIGHTS:
        # Without weight WEAM is TLM, whose run Tables 1 and 2 have already.
        system = "weam" if weight else "tlm"
        _row(lab, "weam/loss_weight", f"λ = {weight:g}", system, weight=weight)


def _row(lab: Lab, table: str, label: str, system: str, **values: float) -> None:
    """Add a row of zero-shot transfer by TLM or WEAM, with ``values`` in place of the sizes of the same names.

    The row has each task in English and in the three languages.
    """
    for (kind, metric), language, seed in product(_TRIED.items(), ("en", *PAIRS), lab.seeds):
        value = partial(_zero_shot_score, lab, kind, system, language, metric, seed, **values)
        lab.cell(table, row=label, column=f"{kind}.{language}", value=value, seed=seed)


def _cell(lab: Lab, kind: str, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """A score of XNLI or MLQA in the column's language, by the row's encoder and the row's way of fine-tuning.

    1. Translate-train: mBERT, fine-tuned on data translated into the column's language. In English, whose own data need
       no translation, zero-shot is the same.
    2. Zero-shot of TLM and WEAM: by the model of the column's language.
    3. Zero-shot of mBERT and of Cao et al.: by one model for all languages.
    """
    task = _task(lab, kind)
    metric = METRICS.get(column.metric, column.metric)
    language = column.language
    if row.setting == "translate-train":  # 1
        if lab.scale == "small" and kind == "xnli":
            raise UnavailableError("no translated training data here")
        if language != "en":
            scores = lab.evaluate(
                start(lab, MBERT),
                task,
                [language],
                trained_on=language,
                seed=seed,
                setting="translate_train",
            )
            return scores.value(language, metric)
        # In English the row is mBERT's zero-shot one: 3.
    if row.system in _NAMES:  # 2
        return _zero_shot_score(lab, kind, row.system, language, metric, seed)
    encoder: Work | External  # 3
    if row.system == "mbert":
        encoder = start(lab, MBERT)
    else:
        spoken = lab.at(("es", "de"), ("es", "de"), ("bg", "de", "el", "es", "fr"))
        encoder = cao2020(lab, MBERT, spoken, seed)
    return zero_shot(lab, encoder, task, seed).value(language, metric)


def _task(lab: Lab, kind: str) -> StudyTask:
    """Return MLQA or XNLI, with the settings that all systems of a table share."""
    train = languages.tuning(lab, kind, warmup=lab.size[f"{kind}_warmup"])
    spoken = PAIRS
    if kind == "xnli" and lab.scale != "paper":
        # There are no development data to choose a checkpoint by: the last one is taken.
        train |= {"evaluate_every": None, "select": "last"}
        spoken = lab.at(PAIRS, ("es", "de"), PAIRS)
    return StudyTask(kind, task_data(lab, kind, PAIRS), spoken, preset="weam", train=train)


def _zero_shot_score(
    lab: Lab, kind: str, system: str, language: str, metric: str, seed: int, **values: float
) -> float:
    """The zero-shot score of TLM or WEAM in a language: that of the language's own model.

    English is in every model: its score is the mean of all three. ``values`` as in :func:`_pair_model`.
    """
    task = _task(lab, kind)
    scores_of_models = []
    for other in PAIRS if language == "en" else (language,):
        encoder = _pair_model(lab, system, other, seed, **values)
        # Each model is evaluated once, in both of its languages, whichever of them is asked for.
        both = ["en", other] if other in task.languages else ["en"]
        scores = lab.evaluate(encoder, task, both, trained_on="en", seed=seed, setting="zero_shot")
        scores_of_models.append(scores.value(language, metric))
    return fmean(scores_of_models)


def _pair_model(lab: Lab, system: str, language: str, seed: int, **values: float) -> Work:
    """Ask for WEAM, or TLM with the same data and settings (§3.1), of English and another language.

    ``values``: ``masking`` or ``weight`` in place of the study's size.
    """
    size = lab.size | values
    exchange = {name: size[name] for name in ("unaligned", "many", "head", "share_linear")}
    # A weight of 1 is the recipe's own and stays unwritten: a written one would change the hash of runs that exist.
    if system == "weam" and size["weight"] != 1:
        exchange["weight"] = size["weight"]

    # Only values that make another run than the study's sizes are part of the name, so that tables share runs. They
    # are compared with `lab.setting.size`: a look into `lab.size` would list the size as one that the cell depends on.
    changed = []
    for name, value in values.items():
        if system in _CHANGED_BY[name] and value != lab.setting.size[name]:
            changed.append(f"{name}={value}")
    run = " ".join([system, *changed])
    sections = {
        "streams": {"bitext": {"path": aligned(lab, language), "encode": {"max_length": size["length"]}}},
        "views": {"pair": {"probability": size["masking"], "max_length": size["length"]}},
        "objectives": {
            "masked_lm": {"head": "literal" if size["head"] == "literal" else "model"},
            "word_exchange": None if system == "tlm" else exchange,
        },
        "batch": {"examples": size["batch"]},
        "epochs": {"count": size["epochs"]},
        "train": {"learning_rate": size["learning_rate"]},
    }
    return continued(lab, run, "weam", start(lab, MBERT), sections, seed=seed, name=f"{run} {language}")
