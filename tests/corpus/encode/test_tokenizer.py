import hashlib
import subprocess
from pathlib import Path

import loaded
import pytest
from refusals import refused
from transformers import AutoTokenizer, BertConfig, RobertaConfig

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.testing import tiny_bitext

ALGORITHMS = ["wordpiece", "bpe", "byte_bpe", "unigram"]
TEXTS = [*tiny_bitext(150)["source"], *tiny_bitext(150)["target"], "हिन्दी में बोलती", "日本語です", "Größe"]


def size(algorithm):
    return 330 if algorithm == "byte_bpe" else 170


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_specials_template_and_reload(algorithm, family, tmp_path):
    tokenizer = train_tokenizer(TEXTS, algorithm=algorithm, vocab_size=size(algorithm), family=family)
    assert len(tokenizer) <= size(algorithm)
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    single, pair = tokenizer("the river")["input_ids"], tokenizer("the river", "ta potamo")
    assert (single[0], single[-1], single.count(sep)) == (cls, sep, 1)
    assert pair["input_ids"].count(sep) == (2 if family == "bert" else 3)
    assert ("token_type_ids" in pair) == (family == "bert")
    if family == "bert":
        assert sorted(tokenizer.convert_tokens_to_ids(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])) == [
            0,
            1,
            2,
            3,
            4,
        ]
    else:
        assert tokenizer.convert_tokens_to_ids(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]) == [0, 1, 2, 3, 4]
        assert tokenizer.bos_token_id == 0 and tokenizer.eos_token_id == 2
    assert tokenizer.mask_token_id in tokenizer(f"the {tokenizer.mask_token} river")["input_ids"]
    # Beside a model's configuration AutoTokenizer could take the family's own class and lose the pre-tokeniser.
    (BertConfig if family == "bert" else RobertaConfig)().save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    assert again.special_tokens_map == tokenizer.special_tokens_map
    assert again("the river", "Größe 日本").data == tokenizer("the river", "Größe 日本").data
    assert again.model_max_length == 512


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_text_survives(algorithm):
    tokenizer = train_tokenizer(TEXTS, algorithm=algorithm, vocab_size=size(algorithm) + 100)
    text = "the river हिन्दी"
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]).strip() == text


def test_casing():
    kept = train_tokenizer(TEXTS, algorithm="wordpiece", vocab_size=170)
    lower = train_tokenizer(TEXTS, algorithm="wordpiece", vocab_size=170, lowercase=True)
    assert "ß" in "".join(kept.get_vocab()) and "G" in "".join(kept.get_vocab())
    assert lower("GRÖSSE Die")["input_ids"] == lower("grösse die")["input_ids"]


def fingerprints():
    """Hashes of tokenizers: hash tables are seeded anew in every process."""
    texts = [*tiny_bitext(150)["source"], *tiny_bitext(150)["target"]]
    tokenizers = [train_tokenizer(texts, algorithm=a, vocab_size=size(a)) for a in ALGORITHMS]
    return [hashlib.md5(t.backend_tokenizer.to_str().encode()).hexdigest() for t in tokenizers]


@pytest.mark.slow
def test_the_same_in_every_process():
    folders = [str(Path(file).parent) for file in (__file__, loaded.__file__)]
    code = f"import sys; sys.path[:0] = {folders}; import {Path(__file__).stem} as t"
    run = subprocess.run(
        [loaded.python(), "-c", f"{code}; print(*t.fingerprints())"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert run.stdout.split() == fingerprints()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_iterator_that_can_be_read_once(algorithm):
    settings = {"algorithm": algorithm, "vocab_size": size(algorithm)}
    once, many = train_tokenizer(iter(TEXTS), **settings), train_tokenizer(TEXTS, **settings)
    assert once.backend_tokenizer.to_str() == many.backend_tokenizer.to_str()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text(algorithm, texts):
    with refused(ConfigurationError, "text", "sentence"):
        train_tokenizer(texts, algorithm=algorithm, vocab_size=300)


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe", "unigram"])
def test_vocabulary_too_small(algorithm):
    with refused(ConfigurationError, "vocab_size=12 "):
        train_tokenizer(TEXTS, algorithm=algorithm, vocab_size=12)


def test_characters_of_one_text_and_unknown_settings_are_refused():
    for texts, named in (("a river", "['a river']"), (["a river", None], "text 2: ")):
        with refused(ConfigurationError, named):
            train_tokenizer(texts, algorithm="bpe", vocab_size=300)
    with refused(ConfigurationError, "`vocabsize`: ", "'vocab_size'"):
        train_tokenizer(TEXTS, vocabsize=300)
