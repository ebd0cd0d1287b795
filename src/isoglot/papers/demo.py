"""``isoglot demo``: ALIGN-MLM's story offline: four objectives from scratch, and what each buys across languages.

The miniature world, one seed, a few minutes: small enough to watch, too small for figures to be compared with the
paper's; the order of the objectives is what may be. ``isoglot study align_mlm/table3 --scale tiny`` is the longer one.
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
    "dictionary": 1.0,  # all there is; the paper's quarter aligns the rest too, in 500,000 steps
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
    "word pairs together. Each is then fine-tuned on English and tested on the copy (zero-shot, ZS), or fine- "
    "tuned and tested on the copy (supervised, SUP). Δ = SUP − ZS is what the change of language costs: the "
    "nearer to 0, the better the encoder transfers."
)
"""First paragraph of the page."""
_GOLD, _MAPPED = 100, 3000
"""Sentences whose links are scored by layer, and those whose frequent words are mapped."""


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

    def draw(kind: str) -> Work:
        texts = derived(lab, ORDER) / language_of(ORDER)
        links = lab.make("gold", WriteGold, corpora={"en-xx": f"{texts}/pos.dev/aligned"}, limit=_GOLD)
        gold = links / "en-xx.jsonl"
        encoders = {
            name: lab.checkpoint(encoder_of(lab, s, ORDER, lab.seeds[0])) for s, name in SYSTEMS.items()
        }
        options: dict[str, dict[str, Any]] = {
            "map": {"corpus": [f"{texts}/text/aligned"], "distinct": True, "limit": _MAPPED},
            "layers": {"gold": [gold], "methods": ["argmax"]},
            "alignments": {"gold": gold, "method": "argmax", "layer": 0, "limit": _VIEWED},
        }
        ends = ("MLM", "ALIGN-MLM")
        panels = encoders if kind == "layers" else {name: encoders[name] for name in ends}
        about = {"map": "a map of words", "layers": "links by layer", "alignments": "links to look at"}[kind]
        return lab.make(
            kind, DrawFigure, about=about, type=kind, name=kind, panels=panels, options=options[kind]
        )

    for kind in ("map", "layers", "alignments"):
        lab.figure(kind, partial(draw, kind))


def run_demo(
    out: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: Any = None,
) -> tuple[list[iso.Result], Path]:
    """Run the demo, a process a core, and write its report: what was measured, and the page.

    ``changes`` are sizes in place of the demo's; without ``workers`` it takes a process a core, four at most.
    """
    request = StudyRequest(settings=dict(changes or {}), workers=workers)
    (study,) = run_studies(["demo"], out=out, request=request, progress=progress)
    lab = study.program.lab
    runs = [f"{name}={encoder_of(lab, s, ORDER, lab.seeds[0])}" for s, name in SYSTEMS.items()]
    names = {run: SYSTEMS[run] for run in dict.fromkeys(row.run for row in study.results)}
    title = "isoglot demo: ALIGN-MLM's four objectives"
    options = iso.ReportOptions(title=title, introduction=INTRODUCTION, rename=names, baseline=SYSTEMS["mlm"])
    page = iso.report([study.folder, *runs], out=Path(out) / "report.html", options=options)
    return [row.model_copy(update={"run": names[row.run]}) for row in study.results], page
