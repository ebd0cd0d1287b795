"""Made-up runs with every kind of file that a report reads."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from isoglot.reports.papers import paper_table
from isoglot.results.rows import Cell, Result, append, write_cells

LANGUAGES = ("en", "es", "de", "ar", "hi", "zh")
GAIN = {"mlm": 0.0, "tlm": 2.1, "weam": 3.4, "ppa": 3.0}
MBERT = "bert-base-multilingual-cased"
WORDS = [
    ("house", "Haus"),
    ("water", "Wasser"),
    ("year", "Jahr"),
    ("work", "Arbeit"),
    ("city", "Stadt"),
    ("child", "Kind"),
    ("night", "Nacht"),
    ("book", "Buch"),
    ("door", "Tür"),
    ("green", "grün"),
    ("school", "Schule"),
    ("street", "Straße"),
]


def write_run(root: Path, run: str, seed: int, *, encoder: str = MBERT) -> Path:
    folder = root / f"{run}-seed{seed}"
    folder.mkdir(parents=True)
    recipe_hash = f"{run}{seed}".ljust(16, "0")
    record = {
        "name": run,
        "seed": seed,
        "recipe_hash": recipe_hash,
        "values": {"model": {"path": encoder}},
        "versions": {"python": "3.11.2", "torch": "2.13.0"},
    }
    (folder / "run.json").write_text(json.dumps(record))
    append(folder / "results.jsonl", _rows(run, seed, recipe_hash))
    for step in (200, 400):
        state = folder / f"checkpoint-{step}" / "trainer_state.json"
        state.parent.mkdir()
        state.write_text(json.dumps({"global_step": step, "log_history": _history(run, seed, step)}))
    return folder


def _rows(run: str, seed: int, recipe_hash: str) -> list[Result]:
    rng = random.Random(f"{run}{seed}")
    hard = dict(zip(LANGUAGES, (82, 74.5, 72, 64, 61, 70), strict=True))
    rows = []
    for language, base in hard.items():
        gain = 0 if language == "en" else GAIN[run]
        shared: dict[str, Any] = {
            "run": f"{run}-seed{seed}",
            "language": language,
            "seed": seed,
            "recipe_hash": recipe_hash,
            "checkpoint_hash": f"{seed:016x}",
        }
        value = base + gain + rng.gauss(0, 0.5)
        rows.append(Result(task="xnli", metric="accuracy", value=value, examples=5010, **shared))
        rows.append(Result(task="mlqa", metric="f1", value=value - 8, examples=4918, **shared))
        rows.append(Result(task="mlqa", metric="em", value=value - 25, examples=4918, **shared))
        if language in ("de", "es", "ar"):
            aer = 32 - 2 * gain + rng.gauss(0, 0.4)
            pair = {**shared, "language": f"{language}-en"}
            rows.append(Result(task="word_alignment", metric="aer", value=aer, examples=508, **pair))
    return rows


def _history(run: str, seed: int, steps: int) -> list[dict[str, float]]:
    rng = random.Random(f"{run}{seed}curve")
    entries = []
    for step in range(10, steps + 1, 10):
        loss = 2.2 + 5.5 * math.exp(-step / 110) - 0.05 * GAIN[run] + rng.gauss(0, 0.05)
        entry = {
            "step": step,
            "loss": loss,
            "masked_lm/loss": loss,
            "masked_lm/accuracy": 0.6 - loss / 16,
            "learning_rate": 5e-5 * (1 - step / steps),
            "grad_norm": 1 + rng.random(),
        }
        entries.append(entry)
    return entries


def write_figures(root: Path) -> Path:
    folder = root / "analysis" / "figures"
    folder.mkdir(parents=True)
    rng = random.Random(7)
    panels = []
    for title, gap in (("before", 7.0), ("after", 1.1)):
        points: list[dict[str, Any]] = []
        pairs: list[list[int]] = []
        for en, de in WORDS:
            x, y = rng.uniform(-10, 10), rng.uniform(-10, 10)
            pairs.append([len(points), len(points) + 1])
            points.append({"x": x, "y": y, "word": en, "language": "en"})
            points.append(
                {
                    "x": x + rng.uniform(-gap, gap),
                    "y": y + rng.uniform(-gap, gap),
                    "word": de,
                    "language": "de",
                }
            )
        panels.append({"title": title, "points": points, "pairs": pairs})
    _write(
        folder / "1_tsne.json",
        kind="embedding_map",
        title="Frequent aligned words, before and after training",
        panels=panels,
        note="t-SNE of static input embeddings.",
    )
    drops = {"MLM": (0.5, 14), "XLM": (22, 9), "DICT-MLM": (61, 6), "ALIGN-MLM": (94, 4)}
    points = [
        {"x": x + rng.uniform(-3, 3), "y": y + shift + rng.uniform(-1, 1), "group": group, "label": transform}
        for group, (x, y) in drops.items()
        for transform, shift in (("trans", -5), ("trans+inv", 2), ("trans+syn", 0))
    ]
    _write(
        folder / "2_scatter.json",
        kind="scatter",
        title="Alignment against zero-shot drop, XNLI",
        points=points,
        x_label="alignment (%)",
        y_label="drop Δ (points)",
        correlate="-y",
    )
    series = []
    for label, low in (("mlm", 34), ("tlm", 28), ("weam", 22)):
        rates = [low + 0.75 * (layer - 8) ** 2 + rng.uniform(-0.5, 0.5) for layer in range(13)]
        series.append({"label": label, "x": list(range(13)), "y": rates, "sd": [0.8] * 13})
    _write(
        folder / "3_layers.json", kind="layers", title="AER by layer, de–en", series=series, better="lower"
    )
    pairs_ = [
        {
            "id": "de 1",
            "src": "Wir müssen das Haus am Fluss heute noch verkaufen .",
            "src_language": "de",
            "tgt": "We have to sell the house by the river today .",
            "tgt_language": "en",
            "links": "0-0 1-1 1-2 2-4 3-5 4-6 5-8 6-9 7-5 8-3 9-10",
            "sure": "0-0 2-4 3-5 5-8 6-9 8-3 9-10",
            "possible": "1-1 1-2 4-6 4-7",
        },
        {
            "id": "ar 1",
            "src": "ذهب الولد إلى المدرسة صباح اليوم",
            "src_language": "ar",
            "tgt": "the boy went to school this morning",
            "tgt_language": "en",
            "links": "0-2 1-1 1-0 2-3 3-4 4-6",
            "sure": "0-2 1-1 2-3 3-4 4-6 5-5",
            "possible": "1-0",
        },
        {
            "id": "he 1",
            "src": "she reads a book",
            "src_language": "en",
            "tgt": "היא קוראת ספר",
            "tgt_language": "he",
            "links": "0-0 1-1 3-2",
            "sure": "0-0 1-1 3-2",
            "possible": "2-2",
        },
        {
            "id": "zh 1",
            "src": "我们 喜欢 音乐 。",
            "src_language": "zh",
            "tgt": "we like music .",
            "tgt_language": "en",
            "links": "0-0 1-1 2-2 3-3",
            "sure": "0-0 1-1 2-2 3-3",
            "possible": "",
        },
    ]
    text = "".join(json.dumps(_split(pair), ensure_ascii=False) + "\n" for pair in pairs_)
    (folder / "4_word_links.jsonl").write_text(text, encoding="utf-8")
    return folder


def _split(pair: dict[str, str]) -> dict[str, object]:
    words = {name: pair[name].split() for name in ("src", "tgt")}
    links = {
        name: [[int(place) for place in link.split("-")] for link in pair[name].split()]
        for name in ("links", "sure", "possible")
    }
    return {**pair, **words, **links}


def write_demo(root: Path) -> Path:
    for run in GAIN:
        for seed in (1, 2, 3):
            write_run(root, run, seed)
    write_figures(root)
    return root


def write_studies(root: Path, **rows: str) -> None:
    """Cells of a study for each table of the papers, called ``weam_2``, in one of its rows."""
    for name, row in rows.items():
        paper, _, number = name.rpartition("_")
        table = paper_table(f"{paper}:{number}")
        columns = [column for column in table.columns if not column.average]
        cells = [
            Cell(table=table.name, row=(row,), column=(column.id,), value=60.0 + seed, seed=seed)
            for column in columns
            for seed in (1, 2)
        ]
        write_cells(root / name / "cells.jsonl", cells)


def _write(path: Path, **figure: object) -> None:
    path.write_text(json.dumps(figure, ensure_ascii=False), encoding="utf-8")
