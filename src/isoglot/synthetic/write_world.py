"""``isoglot world``: the miniature world's data on disk, in the formats that real data come in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset

from isoglot.errors import ConfigurationError
from isoglot.runs.folder import make_once
from isoglot.synthetic.options import WorldRequest
from isoglot.synthetic.world import World

WORLD_MANIFEST = "world.json"
"""Not ``manifest.json``, by which the readers of tasks tell a corpus: here each task has a folder of its own."""

SPLITS = ("train", "dev", "test")
LANGUAGE = "en"


@dataclass(frozen=True)
class WorldSummary:
    """What was written.

    Attributes:
        files: rows by file, relative to the folder.
        skipped: the folder held the same already.
    """

    path: Path
    files: dict[str, int]
    seconds: float
    skipped: bool = False


Make = Callable[[int, str], Dataset]
Render = Callable[[Dataset, str], Iterator[str]]


class _File(NamedTuple):
    name: str
    split: str
    rows: int
    make: Make
    render: Render


def write_world(
    out: str | Path, request: WorldRequest | None = None, *, overwrite: bool = False, progress: Any = None
) -> WorldSummary:
    """Write data sets of every task, each in the format of its usual benchmark and with train, dev and test splits.

    ======== ============================= ==================================================
    kind     files                         format
    ======== ============================= ==================================================
    text     ``text/en.SPLIT.txt``         plain text, a sentence a line
    pos      ``pos/en.SPLIT.conllu``       Universal Dependencies, ``Entity=`` in the last column
    ner      ``ner/en/SPLIT``              WikiANN, as PAN-X has it: ``en:word TAB tag``
    nli      ``nli/en.SPLIT.tsv``          XNLI
    paws     ``paws/en.SPLIT.tsv``         PAWS-X
    qa       ``qa/en.SPLIT.json``          SQuAD 1.1
    trees    ``trees/KIND.SPLIT.conllu``   the trees of all sentences of the others, for ``isoglot derive --parses``
    ======== ============================= ==================================================

    No sentence is in two splits. The folder appears when it is complete; the same is not made again.
    """
    began = time.monotonic()
    request = request or WorldRequest()
    _check(request)
    target = Path(out)

    def make(folder: Path) -> dict[str, Any]:
        files: dict[str, int] = {}
        planned = _plan(World(request.seed, request.size), request)
        for number, plan in enumerate(planned):
            if progress is not None:
                progress.progress("files of the world", number, len(planned))
            made = plan.make(plan.rows, plan.split)
            path = folder / plan.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(plan.render(made, plan.split))
            files[plan.name] = len(made)
        return {"files": files}

    wanted = {"world": request.model_dump()}
    manifest, made_now = make_once(
        target, wanted, make, what="world", overwrite=overwrite, name=WORLD_MANIFEST
    )
    return WorldSummary(target, manifest["files"], time.monotonic() - began, skipped=not made_now)


def _check(request: WorldRequest) -> None:
    kinds = ("text", "pos", "ner", "nli", "paws", "qa")
    if not any(request.rows(kind, split) for kind in kinds for split in SPLITS):
        raise ConfigurationError("nothing is asked for; give for example --text 20000 --pos 4000")


def _plan(world: World, request: WorldRequest) -> list[_File]:
    """The files to write."""

    def trees(of: str) -> Make:
        return lambda n, split: world.treebank(n, split=split, of=of)

    def plain(made: Dataset, split: str) -> Iterator[str]:
        del split
        return (f"{line}\n" for line in made["text"])

    kinds: list[tuple[str, str, Make, Render]] = [
        ("text", "text/en.{}.txt", lambda n, split: world.text(n, split=split), plain),
        ("pos", "pos/en.{}.conllu", trees("pos"), _conllu),
        ("ner", "ner/en/{}", lambda n, split: world.ner(n, split=split), _panx),
        ("nli", "nli/en.{}.tsv", lambda n, split: world.nli(n, split=split), _xnli),
        ("paws", "paws/en.{}.tsv", lambda n, split: world.paws(n, split=split), _paws),
        ("qa", "qa/en.{}.json", lambda n, split: world.qa(n, split=split), _squad),
    ]
    parsed = ("text", "ner", "nli", "paws", "qa")
    kinds += [(kind, f"trees/{kind}.{{}}.conllu", trees(kind), _conllu) for kind in parsed]
    return [
        _File(name.format(split), split, request.rows(kind, split), make, render)
        for kind, name, make, render in kinds
        for split in SPLITS
        if request.rows(kind, split)
    ]


def _conllu(rows: Dataset, split: str) -> Iterator[str]:
    del split
    for number, row in enumerate(rows, 1):
        yield f"# sent_id = {number}\n# text = {row['text']}\n"
        columns = (row["words"], row["upos"], row["heads"], row["deprels"], row["entities"])
        for i, (word, tag, head, relation, entity) in enumerate(zip(*columns, strict=True), 1):
            note = "_" if entity == "O" else f"Entity={entity}"
            yield f"{i}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{note}\n"
        yield "\n"


def _panx(rows: Dataset, split: str) -> Iterator[str]:
    del split
    for row in rows:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            yield f"{LANGUAGE}:{word}\t{tag}\n"
        yield "\n"


def _xnli(rows: Dataset, split: str) -> Iterator[str]:
    yield "language\tgold_label\tsentence1\tsentence2\tpairID\n"
    for number, row in enumerate(rows, 1):
        yield f"{LANGUAGE}\t{row['label']}\t{row['first']}\t{row['second']}\t{split}-{number}\n"


def _paws(rows: Dataset, split: str) -> Iterator[str]:
    del split
    yield "id\tsentence1\tsentence2\tlabel\n"
    for number, row in enumerate(rows, 1):
        yield f"{number}\t{row['first']}\t{row['second']}\t{row['label']}\n"


def _squad(rows: Dataset, split: str) -> Iterator[str]:
    del split
    articles = [
        {
            "title": row["id"],
            "paragraphs": [
                {
                    "context": row["context"],
                    "qas": [
                        {
                            "id": row["id"],
                            "question": row["question"],
                            "answers": [
                                {"text": text, "answer_start": start}
                                for text, start in zip(
                                    row["answers"]["text"], row["answers"]["start"], strict=True
                                )
                            ],
                        }
                    ],
                }
            ],
        }
        for row in rows
    ]
    yield json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n"
