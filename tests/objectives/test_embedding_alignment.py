"""ALIGN-MLM's dictionary loss."""

from __future__ import annotations

import pytest
import torch
from datasets import Dataset
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import LEXICON
from isoglot.losses import embedding_alignment
from isoglot.modules.encodings import Encodings
from isoglot.objectives.embedding_alignment import (
    EmbeddingAlignmentObjective,
    copied_vocabulary_pairs,
    lexicon_pairs,
)
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.testing import FAMILIES, tiny_lexicon, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer("bert")


@pytest.fixture
def model(tokenizer):
    return tiny_model("bert")


def run(objective, model):
    return objective(Encodings(model, {}), {})


@pytest.mark.parametrize("at_once", [3, 1000])
@pytest.mark.parametrize("pieces", ["mean", "single"])
def test_equals_a_loop_over_the_dictionary(model, tokenizer, pieces, at_once, monkeypatch):
    monkeypatch.setitem(embedding_alignment._CHUNK, "cpu", at_once)
    lexicon = tiny_lexicon()
    objective = EmbeddingAlignmentObjective(
        model, tokenizer=tokenizer, lexicon=lexicon, share=1.0, pieces=pieces
    )
    table = model.get_input_embeddings().weight
    total, count = torch.zeros(()), 0
    for source, target in lexicon_pairs(lexicon, tokenizer, single=pieces == "single"):
        a, b = table[source].mean(0), table[target].mean(0)
        total = total - a @ b / (a.norm() * b.norm())
        count += 1
    output = run(objective, model)
    assert int(output.count) == count == int(objective.count({}))
    assert count > 3
    torch.testing.assert_close(output.total, total, rtol=1e-5, atol=1e-5)
    ours, wanted = (torch.autograd.grad(x, table)[0] for x in (output.total, total))
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)


def test_the_encoder_that_was_run_is_read(model, tokenizer):
    objective = EmbeddingAlignmentObjective(model, tokenizer=tokenizer, lexicon=tiny_lexicon(), share=1.0)
    other = tiny_model("bert")
    table = other.get_input_embeddings().weight
    with torch.no_grad():
        table.copy_(torch.ones_like(table))
    output = run(objective, other)
    torch.testing.assert_close(output.total, -output.count.float())
    assert torch.autograd.grad(output.total, table)[0].shape == table.shape


def test_beside_objectives_that_read_the_same_table_gradients_add_up(model, tokenizer):
    input_ids = torch.tensor([[2, 7, 8, 9, 3], [2, 11, 7, 12, 3]])
    labels = torch.where(torch.tensor([0, 1, 0, 1, 0]).bool(), input_ids, -100)
    batch = {"pair": {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids), "labels": labels}}
    model.eval()
    objectives = [
        MaskedLMObjective(model),
        EmbeddingAlignmentObjective(model, tokenizer=tokenizer, lexicon=tiny_lexicon(), share=1.0),
        MaskedLMObjective(model, head="literal"),
    ]
    shared = Encodings(model, batch)
    sum(o(shared, batch).loss for o in objectives).backward()
    together = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    for objective in objectives:
        objective(Encodings(model, batch), batch).loss.backward()
    apart = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert together.keys() == apart.keys()
    for name, grad in apart.items():
        torch.testing.assert_close(together[name], grad, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_entries_have_the_pieces_of_words_inside_a_sentence(family):
    """Byte-level tokenizers have a piece of its own for a word after a space, and that is what text is made of."""
    tokenizer, lexicon = tiny_tokenizer(family, vocab_size=600), tiny_lexicon()

    def inside(word):
        return tokenizer(f"a {word}", add_special_tokens=False)["input_ids"][len(before) :]

    before = tokenizer("a", add_special_tokens=False)["input_ids"]
    found = lexicon_pairs(lexicon, tokenizer)
    expected = [(inside(s), inside(t)) for s, t in zip(lexicon["source"], lexicon["target"], strict=True)]
    assert found == [pair for pair in expected if pair[0] != pair[1]]
    blank = {"source": ["river", " "], "target": ["", "potamo"]} | {
        f"{side}_language": ["en", "xx"] for side in ("source", "target")
    }
    assert lexicon_pairs(Dataset.from_dict(blank, features=LEXICON), tokenizer) == []


def test_minus_one_when_the_copies_are_equal():
    model = tiny_model("bert", vocab_size=200)
    with torch.no_grad():
        model.get_input_embeddings().weight[100:] = model.get_input_embeddings().weight[:100]
    objective = EmbeddingAlignmentObjective(model, copied_vocabulary=100, share=0.5)
    assert float(run(objective, model).loss.detach()) == pytest.approx(-1.0, abs=1e-6)


def test_gradient_touches_dictionary_rows_only(model, tokenizer):
    objective = EmbeddingAlignmentObjective(model, tokenizer=tokenizer, lexicon=tiny_lexicon(), share=0.5)
    run(objective, model).loss.backward()
    touched = model.get_input_embeddings().weight.grad.abs().sum(1).nonzero().flatten().tolist()
    pieces = torch.cat([objective.source_pieces.flatten(), objective.target_pieces.flatten()])
    assert set(touched) <= set(pieces[pieces >= 0].tolist())
    assert touched
    others = [n for n, p in model.named_parameters() if p.grad is not None]
    assert len(others) == 1
    assert "embeddings" in others[0]


def test_the_draw_is_seeded_and_saved(model, tokenizer):
    make = lambda seed: EmbeddingAlignmentObjective(  # noqa: E731
        model, tokenizer=tokenizer, lexicon=tiny_lexicon(), share=0.5, lexicon_seed=seed
    )
    one, same, other = make(1), make(1), make(2)
    assert torch.equal(one.source_pieces, same.source_pieces)
    assert not torch.equal(one.source_pieces, other.source_pieces)
    assert {"source_pieces", "target_pieces"} <= set(one.state_dict())


def test_copied_vocabulary_draws_at_most_its_share_and_no_special():
    pairs = copied_vocabulary_pairs(400, share=0.25, seed=3, special={0, 1, 2, 3, 4})
    assert len(pairs) <= 100
    assert all(t == [s[0] + 400] and s[0] > 4 for s, t in pairs)
    assert pairs == copied_vocabulary_pairs(400, share=0.25, seed=3, special={0, 1, 2, 3, 4})


def test_sampled_pairs_change_with_the_step(model, tokenizer):
    objective = EmbeddingAlignmentObjective(
        model, tokenizer=tokenizer, lexicon=tiny_lexicon(), share=1.0, sample=5
    )
    first = run(objective, model).total.item()
    assert run(objective, model).total.item() == first
    objective.after_step(model)
    assert run(objective, model).total.item() != first
    assert int(run(objective, model).count) == 5


def test_mistakes_are_named(model, tokenizer):
    with refused(
        ConfigurationError, "embedding_alignment: ", "`lexicon: STREAM`", "`copied_vocabulary: SIZE`"
    ):
        EmbeddingAlignmentObjective(model)
    with refused(ConfigurationError, "embedding_alignment: ", "20000 embedding rows", "160"):
        EmbeddingAlignmentObjective(model, copied_vocabulary=10_000)
    with refused(ConfigurationError, "share: got 0; "):
        EmbeddingAlignmentObjective(model, copied_vocabulary=10, share=0)
    with refused(ConfigurationError, "sample: got 0; "):
        EmbeddingAlignmentObjective(model, copied_vocabulary=10, sample=0)
    row = {"source": ["☃"], "target": ["☃"], "source_language": ["en"], "target_language": ["xx"]}
    with refused(ConfigurationError, "embedding_alignment: ", "tokenizer", "`pieces: mean`", "`share`"):
        EmbeddingAlignmentObjective(
            model, tokenizer=tokenizer, lexicon=Dataset.from_dict(row, features=LEXICON)
        )
