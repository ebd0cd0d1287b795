from __future__ import annotations

import pytest
import torch

from isoglot.errors import ConfigurationError
from isoglot.modules.devices import resolve_device


def gpus(count: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(torch.cuda, "is_available", lambda: count > 0)
    patch.setattr(torch.cuda, "device_count", lambda: count)
    patch.setattr(torch.xpu, "device_count", lambda: 0)
    patch.setattr(torch.mps, "device_count", lambda: 0)


@pytest.mark.parametrize(
    ("name", "count", "found"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda"),
        ("cpu", 2, "cpu"),
        ("cuda", 1, "cuda"),
        ("cuda:0", 1, "cuda:0"),
        ("cuda:1", 2, "cuda:1"),
    ],
)
def test_a_device_that_is_there(name: str, count: int, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(count, monkeypatch)
    assert str(resolve_device(name)) == found


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("gpu", 0, "unknown device 'gpu'; write auto, cpu, cuda"),
        ("", 0, "unknown device ''"),
        ("cuda:x", 1, "unknown device 'cuda:x'"),
        ("cuda:-1", 1, "unknown device 'cuda:-1'"),
        ("meta", 1, "unknown device 'meta'"),
        ("cuda", 0, r"device 'cuda': PyTorch finds 0 cuda device\(s\) on this machine; use auto"),
        ("cuda:7", 2, r"finds 2 cuda device\(s\)"),
        ("mps", 1, "finds 0 mps"),
        ("xpu", 0, "finds 0 xpu"),
    ],
)
def test_a_device_that_is_not(name: str, count: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(count, monkeypatch)
    with pytest.raises(ConfigurationError, match=message):
        resolve_device(name)
