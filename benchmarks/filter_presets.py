"""The presets of `isoglot filter` and OpusFilter's rules on pairs with planted noise: what each keeps.

    python benchmarks/planted_noise.py DATA PAIRS
    OPUSFILTER_PYTHON benchmarks/opusfilter_rules.py PAIRS
    python benchmarks/filter_presets.py PAIRS [--sweep]

Precision is the share of clean pairs among those that are kept, recall the share of the clean pairs that are kept.
`--sweep` shows both for more thresholds, on the languages of the choice alone.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.core.checks import validated
from isoglot.formats.sentence_pair import SentencePair
from isoglot.mining.options import FilterRequest
from isoglot.mining.pair_rules import PairRules
from planted_noise import CHOSEN, REPORTED

Row = dict[str, Any]


class Pairs:
    """The pairs of one language with their scores; what rules drop is found once for each set of rules."""

    def __init__(self, folder: Path, language: str) -> None:
        path = folder / f"en-{language}.jsonl"
        self.language = language
        self.rows: list[Row] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        other = path.with_suffix(".opusfilter.json")
        self.opusfilter: Any = json.loads(other.read_text(encoding="utf-8")) if other.exists() else None
        self.seconds: dict[str, float] = {}
        self._broken: dict[str, list[list[str]]] = {}

    def kept(self, request: FilterRequest) -> list[bool]:
        """Which pairs the rules and thresholds of a request keep."""
        rules = request.model_copy(update={"min_alignment": None, "min_margin": None})
        key = rules.model_dump_json()
        if key not in self._broken:
            began = time.process_time()
            pairs = [SentencePair.of(row["source"], row["target"]) for row in self.rows]
            self._broken[key] = PairRules(request).reasons(pairs, ("en", self.language))
            self.seconds[request.preset or ""] = time.process_time() - began
        kept = []
        for row, broken in zip(self.rows, self._broken[key], strict=True):
            low = [
                name for name, least in request.thresholds.items() if row["scores"].get(name, -1.0) < least
            ]
            kept.append(not broken and not low)
        return kept


def rates(rows: Sequence[Row], kept: Sequence[bool]) -> tuple[float, float]:
    """Precision and recall of the kept pairs, in %."""
    clean = sum(row["kind"] == "clean" for row in rows)
    good = sum(row["kind"] == "clean" for row, is_kept in zip(rows, kept, strict=True) if is_kept)
    return 100 * good / max(1, sum(kept)), 100 * good / clean


def print_rates(title: str, languages: Mapping[str, Pairs], kept: Mapping[str, Sequence[bool]]) -> None:
    """A row of the table: precision / recall for each language, and for all pairs together."""
    cells = []
    for code, pairs in languages.items():
        precision, recall = rates(pairs.rows, kept[code])
        cells.append(f"{precision:.1f} / {recall:.1f}")
    every_row = [row for pairs in languages.values() for row in pairs.rows]
    every_kept = [is_kept for code in languages for is_kept in kept[code]]
    precision, recall = rates(every_row, every_kept)
    print(f"| {title} | {' | '.join(cells)} | {precision:.1f} / {recall:.1f} |", flush=True)


def print_kinds(languages: Mapping[str, Pairs], by_title: Mapping[str, Mapping[str, Sequence[bool]]]) -> None:
    """How much of each kind of noise is dropped, in %."""
    print(f"\n| noise | pairs | {' | '.join(by_title)} |")
    counts: Counter[str] = Counter()
    dropped: dict[str, Counter[str]] = {title: Counter() for title in by_title}
    for code, pairs in languages.items():
        for number, row in enumerate(pairs.rows):
            counts[row["kind"]] += 1
            for title, kept in by_title.items():
                dropped[title][row["kind"]] += not kept[code][number]
    for kind, count in sorted(counts.items()):
        cells = " | ".join(f"{100 * dropped[title][kind] / count:.0f}" for title in by_title)
        print(f"| {kind} | {count} | {cells} |")


def sweep(languages: Mapping[str, Pairs]) -> None:
    """Precision and recall of the rules of `web` with other thresholds."""
    tried: tuple[dict[str, Any], ...] = (
        *({"min_alignment": least} for least in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)),
        *({"min_margin": least} for least in (0.9, 0.94, 0.96, 0.98, 1.0, 1.02, 1.04)),
        *({"min_language": least} for least in (0.2, 0.5)),
        *({"max_copied": least} for least in (0.4, 0.5, 0.8)),
        *({"max_length_ratio": least} for least in (2.0, 2.5, 3.0, 4.0)),
        {"numbers": "any"}, {"numbers": "missing"}, {"placeholders": False},
        {"min_alignment": 0.5, "min_margin": 1.02},
    )  # fmt: skip
    for values in tried:
        request = validated(FilterRequest, {"preset": "web", **values})
        kept = {code: pairs.kept(request) for code, pairs in languages.items()}
        print_rates(", ".join(f"{name} {value}" for name, value in values.items()), languages, kept)


def main() -> None:
    """Print the tables of docs/results/filter.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--sweep", action="store_true")
    given = parser.parse_args()
    for title, codes in (("chosen on", CHOSEN), ("reported on", REPORTED)):
        present = [code for code in codes if (given.pairs / f"en-{code}.jsonl").exists()]
        languages = {code: Pairs(given.pairs, code) for code in present}
        print(f"\n| {title} | {' | '.join(languages)} | all |")
        by_title: dict[str, dict[str, Sequence[bool]]] = {}
        for preset in ("web", "tm", "ui"):
            request = validated(FilterRequest, {"preset": preset})
            by_title[preset] = {code: pairs.kept(request) for code, pairs in languages.items()}
        rules = validated(FilterRequest, {"preset": "web", "model": "none", "aligner": "none"})
        by_title["web, rules alone"] = {code: pairs.kept(rules) for code, pairs in languages.items()}
        if all(pairs.opusfilter for pairs in languages.values()):
            by_title["OpusFilter"] = {code: pairs.opusfilter["kept"] for code, pairs in languages.items()}
        by_title["everything"] = {code: [True] * len(pairs.rows) for code, pairs in languages.items()}
        for name, kept in by_title.items():
            print_rates(name, languages, kept)
        print_kinds(languages, by_title)
        for code, pairs in languages.items():
            other = pairs.opusfilter["seconds"] if pairs.opusfilter else float("nan")
            own = pairs.seconds.get("web", float("nan"))
            print(
                f"{code}: {len(pairs.rows)} pairs; rules of web {own:.0f} CPU s, OpusFilter {other:.0f} CPU s"
            )
        if given.sweep and codes is CHOSEN:
            sweep(languages)


if __name__ == "__main__":
    main()
