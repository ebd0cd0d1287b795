"""Pairs of rows are in the paper's order, in the opposite one, or too close to order."""

from __future__ import annotations

from isoglot.reports.order_agreement import order_agreement
from isoglot.reports.papers import paper_table
from isoglot.reports.stats import Score


def test_pairs_are_kept_broken_or_within_noise() -> None:
    paper = paper_table("weam:2")
    rows = [paper.row("tlm"), paper.row("weam"), paper.row("translate-train", "mBERT")]
    given = {"en": (60.0, 60.2), "es": (50.0, 53.0), "de": (45.0, 40.0)}
    ours = {
        (i, lang): Score.of([means[i] + jitter for jitter in (-0.5, 0.0, 0.5)])
        for lang, means in given.items()
        for i in (0, 1)
    }
    ours |= {(2, lang): Score.of([99.0]) for lang in given}  # another setting: ordered against none of them
    found = order_agreement(rows, ["en", "es", "de"], ours)
    assert found == {"en": {"close": 1}, "es": {"kept": 1}, "de": {"broken": 1}}
