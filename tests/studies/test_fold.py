from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForMaskedLM

from isoglot.derive.vocabulary import VocabularyCopy
from isoglot.errors import ConfigurationError
from isoglot.modules.encoder import encode, input_embeddings
from isoglot.modules.language_embeddings import language_embeddings
from isoglot.studies.fold import fold_language_embeddings
from isoglot.testing import tiny_model, tiny_tokenizer


def checkpoint(folder: Path) -> tuple[Path, VocabularyCopy, torch.nn.Embedding]:
    copy = VocabularyCopy(tiny_tokenizer("bert"))
    copy.save(folder / "tokenizer")
    model = tiny_model("bert", tokenizer=copy.tokenizer)
    model.resize_token_embeddings(2 * copy.size)
    model.save_pretrained(folder / "own")
    copy.tokenizer.save_pretrained(folder / "own")
    table = language_embeddings(4, input_embeddings(model).embedding_dim, std=1.0, seed=1)
    save_file(
        {"language_embeddings.weight": table.weight.detach().clone()},
        folder / "own" / "objectives.safetensors",
    )
    return folder / "own", copy, table


def test_the_folded_encoder_gives_what_language_ids_gave(tmp_path: Path) -> None:
    own, copy, table = checkpoint(tmp_path)
    folded = fold_language_embeddings(
        own, tmp_path / "folded", vocabulary=tmp_path / "tokenizer", languages=(2, 3)
    )
    before, after = (AutoModelForMaskedLM.from_pretrained(p).eval() for p in (own, folded))
    plain = [i for i in range(copy.size) if i not in copy.unshifted][:12]
    for ids, language in ((plain, 2), ([i + copy.size for i in plain], 3)):
        row = torch.tensor([ids])
        inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        with torch.no_grad():
            wanted = encode(before, {**inputs, "language_ids": torch.full_like(row, language)}, layers=(1,),
                            language_embeddings=table)[1]  # fmt: skip
            found = encode(after, inputs, layers=(1,))[1]
        torch.testing.assert_close(found, wanted)


def test_pieces_of_both_languages_get_the_mean(tmp_path: Path) -> None:
    own, copy, table = checkpoint(tmp_path)
    folded = fold_language_embeddings(
        own, tmp_path / "folded", vocabulary=tmp_path / "tokenizer", languages=(2, 3)
    )
    before, after = (input_embeddings(AutoModelForMaskedLM.from_pretrained(p)).weight for p in (own, folded))
    shared = list(copy.unshifted)
    torch.testing.assert_close((after - before)[shared], table.weight[2:4].mean(0).expand(len(shared), -1))


def test_without_language_embeddings_it_is_told(tmp_path: Path) -> None:
    own, _, _ = checkpoint(tmp_path)
    with pytest.raises(ConfigurationError, match="ids 0 to 3"):
        fold_language_embeddings(own, tmp_path / "x", vocabulary=tmp_path / "tokenizer", languages=(2, 4))
    (own / "objectives.safetensors").unlink()
    with pytest.raises(ConfigurationError, match="there are none"):
        fold_language_embeddings(own, tmp_path / "x", vocabulary=tmp_path / "tokenizer", languages=(2, 3))
