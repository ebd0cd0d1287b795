"""WEAM (Yang et al. 2021): a model a language pair, multilingual BERT continued; TLM is WEAM without its second loss.

``tableN`` and ``figureN`` are the paper's. Word links: FastAlign in the paper, HMM at small, by construction at tiny.
"""

from functools import partial
from statistics import fmean
from typing import Any

from isoglot.papers import languages
from isoglot.papers.languages import METRICS, aligned, cao2020, continued, fill, start, task_data, zero_shot
from isoglot.studies import (
    DrawFigure,
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
PAIRS, MBERT = ("es", "de", "zh"), "bert-base-multilingual-cased"


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


def _cell(lab: Lab, kind: str, row: PaperRow, column: PaperColumn, seed: int) -> float:
    """A number of the row's encoder; English of TLM and WEAM is the mean over their three models."""
    train, spoken = languages.tuning(lab, kind, warmup=lab.size[f"{kind}_warmup"]), PAIRS
    if kind == "xnli" and lab.scale != "paper":  # there are no development data
        train |= {"evaluate_every": None, "select": "last"}
        spoken = lab.at(PAIRS, ("es", "de"), PAIRS)
    task = StudyTask(kind, task_data(lab, kind, PAIRS), spoken, preset="weam", train=train)
    metric, language = METRICS.get(column.metric, column.metric), column.language
    if row.setting == "translate-train" and lab.scale == "small" and kind == "xnli":
        raise UnavailableError("no translated training data here")
    if row.setting == "translate-train" and language != "en":
        how: dict[str, Any] = {"trained_on": language, "seed": seed, "setting": "translate_train"}
        return lab.evaluate(start(lab, MBERT), task, [language], **how).value(language, metric)
    if row.system in ("tlm", "weam"):
        numbers = []
        for pair in PAIRS if language == "en" else (language,):  # fine-tuned on English
            encoder = _pair_model(lab, row.system, pair, seed)
            both = ["en", *([pair] if pair in task.languages else [])]
            scores = lab.evaluate(encoder, task, both, trained_on="en", seed=seed, setting="zero_shot")
            numbers.append(scores.value(language, metric))
        return fmean(numbers)
    if row.system == "mbert":
        return zero_shot(lab, start(lab, MBERT), task, seed).value(language, metric)
    few = lab.at(("es", "de"), ("es", "de"), ("bg", "de", "el", "es", "fr"))
    encoder = cao2020(lab, MBERT, few, seed)
    return zero_shot(lab, encoder, task, seed).value(language, metric)


def _pair_model(lab: Lab, system: str, pair: str, seed: int) -> Work:
    """WEAM, or TLM with the same data and settings (§3.1), of one language pair."""
    size = lab.size
    exchange = {name: size[name] for name in ("unaligned", "many", "head", "share_linear")}
    sections = {
        "streams": {"bitext": {"path": aligned(lab, pair), "encode": {"max_length": size["length"]}}},
        "views": {"pair": {"probability": size["masking"], "max_length": size["length"]}},
        "objectives": {
            "masked_lm": {"head": "literal" if size["head"] == "literal" else "model"},
            "word_exchange": None if system == "tlm" else exchange,
        },
        "batch": {"examples": size["batch"]},
        "epochs": {"count": size["epochs"]},
        "train": {"learning_rate": size["learning_rate"]},
    }
    return continued(lab, system, "weam", start(lab, MBERT), sections, seed=seed, name=f"{system} {pair}")
