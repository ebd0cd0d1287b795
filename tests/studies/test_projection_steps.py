"""Tags of a tagger, and labels carried to translations, as training data."""

from __future__ import annotations

from pathlib import Path

import pytest
from labelled_files import tagged_words

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.formats.labelled.tags import UPOS, read_tags
from isoglot.formats.sources import Source
from isoglot.formats.words import split_words
from isoglot.runs.reporter import Silent
from isoglot.studies.projection_steps import ProjectLabels, TagPairs
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext


def test_drawn_pairs_are_tagged_and_their_tags_projected(encoder: Path, tmp_path: Path) -> None:
    words = tagged_words(tmp_path / "en.tsv", 48)
    how = FinetuneOptions.build(epochs=1, learning_rate=5e-3, batch_size=8, select="last")
    task = build_task("pos", [f"train={words}"])
    tagger = finetune(encoder, task, language="en", train=how, out=tmp_path / "tagger")
    (tmp_path / "pairs.tsv").write_text("".join(f"{r['source']}\t{r['target']}\n" for r in tiny_bitext(30)))
    source = Source(path=str(tmp_path / "pairs.tsv"), source_language="en", target_language="xx")
    prepare(source, tmp_path / "corpus", options=PrepareOptions())
    step = TagPairs(checkpoint=str(tagger), task="pos", corpus=str(tmp_path / "corpus"), language="xx", count=20,
                    seed=1, precision="float32")  # fmt: skip
    folder = tmp_path / "drawn"
    assert step.run(folder, Silent()) == {"pairs": 20}
    english, own = (
        read_tags(folder / f"{name}.tsv", language="xx", labels=UPOS) for name in ("source", "xx")
    )
    lines = (folder / "target.txt").read_text().splitlines()
    known = {(row["source"], row["target"]): n for n, row in enumerate(tiny_bitext(30))}
    texts = {tuple(split_words(source)): source for source, _ in known}
    drawn = [known[texts[tuple(words)], line] for words, line in zip(english["words"], lines, strict=True)]
    assert drawn == sorted(drawn) != list(range(20)) and len(set(drawn)) == 20
    assert [*own["words"]] == [split_words(line) for line in lines]
    options = EvaluateOptions(predictions=tmp_path)
    untagged = "\n".join("".join(f"{word}\tX\n" for word in words) for words in own["words"])
    (tmp_path / "test.tsv").write_text(untagged)
    evaluate_checkpoint(
        tagger, build_task("pos", [str(tmp_path / "test.tsv")]), languages=["xx"], options=options
    )
    tags = [block.split("\n") for block in (tmp_path / "udpos/test-xx.tsv").read_text().strip().split("\n\n")]
    assert [*own["tags"]] == tags
    given = {
        "labels": str(folder / "source.tsv"),
        "translation": str(folder / "target.txt"),
        "language": "xx",
    }
    carried = ProjectLabels(**given, options={"kind": "pos", "method": "fast_align"})
    assert "20 examples" in str(carried.run(folder / "out", Silent())["projected"])
    assert [*read_tags(folder / "out/xx.tsv", language="xx", labels=UPOS)["words"]] == [*own["words"]]


def test_a_wrong_option_of_a_projection_is_found_before_anything_runs() -> None:
    step = ProjectLabels(labels="a.json", translation="b.json", language="de", options={"gpa": 2})
    with pytest.raises(ConfigurationError, match="gpa"):
        step.check()
