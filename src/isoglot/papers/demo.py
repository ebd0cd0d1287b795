"""``isoglot demo``: ALIGN-MLM's comparison of four objectives, offline and in a few minutes.

The demo trains in the miniature world with one seed. That is too small for numbers like the paper's; only the order of
the objectives may be compared. ``isoglot study align_mlm/table3 --scale tiny`` is the longer run.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import isoglot as iso
from isoglot.papers import align_mlm
from isoglot.papers.align_mlm import SYSTEMS, alignment_of, encoder_of, row_of
from isoglot.papers.align_mlm_data import derived, language_of
from isoglot.studies import DrawFigure, Lab, StudyRequest, Work, WriteGold, at_scale, run_studies

ORDER = "trans+inv"
TASKS = ("pos", "xnli")
_SMALLER: dict[str, Any] = {  # in place of ALIGN-MLM's at scale tiny
    "seeds": [1],
    "dictionary": 1.0,  # the whole; a quarter, as in the paper, aligns the rest too, but in 500,000 steps
    "parallel": 1.0,
    "vocabulary": 1500,
    "batch": 24,
    "steps": 800,
    "warmup": 80,
    "learning_rate": 2e-3,
    "lexemes": 800,
    "text": 12_000,
    "pos": 1_500,
    "ner": 0,
    "nli": 8_000,
    "dev": 600,
    "script": "hangul",  # most computers can show it
    "tuning_rate": 5e-4,
    "tuning_rate_nli": 5e-4,
    "tuning_batch": 32,
    "tuning_epochs": 3,
    "tuning_epochs_nli": 4,
}
SIZES = {
    name: (_SMALLER.get(name, at_scale(value, "tiny")), at_scale(value, "small"), at_scale(value, "paper"))
    for name, value in align_mlm.SIZES.items()
}
ABOUT, VARIANTS = align_mlm.ABOUT, align_mlm.VARIANTS
_VIEWED = 12
"""Sentences in each word-alignment viewer."""
INTRODUCTION = (
    "Can an encoder use in one language what it learned in another? Here the two languages are English of a small "
    "made-up world and a copy of it, called trans+inv: each word is written in other letters (trans), and the "
    "words of each sentence stand in reverse order (inv), so that the two share neither words nor word order, and "
    "every true translation is known. Four small encoders learn both from scratch. MLM only fills in masked words "
    "of each language; XLM also does so in pairs of translated sentences; DICT-MLM sometimes has to answer with "
    "the translation of a masked word; ALIGN-MLM fills in masked words and pulls the vectors of a dictionary's "
    "word pairs together. Each is then fine-tuned on English and tested on the copy (zero-shot, ZS), or "
    "fine-tuned and tested on the copy (supervised, SUP). Δ = SUP − ZS is what the change of language costs: the "
    "nearer to 0, the better the encoder transfers."
)
"""First paragraph of the page."""
_GOLD = 100
"""Sentences with gold links, in which the links of each layer are scored."""
_MAPPED = 3000
"""Sentences whose frequent words are drawn in the map."""


def demo(lab: Lab) -> None:
    """Four objectives from scratch, English and its inverted, transliterated copy."""
    if len(lab.seeds) > 1:
        raise iso.ConfigurationError(
            "the demo has one seed; give [[seed=2]], or `isoglot study align_mlm/table3`"
        )
    seed = lab.seeds[0]
    for system, name in SYSTEMS.items():
        row_of(lab, "align_mlm:Table3", f"{name} / {ORDER}", system, ORDER, tasks=TASKS)
        value = partial(alignment_of, lab, system, ORDER, seed)
        lab.cell("align_mlm:Table8", row=f"{system} / {ORDER}", column="alignment", value=value, seed=seed)
    for kind in ("map", "layers", "alignments"):
        lab.figure(kind, partial(_figure, lab, kind))


def _figure(lab: Lab, kind: str) -> Work:
    """Ask for a figure: a map of words, links by layer, or links to look at.

    Links by layer are drawn for all four encoders, the other two figures for MLM and ALIGN-MLM.
    """
    folder = derived(lab, ORDER) / language_of(ORDER)
    links = lab.make("gold", WriteGold, corpora={"en-xx": f"{folder}/pos.dev/aligned"}, limit=_GOLD)
    gold = links / "en-xx.jsonl"
    encoders = {}
    for system, name in SYSTEMS.items():
        encoders[name] = lab.checkpoint(encoder_of(lab, system, ORDER, lab.seeds[0]))

    panels = {name: encoders[name] for name in ("MLM", "ALIGN-MLM")}
    options: dict[str, Any]
    if kind == "map":
        about = "a map of words"
        options = {"corpus": [f"{folder}/text/aligned"], "distinct": True, "limit": _MAPPED}
    elif kind == "layers":
        about = "links by layer"
        options = {"gold": [gold], "methods": ["argmax"]}
        panels = encoders
    else:
        about = "links to look at"
        options = {"gold": gold, "method": "argmax", "layer": 0, "limit": _VIEWED}
    return lab.make(kind, DrawFigure, about=about, type=kind, name=kind, panels=panels, options=options)


def run_demo(
    out: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: Any = None,
) -> tuple[list[iso.Result], Path]:
    """Run the demo and write its page; return the results and the page's path.

    Args:
        out: Folder of the demo.
        changes: Sizes in place of the demo's.
        workers: Processes; by default one per core, at most four.
        progress: Gets lines and bars.
    """
    request = StudyRequest(settings=dict(changes or {}), workers=workers)
    (study,) = run_studies(["demo"], out=out, request=request, progress=progress)

    # The page has the results, and the training curves in the folders of the four encoders.
    lab = study.program.lab
    folders = [f"{name}={encoder_of(lab, system, ORDER, lab.seeds[0])}" for system, name in SYSTEMS.items()]
    # Results call a run by its system, `align_mlm`; the page calls it ALIGN-MLM.
    names = {run: SYSTEMS[run] for run in dict.fromkeys(row.run for row in study.results)}
    options = iso.ReportOptions(
        title="isoglot demo: ALIGN-MLM's four objectives",
        introduction=INTRODUCTION,
        rename=names,
        baseline=SYSTEMS["mlm"],
    )
    page = iso.report([study.folder, *folders], out=Path(out) / "report.html", options=options)
    return [row.model_copy(update={"run": names[row.run]}) for row in study.results], page
