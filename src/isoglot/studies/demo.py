"""``isoglot demo``: ALIGN-MLM's story offline: four objectives from scratch, and what each buys across languages.

The miniature world, one seed, a few minutes: small enough to watch, too small for figures to be compared with the
paper's; the order of the objectives is what may be. ``isoglot study align_mlm/table3 --scale tiny`` is the longer one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.reports.curves import read_curves
from isoglot.reports.options import ReportOptions
from isoglot.results import Result, read
from isoglot.runs.pool import usable_cores
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.studies import align_mlm
from isoglot.studies.align_mlm import SYSTEMS, alignment_of, encoder_of, row_of
from isoglot.studies.align_mlm_data import derived, language_of
from isoglot.studies.catalogue import Study
from isoglot.studies.engine import Store, make_calls
from isoglot.studies.lab import Lab
from isoglot.studies.program import build_programs, inspect_programs, write_program
from isoglot.studies.sizes import SCALES, at_scale
from isoglot.studies.steps import WriteGold
from isoglot.studies.training_steps import DrawFigure

ORDER = "trans+inv"
TASKS = ("pos", "xnli")
SIZES: dict[str, Any] = {  # in place of ALIGN-MLM's at scale tiny
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
_SHOWN = 12
"""Sentences in each word-alignment viewer."""
_GOLD, _MAPPED = 100, 3000
"""Sentences whose links are scored by layer, and those whose frequent words are mapped."""


def demo(lab: Lab) -> None:
    """Four objectives from scratch, English and its inverted, transliterated copy."""
    (seed,) = lab.seeds
    for system, name in SYSTEMS.items():
        row_of(lab, "align_mlm:Table3", f"{name} / {ORDER}", system, ORDER, tasks=TASKS)
        row, value = f"{system} / {ORDER}", alignment_of(lab, system, ORDER, seed)
        lab.cell("align_mlm:Table8", row=row, column="alignment", value=value, seed=seed)
    texts = derived(lab, ORDER) / language_of(ORDER)
    links = lab.make("gold", WriteGold, corpora={"en-xx": texts / "pos.dev/aligned"}, limit=_GOLD)
    gold = links / "en-xx.jsonl"
    every = {name: lab.checkpoint(encoder_of(lab, s, ORDER, seed)) for s, name in SYSTEMS.items()}
    ends = {name: every[name] for name in ("MLM", "ALIGN-MLM")}
    words = {"corpus": [texts / "text/aligned"], "distinct": True, "limit": _MAPPED}
    shown = {"gold": gold, "method": "argmax", "layer": 0, "limit": _SHOWN}
    layers = {"gold": [gold], "methods": ["argmax"]}
    for kind, panels, options in (
        ("map", ends, words),
        ("layers", every, layers),
        ("alignments", ends, shown),
    ):
        lab.draw(kind, DrawFigure, type=kind, name=kind, panels=panels, options=options)


def run_demo(
    out: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: AnyReporter | None = None,
) -> tuple[list[Result], Path]:
    """Run the demo, a process a core, and write its report: what was measured, and the page.

    ``changes`` are sizes in place of the demo's; without ``workers`` it takes a process a core, four at most.
    """
    from isoglot.reports.render import report as draw_page  # noqa: PLC0415 - loads the libraries

    report, store = reporter_of(progress), Store(Path(out))
    usual = {name: [at_scale(own, scale) for scale in SCALES] for name, own in align_mlm.SIZES.items()}
    sizes = {name: (SIZES.get(name, tiny), *larger) for name, (tiny, *larger) in usual.items()}
    study = Study("demo", str(demo.__doc__), demo, sizes, align_mlm.ABOUT, align_mlm.VARIANTS)
    (program,) = build_programs([study], scale="tiny", changes=changes or {})
    if len(program.lab.seeds) > 1:
        raise ConfigurationError("the demo has one seed; give --seed 2, or `isoglot study align_mlm/table3`")
    inspect_programs([program], store)
    workers = min(workers or usable_cores(), len(SYSTEMS))
    made = make_calls(program.targets(), store.root, workers=workers, progress=report)
    if made.failed:
        raise ConfigurationError(
            [f"{call.title}: {message}" for call, message in made.failed.items()],
            heading="the demo could not be finished; type the same command again to go on",
        )
    report.note("drawing the report")
    _, folder = write_program(program, store, {})
    seed, page = program.lab.seeds[0], store.root / "report.html"
    trained = {name: store.folder(encoder_of(program.lab, s, ORDER, seed)) for s, name in SYSTEMS.items()}
    curves = [f"{name}={run}" for name, run in trained.items() if read_curves(run, name)]
    names = {program.named(system): name for system, name in SYSTEMS.items()}
    rows = [row.model_copy(update={"run": names[row.run]}) for row in read(folder)]
    title = "isoglot demo: ALIGN-MLM's four objectives"
    options = ReportOptions(title=title, rename=names, baseline=SYSTEMS["mlm"])
    draw_page([folder, *curves], out=page, options=options)
    return rows, page
