"""Sentence vectors learnt from a teacher: the definition, the cache, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from refusals import refused

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.encode import encode_stream
from isoglot.losses import SentenceDistillation
from isoglot.modules.encoder import encode
from isoglot.modules.encodings import Encodings
from isoglot.objectives import sentence_distillation as distillation
from isoglot.objectives import teacher as teachers
from isoglot.objectives.sentence_distillation import SentenceDistillationObjective
from isoglot.testing import tiny_aligned, tiny_bitext, tiny_model, tiny_tokenizer
from isoglot.training.collate import Collator
from isoglot.views import SentencePairView


@pytest.fixture
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An encoder with another tokenizer than the student's."""
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    tokenizer = tiny_tokenizer("xlm-roberta")
    tiny_model("xlm-roberta", tokenizer=tokenizer, seed=5).save_pretrained(tmp_path / "teacher")
    tokenizer.save_pretrained(tmp_path / "teacher")
    return tmp_path / "teacher"


def batch_of(corpus: Dataset, *, order: Any = "shuffle", pivot: Any = "source") -> dict[str, Any]:
    tokenizer = tiny_tokenizer("bert")
    stream = encode_stream(corpus, tokenizer).with_format(None)
    view = SentencePairView(tokenizer, order=order, pivot=pivot)
    collate = Collator({"sentences": ("bitext", view)}, seed=3, pad_token_id=int(tokenizer.pad_token_id))
    return collate([{"position": i, "bitext": stream[i]} for i in range(len(stream))])


def objective(corpus: Dataset, path: Path, **options: Any) -> tuple[Any, SentenceDistillationObjective]:
    student = tiny_model("bert")
    own = SentenceDistillationObjective(
        student, bitext=corpus, teacher=str(path), tokenizer=tiny_tokenizer("bert"), **options
    )
    return student, own


def by_hand(path: Path, texts: list[str], *, prefix: str = "") -> torch.Tensor:
    """The teacher's mean vectors, sentence by sentence."""
    model, tokenizer = load_encoder(path)
    found = []
    for text in texts:
        inputs = tokenizer(prefix + text, return_tensors="pt")
        with torch.no_grad():
            found.append(encode(model, inputs, layers=(3,))[3][0].mean(0))
    return torch.stack(found)


@pytest.mark.parametrize("corpus", [tiny_bitext(7), tiny_aligned(7)], ids=["bitext", "aligned"])
@pytest.mark.parametrize("pivot", ["source", "target"])
def test_sentence_distillation_teaches_both_sides_the_vector_of_the_pivot(
    teacher: Path, corpus: Dataset, pivot: Any
) -> None:
    batch = batch_of(corpus, pivot=pivot)
    student, own = objective(corpus, teacher, pivot=pivot, teacher_prefix="query: ")
    output = own(Encodings(student, batch), batch)
    taught = by_hand(teacher, list(corpus[pivot]), prefix="query: ")
    total = 0.0
    for side in ("query", "key"):
        inputs = Encodings(student, batch).inputs("sentences", side)
        states = encode(student, inputs, layers=(3,))[3]
        for row, mask in enumerate(inputs["attention_mask"].bool()):
            total += (states[row][mask].mean(0) - taught[row]).square().mean().item()
    assert output.total.item() == pytest.approx(total, rel=1e-4)
    assert int(output.count) == int(own.count(batch)) == 14


def test_translations_alone(teacher: Path) -> None:
    corpus, totals = tiny_bitext(6), list[torch.Tensor]()
    for order in ("shuffle", "source_is_query", "target_is_query"):
        batch = batch_of(corpus, order=order)
        student, own = objective(corpus, teacher, sides="translation", distance="cosine")
        encodings = Encodings(student, batch)
        output = own(encodings, batch)
        assert int(output.count) == int(own.count(batch)) == 6
        assert encodings.forwards == (2 if order == "shuffle" else 1), "the other side is not encoded"
        totals.append(output.total)
        torch.testing.assert_close(output.total, totals[0])


def test_all_ranks_encode_the_same_sides(teacher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under FSDP a rank that runs the encoder once would wait for one that runs it twice."""
    batch = batch_of(tiny_bitext(6), order="source_is_query")
    student, own = objective(tiny_bitext(6), teacher, sides="translation")
    alone = own(Encodings(student, batch), batch)
    monkeypatch.setattr(  # another rank's sentences have the translation on the other side
        distillation, "gather_rows", lambda rows: torch.cat([rows, 1 - rows]), raising=False
    )
    encodings = Encodings(student, batch)
    output = own(encodings, batch)
    assert encodings.forwards == 2
    assert int(output.count) == 6
    torch.testing.assert_close(output.total, alone.total)


def test_the_teacher_reads_each_sentence_once(teacher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = teachers.Teacher.vectors

    def counted(self: Any, texts: Any, *args: Any) -> Any:
        read.extend(texts)
        return original(self, texts, *args)

    monkeypatch.setattr(teachers.Teacher, "vectors", counted)
    rows = [*range(5), *range(5)]
    corpus = tiny_bitext(5).select(rows)
    objective(corpus, teacher)
    objective(corpus, teacher)
    assert sorted(read) == sorted(set(corpus["source"]))
    objective(corpus, teacher, teacher_pooling="cls")
    assert len(read) == 2 * len(set(corpus["source"])), "other vectors are others"


def test_sentence_distillation_refuses_what_does_not_fit(teacher: Path, tmp_path: Path) -> None:
    corpus = tiny_bitext(4)
    student, own = objective(corpus, teacher)
    others = batch_of(tiny_bitext(40, seed=3))
    with refused(ConfigurationError, "sentence_distillation: ", "of 40 sentences", "`overlong: truncate`"):
        own(Encodings(student, others), others)
    narrow = tiny_model("bert", hidden_size=16)
    with refused(ConfigurationError, "sentence_distillation: ", "16", "32", "`project: true`"):
        SentenceDistillationObjective(
            narrow, bitext=corpus, teacher=str(teacher), tokenizer=tiny_tokenizer("bert")
        )
    with refused(ConfigurationError, "/nothing: "):
        objective(corpus, tmp_path / "nothing")


def test_a_projection_is_trained_and_saved(teacher: Path) -> None:
    _, own = objective(tiny_bitext(4), teacher, project=True)
    assert {"map.weight", "map.bias"} == set(own.state_dict()), "vectors stay in the cache"


def test_the_loss_ignores_lengths_with_cosine() -> None:
    vectors, taught = torch.randn(5, 8), torch.randn(5, 8)
    loss = SentenceDistillation(distance="cosine")
    torch.testing.assert_close(loss(3 * vectors, taught), loss(vectors, taught))
    torch.testing.assert_close(
        SentenceDistillation()(vectors, taught), torch.nn.functional.mse_loss(vectors, taught)
    )
