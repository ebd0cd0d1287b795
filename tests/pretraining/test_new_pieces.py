"""New pieces for a language: the tokenizer, the weights of each way to start, a run with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, PreTrainedTokenizerFast

from isoglot.corpus.encode.extending import extended_tokenizer
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.pieces import fast_backend
from isoglot.errors import ConfigurationError
from isoglot.modules.load import load_masked_lm
from isoglot.pretraining import new_pieces
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.new_pieces import extended, mixing_weights, sparsemax, start_new_pieces
from isoglot.pretraining.options import NewPiecesOptions
from isoglot.pretraining.pretrain import pretrain
from isoglot.testing import tiny_aligned, tiny_lexicon, tiny_model, tiny_tokenizer

CORPORA = {"bitext": tiny_aligned(200), "words": tiny_lexicon()}
KINDS = {"bert": "wordpiece", "xlm-roberta": "unigram"}


def options(**given: Any) -> NewPiecesOptions:
    return NewPiecesOptions(**{"language": "xx", "count": 60, **given})


@pytest.fixture(params=KINDS)
def tokenizers(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    old = tiny_tokenizer(request.param, vocab_size=90)
    return old, extended(old, CORPORA, options(), tmp_path)


def test_old_pieces_stay_and_text_of_the_language_gets_shorter(tokenizers: Any) -> None:
    old, new = tokenizers
    before, after = (t.get_vocab() for t in tokenizers)
    assert {p: after[p] for p in before} == before
    assert sorted(set(after.values()) - set(before.values())) == list(range(len(old), len(new)))
    assert 0 < len(new) - len(old) <= 60
    texts = list(CORPORA["bitext"]["target"])
    lengths = [sum(map(len, t(texts)["input_ids"])) for t in tokenizers]
    assert lengths[1] < 0.9 * lengths[0]
    assert [new.decode(i, skip_special_tokens=True) for i in new(texts)["input_ids"]] == [
        old.decode(i, skip_special_tokens=True) for i in old(texts)["input_ids"]
    ]


@pytest.mark.parametrize("family", KINDS)
def test_as_many_pieces_come_as_are_asked_for(family: Any) -> None:
    class Texts(list[str]):
        read = 0

        def __iter__(self) -> Iterator[str]:
            self.read += 1
            return super().__iter__()

    backend, corpus = fast_backend(tiny_tokenizer(family)), tiny_aligned(200)
    known = backend.get_vocab()
    texts = Texts(text[::-1] for side in ("source", "target") for text in corpus[side])
    extended_tokenizer(backend, texts, 10_000)
    assert texts.read <= 2  # there is no more to find
    vocabularies = [extended_tokenizer(backend, texts, count).get_vocab() for count in (3, 30, 60, 100)]
    assert [len(own) - len(known) for own in vocabularies] == [3, 30, 60, 100]
    if family == "bert":
        assert all(one.items() <= more.items() for one, more in pairwise(vocabularies))


@pytest.mark.parametrize("init", ["mean", "focus", "lexicon"])
def test_new_embeddings_are_means_of_old_ones(tokenizers: Any, init: Any) -> None:
    old, new = tokenizers
    given = options(init=init, lexicon="words" if init == "lexicon" else None)
    weights = mixing_weights(old, new, CORPORA, given)
    assert weights.shape == (len(new) - len(old), len(old)) and weights.min() >= 0
    np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1)
    again = mixing_weights(old, new, CORPORA, given)
    assert abs(weights - again).max() == 0
    if init == "mean":
        piece = new.convert_ids_to_tokens(len(old))
        parts = [old.convert_ids_to_tokens(int(i)) for i in weights[0].indices]
        body = piece.replace("##", "").replace("▁", "")
        assert set("".join(parts).replace("##", "").replace("▁", "")) == set(body)
    if init == "lexicon":
        words, seen = CORPORA["words"], 0
        for source, target in zip(words["source"], words["target"], strict=True):
            own = old(source, add_special_tokens=False)["input_ids"]
            for piece in new(target, add_special_tokens=False)["input_ids"]:
                if piece >= len(old):
                    seen += 1
                    assert set(own) <= set(weights[piece - len(old)].indices)
        assert seen > 10


@pytest.mark.parametrize("init", ["mean", "random"])
def test_rows_of_the_encoder_start_so_and_the_others_stay(tokenizers: Any, init: Any) -> None:
    old, new = tokenizers
    family = "bert" if "[CLS]" in old.get_vocab() else "xlm-roberta"
    before = tiny_model(family, tokenizer=old)
    encoder = tiny_model(family, tokenizer=old)
    encoder.resize_token_embeddings(len(new))
    start_new_pieces(encoder, old, new, CORPORA, options(init=init), seed=1)
    table, kept = (m.get_input_embeddings().weight.detach() for m in (encoder, before))
    assert torch.equal(table[: len(old)], kept)
    if init == "random":
        assert float(table[len(old) :].std()) == pytest.approx(float(kept.std()), rel=0.15)
    else:
        weights = mixing_weights(old, new, CORPORA, options())
        torch.testing.assert_close(table[len(old) :], torch.from_numpy(weights @ kept.numpy()).float())


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 5))
    found = sparsemax(scores)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all() and (found == 0).any()
    draws = np.random.default_rng(1).dirichlet(np.ones(5), size=2000)
    nearest = np.square(scores[:, None] - draws).sum(-1).min(axis=1)
    assert (np.square(scores - found).sum(axis=1) <= nearest + 1e-9).all()


def test_few_new_pieces_are_compared_with_all_old_ones_at_a_time(
    tokenizers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tokenizers
    whole = mixing_weights(old, new, CORPORA, options(init="focus"))
    rows: list[int] = []

    def counted(scores: Any) -> Any:
        rows.append(len(scores))
        return sparsemax(scores)

    monkeypatch.setattr(new_pieces, "_ROWS", 7, raising=False)
    monkeypatch.setattr(new_pieces, "sparsemax", counted)
    parts = mixing_weights(old, new, CORPORA, options(init="focus"))
    assert max(rows) == 7 and sum(rows) > 14
    np.testing.assert_allclose(parts.toarray(), whole.toarray(), atol=1e-12)


def test_a_lexicon_from_the_language_is_refused(tokenizers: Any) -> None:
    """Every piece would start as the mean, though translations were asked for."""
    old, new = tokenizers
    words = CORPORA["words"]
    turned = {"source": "target", "target": "source"}
    turned |= {f"{one}_language": f"{other}_language" for one, other in turned.items()}
    corpora = {**CORPORA, "words": words.rename_columns({n: turned.get(n, n) for n in words.column_names})}
    with pytest.raises(ConfigurationError, match="'words' has no entry whose target is in 'xx'"):
        mixing_weights(old, new, corpora, options(init="lexicon", lexicon="words"))


def test_what_cannot_be_extended_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="a BPE tokenizer cannot be extended"):
        extended_tokenizer(fast_backend(tiny_tokenizer("roberta")), ["a b"], 5)
    with pytest.raises(ConfigurationError, match="no stream has text in 'qq'"):
        extended(tiny_tokenizer("bert"), CORPORA, options(language="qq"), tmp_path)
    with pytest.raises(ValueError, match="init: lexicon needs"):
        options(init="lexicon")


def test_a_run_with_new_pieces_leaves_a_plain_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    old = tiny_tokenizer("xlm-roberta", vocab_size=90)
    tiny_model("xlm-roberta", tokenizer=old).save_pretrained(tmp_path / "model")
    old.save_pretrained(str(tmp_path / "model"))
    pairs = CORPORA["bitext"].select(range(60))
    (tmp_path / "en-xx.tsv").write_text("".join(f"{p['source']}\t{p['target']}\n" for p in pairs))
    (tmp_path / "words.txt").write_text("".join(f"{p['source']}\t{p['target']}\n" for p in CORPORA["words"]))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"""
name: new
model:
  path: {tmp_path}/model
  new_pieces: {{language: xx, count: 40, init: lexicon, lexicon: words}}
streams:
  bitext: {{kind: bitext, path: {tmp_path}/en-xx.tsv, source_language: en, target_language: xx}}
  words: {{kind: lexicon, path: {tmp_path}/words.txt, source_language: en, target_language: xx}}
views: {{pair: {{type: masked_pair, stream: bitext, max_length: 128}}}}
objectives: {{masked_lm: {{type: masked_lm, view: pair}}}}
batch: {{examples: 4}}
steps: 2
train: {{use_cpu: true, save_steps: 1}}
"""
    )
    checkpoint = pretrain(load_recipe(recipe), tmp_path / "run")
    tokenizer = load_tokenizer(checkpoint)
    model = AutoModelForMaskedLM.from_pretrained(checkpoint)
    assert len(old) < len(tokenizer) == model.config.vocab_size
    load_masked_lm(str(checkpoint), tokenizer=tokenizer)
    with pytest.raises(ConfigurationError, match=r"model\.new_pieces\.lexicon: 'wrods' is not a stream"):
        load_recipe(recipe, ["model.new_pieces.lexicon=wrods"])
