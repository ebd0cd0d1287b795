"""What benchmarks/ranking.sh measured: means over seeds with 95 % intervals, and which system is above which.

    python ranking_table.py SCORES.jsonl...

An interval is Student's t over the seeds; a difference is taken seed by seed, so what both systems share cancels out.
"""

import sys

import pandas as pd
from scipy import stats

COLUMNS = {
    ("word_alignment", "aer"): "AER",
    ("tatoeba", "accuracy"): "Tatoeba",
    ("pos", "f1"): "POS",
}
"""Measures; each column is the mean over the languages but English."""
ORDERS = (
    ("weam", "tlm"),
    ("ppa", "tlm"),
    ("xlm_align", "tlm"),
    ("tlm", "mlm"),
    ("weam", "mlm"),
    ("ppa", "mlm"),
    ("xlm_align", "mlm"),
    ("ppa", "weam"),
    ("word_l2", "mlm"),
    ("self_training", "word_l2"),
    ("links_and_contrast", "self_training"),
    ("mlm", "encoder"),
    ("tlm", "encoder"),
)
"""Pairs whose order is asked for: those of the papers first."""


def shown(values: pd.Series, sign: str = "") -> str:
    """A mean with half of its 95 % interval, which one value does not have."""
    values = values.dropna()
    mean = f"{values.mean():{sign}.1f}" if len(values) else "–"
    if len(values) < 2:
        return mean
    return f"{mean} ± {stats.sem(values) * stats.t.ppf(0.975, len(values) - 1):.1f}"


def main() -> None:
    rows = pd.concat([pd.read_json(path, lines=True) for path in sys.argv[1:]])
    rows = rows[rows.language != "en"]
    rows["column"] = [COLUMNS.get(key) for key in zip(rows.task, rows.metric, strict=True)]
    rows = rows.dropna(subset="column")
    seeds = sorted(rows.seed.dropna().astype(int).unique())
    # The encoder as it is has no seed until a head is trained on it: it is the same for each.
    own, once = rows[rows.seed.notna()], rows[rows.seed.isna()]
    rows = pd.concat([own, *(once.assign(seed=seed) for seed in seeds)]).drop_duplicates(
        ["run", "column", "language", "seed"]
    )
    means = rows.groupby(["run", "column", "seed"]).value.mean().unstack("seed")
    means = means.reindex(
        pd.MultiIndex.from_product([means.index.levels[0], COLUMNS.values()], names=means.index.names)
    )
    count = means.groupby("run").apply(lambda part: part.notna().all().sum())
    order = means.xs("AER", level="column").mean(axis=1).sort_values(ascending=False).index
    print(f"seeds {', '.join(map(str, seeds))}\n")
    print("| continued with | " + " | ".join(COLUMNS.values()) + " | seeds |")
    print("|---|" + "---:|" * (len(COLUMNS) + 1))
    for run in order:
        cells = [shown(means.loc[run, column]) for column in COLUMNS.values()]
        print(f"| {run} | {' | '.join(cells)} | {count[run]} |")
    print("\n| above | below | " + " | ".join(COLUMNS.values()) + " |")
    print("|---|---|" + "---:|" * len(COLUMNS))
    for above, below in ORDERS:
        if {above, below} <= set(order):
            cells = [shown(means.loc[above, c] - means.loc[below, c], "+") for c in COLUMNS.values()]
            print(f"| {above} | {below} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
