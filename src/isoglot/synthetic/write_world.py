"""``isoglot world``: the miniature world's data on disk, in the formats that real data come in."""

import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from datasets import Dataset

from isoglot.core.errors import ConfigurationError
from isoglot.formats.treebanks import conllu
from isoglot.runs.record import Record
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.synthetic.options import WorldRequest
from isoglot.synthetic.world import SPLITS, World

LANGUAGE = "en"
Render = Callable[[Dataset, str], Iterator[str]]
"""Writes a data set, of the split that is named, as pieces of text."""
_UNRECORDED_TEXTS = "d869ff8cc69a2789"
"""The hash of the grammar and lexicon at the time when records had no hash yet."""


def write_world(
    out: str | Path, request: WorldRequest, *, overwrite: bool = False, progress: AnyReporter | None = None
) -> tuple[dict[str, int], bool]:
    """Write data sets of every task, each in the format of its usual benchmark and with train, dev and test splits.

    No sentence is in two splits. The folder appears when it is complete; one that was made from the same request,
    grammar and lexicon is left unchanged.

    Returns:
        The number of rows of each data set, by the name of its file, and whether the files were made now.
    """
    planned = []
    for (kind, file, render), split in product(_FILES, SPLITS):
        if request.rows(kind, split) > 0:
            planned.append((kind, file.format(split), render, split))
    if not planned:
        raise ConfigurationError("nothing to write; add for example [[text=20000]] and [[pos=4000]]")

    report = reporter_of(progress)

    def make(folder: Path) -> dict[str, Any]:
        world = World(request.seed, request.size)
        rows_of_file: dict[str, int] = {}  # of data sets alone, as the command adds the numbers up
        for number, (kind, file, render, split) in enumerate(planned):
            rows = request.rows(kind, split)
            if render is _conllu:
                dataset = world.treebank(rows, split=split, of=kind)
            else:
                dataset = getattr(world, kind)(rows, split=split)
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as lines:
                lines.writelines(render(dataset, split))
            rows_of_file[file] = len(dataset)
            report.progress("files of the world", number + 1, len(planned))
        return {"files": rows_of_file}

    record = Record(out, {"world": _made_from(request)}, what="world", overwrite=overwrite)
    manifest, made_now = record.make(make)
    return manifest["files"], made_now


def _made_from(request: WorldRequest) -> dict[str, Any]:
    """Record everything that a world depends on, to recognise a finished one: the request, the grammar, the lexicon."""
    made_from = request.model_dump()
    texts = _hash_of_texts()
    # Worlds of the first texts are recorded without a hash, so that folders from that time are still recognised.
    if texts != _UNRECORDED_TEXTS:
        made_from["texts"] = texts
    return made_from


def _hash_of_texts() -> str:
    """A hash of ``grammar.txt`` and ``lexicon.txt``, without the comments at their heads."""
    digest = blake2b(digest_size=8)
    for name in ("grammar.txt", "lexicon.txt"):
        text = resources.files("isoglot.synthetic").joinpath(name).read_text(encoding="utf-8")
        _, _, sections = text.partition("\n@")
        digest.update(sections.encode())
    return digest.hexdigest()


def _conllu(rows: Dataset, split: str) -> Iterator[str]:
    """CoNLL-U, with entities in the last column."""
    for number, row in enumerate(rows, 1):
        notes = ["_" if entity == "O" else f"Entity={entity}" for entity in row["entities"]]
        yield f"{conllu(row, number, text=row['text'], notes=notes)}\n"


def _panx(rows: Dataset, split: str) -> Iterator[str]:
    """Lines of WikiANN: the language, a word and its tag; a blank line ends a sentence."""
    for row in rows:
        for word, tag in zip(row["words"], row["tags"], strict=True):
            yield f"{LANGUAGE}:{word}\t{tag}\n"
        yield "\n"


def _table(columns: str, line: str) -> Render:
    """Make a writer of tables with these columns, whose rows are written as ``line``."""

    def render(rows: Dataset, split: str) -> Iterator[str]:
        yield columns.replace(" ", "\t") + "\n"
        for number, row in enumerate(rows, 1):
            yield line.format(number=number, split=split, **row) + "\n"

    return render


def _squad(rows: Dataset, split: str) -> Iterator[str]:
    """JSON of SQuAD 1.1, in which every question has an article of its own."""
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


_FILES: tuple[tuple[str, str, Render], ...] = (
    ("text", "text/en.{}.txt", lambda rows, _: (f"{line}\n" for line in rows["text"])),
    ("pos", "pos/en.{}.conllu", _conllu),
    ("ner", "ner/en/{}", _panx),
    ("nli", "nli/en.{}.tsv", _table(
        "language gold_label sentence1 sentence2 pairID", "{language}\t{label}\t{first}\t{second}\t{split}-{number}"
    )),
    ("paws", "paws/en.{}.tsv", _table("id sentence1 sentence2 label", "{number}\t{first}\t{second}\t{label}")),
    ("qa", "qa/en.{}.json", _squad),
    *((kind, f"trees/{kind}.{{}}.conllu", _conllu) for kind in ("text", "ner", "nli", "paws", "qa")),
)  # fmt: skip
"""Each kind of data with its file, which has a place for the split, and its writer. A kind's trees are a file too."""
