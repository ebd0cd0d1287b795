import pytest
import torch

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import ALIGNED, BITEXT, LEXICON, TEXT, require
from isoglot.testing import (
    FAMILIES,
    tiny_aligned,
    tiny_bitext,
    tiny_lexicon,
    tiny_model,
    tiny_text,
    tiny_tokenizer,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_models_read_their_tokenizers_and_are_seeded(family):
    tokenizer = tiny_tokenizer(family)
    inputs = tokenizer("the old river.", "ta potamo velha.", return_tensors="pt")
    weights = torch.get_rng_state()
    logits = [tiny_model(family, seed=seed)(**inputs).logits for seed in (0, 0, 1)]
    assert torch.equal(weights, torch.get_rng_state())
    assert logits[0].shape == (1, inputs["input_ids"].shape[1], len(tokenizer))
    assert torch.equal(logits[0], logits[1]) and not torch.equal(logits[0], logits[2])
    assert tiny_model(family).config.model_type == family


@pytest.mark.parametrize("family", FAMILIES)
def test_tokenizers_are_the_same_in_every_call(family):
    made = {tiny_tokenizer(family).backend_tokenizer.to_str() for _ in range(4)}
    assert len(made) == 1
    tokenizer = tiny_tokenizer(family)
    ids = tokenizer("the old river sees.", add_special_tokens=False)["input_ids"]
    assert tokenizer.unk_token_id not in ids and 4 < len(ids) < 19
    assert tokenizer.decode(ids).strip().replace(" .", ".") == "the old river sees."
    assert not set(ids) & set(tokenizer.all_special_ids)


def test_gold_links_join_translations():
    lexicon = tiny_lexicon()
    known = set(zip(lexicon["source"], lexicon["target"], strict=True))
    crossing = 0
    for row in tiny_aligned(40):
        for i, j in row["links"]:
            pair = (row["source_words"][i], row["target_words"][j])
            assert pair in known or pair[0] == pair[1] in ".!?"
        assert len(row["links"]) == len(row["source_words"]) == len(row["target_words"])
        crossing += [j for _, j in row["links"]] != sorted(j for _, j in row["links"])
    assert crossing > 20


def test_schemas_and_seeds():
    require(tiny_aligned(3), ALIGNED, role="test")
    require(tiny_bitext(3), BITEXT, role="test")
    require(tiny_lexicon(), LEXICON, role="test")
    require(tiny_text(3), TEXT, role="test")
    assert tiny_bitext(5, seed=1)[:] == tiny_bitext(5, seed=1)[:] != tiny_bitext(5, seed=2)[:]
    assert tiny_text(5, language="xx")["text"][:] == tiny_bitext(5)["target"][:]


def test_unknown_family():
    with pytest.raises(ConfigurationError, match="modernbert"):
        tiny_model("gpt2")
