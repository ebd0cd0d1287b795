from __future__ import annotations

import torch

from isoglot.modules.hashed_noise import hashed_uniform, sentence_key


def test_hashed_noise_is_uniform_repeatable_and_ignores_padding():
    ids = torch.randint(0, 30_000, (500, 40), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(40) < torch.randint(3, 41, (500, 1), generator=torch.Generator().manual_seed(2))
    key = sentence_key(ids, mask)
    assert torch.equal(
        key,
        sentence_key(torch.nn.functional.pad(ids, (0, 9), value=7), torch.nn.functional.pad(mask, (0, 9))),
    )
    assert len(set(key.tolist())) == 500
    swapped = ids.clone()
    swapped[:, [0, 1]] = ids[:, [1, 0]]
    assert not bool((sentence_key(swapped, mask) == key)[ids[:, 0] != ids[:, 1]].any())
    draws = hashed_uniform(key[:, None], 5, torch.tensor(17), torch.arange(200))
    assert torch.equal(draws, hashed_uniform(key[:, None], 5, 17, torch.arange(200)))
    assert float(draws.min()) >= 0 and float(draws.max()) < 1
    histogram = torch.histc(draws, bins=20, min=0, max=1) / draws.numel()
    torch.testing.assert_close(histogram, torch.full((20,), 0.05), atol=0.002, rtol=0)
    other = hashed_uniform(key[:, None], 5, 18, torch.arange(200))
    assert abs(float(torch.corrcoef(torch.stack([draws.flatten(), other.flatten()]))[0, 1])) < 0.01
    neighbours = torch.corrcoef(torch.stack([draws[:, :-1].flatten(), draws[:, 1:].flatten()]))
    assert abs(float(neighbours[0, 1])) < 0.01
