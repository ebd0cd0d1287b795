"""``isoglot world``: the miniature world's data on disk, in the formats that real data come in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from datasets import Dataset

from isoglot.errors import ConfigurationError
from isoglot.formats.treebanks import conllu
from isoglot.runs.folder import make_once
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.synthetic.options import WorldRequest
from isoglot.synthetic.world import SPLITS, World

WORLD_MANIFEST = "world.json"
"""Not ``manifest.json``, by which the readers of tasks tell a corpus: here each task has a folder of its own."""

LANGUAGE = "en"


def write_world(
    out: str | Path, request: WorldRequest, *, overwrite: bool = False, progress: AnyReporter | None = None
) -> tuple[dict[str, int], bool]:
    """Write data sets of every task, each in the format of its usual benchmark and with train, dev and test splits.

    No sentence is in two splits. The folder appears when it is complete; the same is not made again. Returned are the
    rows of each file, relative to the folder, and whether they were made now.
    """
    planned = [
        (kind, file, render, split)
        for kind, file, render in _FILES
        for split in SPLITS
        if request.rows(kind, split)
    ]
    if not planned:
        raise ConfigurationError("nothing to write; add for example --text 20000 --pos 4000")

    def make(folder: Path) -> dict[str, Any]:
        world, files = World(request.seed, request.size), dict[str, int]()
        for number, (kind, file, render, split) in enumerate(planned):
            report.progress("files of the world", number, len(planned))
            rows = request.rows(kind, split)
            if render is _conllu:
                dataset = world.treebank(rows, split=split, of=kind)
            else:
                dataset = getattr(world, kind)(rows, split=split)
            path = folder / file.format(split)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as lines:
                lines.writelines(render(dataset, split))
            files[file.format(split)] = len(dataset)
        return {"files": files}

    report = reporter_of(progress)
    manifest, made_now = make_once(
        out, {"world": request.model_dump()}, make, what="world", overwrite=overwrite, name=WORLD_MANIFEST
    )
    return manifest["files"], made_now


def _plain(rows: Dataset, split: str) -> Iterator[str]:
    return (f"{line}\n" for line in rows["text"])


def _conllu(rows: Dataset, split: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        notes = ["_" if entity == "O" else f"Entity={entity}" for entity in row["entities"]]
        yield f"{conllu(row, number, text=row['text'], notes=notes)}\n"


def _panx(rows: Dataset, split: str) -> Iterator[str]:
    for row in rows:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            yield f"{LANGUAGE}:{word}\t{tag}\n"
        yield "\n"


def _xnli(rows: Dataset, split: str) -> Iterator[str]:
    yield "language\tgold_label\tsentence1\tsentence2\tpairID\n"
    for number, row in enumerate(rows, 1):
        yield f"{LANGUAGE}\t{row['label']}\t{row['first']}\t{row['second']}\t{split}-{number}\n"


def _paws(rows: Dataset, split: str) -> Iterator[str]:
    yield "id\tsentence1\tsentence2\tlabel\n"
    for number, row in enumerate(rows, 1):
        yield f"{number}\t{row['first']}\t{row['second']}\t{row['label']}\n"


def _squad(rows: Dataset, split: str) -> Iterator[str]:
    articles = []
    for row in rows:
        answers = zip(row["answers"]["text"], row["answers"]["start"], strict=True)
        question = {
            "id": row["id"],
            "question": row["question"],
            "answers": [{"text": text, "answer_start": start} for text, start in answers],
        }
        articles.append({"title": row["id"], "paragraphs": [{"context": row["context"], "qas": [question]}]})
    yield json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n"


_FILES: tuple[tuple[str, str, Callable[[Dataset, str], Iterator[str]]], ...] = (
    ("text", "text/en.{}.txt", _plain),
    ("pos", "pos/en.{}.conllu", _conllu),
    ("ner", "ner/en/{}", _panx),
    ("nli", "nli/en.{}.tsv", _xnli),
    ("paws", "paws/en.{}.tsv", _paws),
    ("qa", "qa/en.{}.json", _squad),
    *((kind, f"trees/{kind}.{{}}.conllu", _conllu) for kind in ("text", "ner", "nli", "paws", "qa")),
)
"""Kind, file by split, and how its rows are written."""
