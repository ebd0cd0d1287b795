from __future__ import annotations

import pytest
import torch

from isoglot.errors import ConfigurationError
from isoglot.modules.devices import resolve_device


def gpus(count: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(torch.cuda, "is_available", lambda: count > 0)
    patch.setattr(torch.cuda, "device_count", lambda: count)
    patch.setattr(torch.xpu, "is_available", lambda: False)
    patch.setattr(torch.backends.mps, "is_available", lambda: False)


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
        ("gpu", 0, "unknown device 'gpu'; available here: auto, cpu"),
        ("", 0, "unknown device ''"),
        ("cuda:", 0, "unknown device 'cuda:'"),
        ("cuda:x", 1, "unknown device 'cuda:x'"),
        ("cuda:-1", 1, "unknown device 'cuda:-1'"),
        ("meta", 1, "unknown device 'meta'; available here: auto, cpu, cuda"),
        ("cuda", 0, "device 'cuda': PyTorch finds no cuda device on this machine; available here: auto, cpu"),
        ("cuda:7", 2, r"finds 2 cuda device\(s\) on this machine; available here: auto, cpu, cuda, cuda:1$"),
        ("mps", 1, "finds no mps device"),
        ("xpu", 0, "finds no xpu device"),
    ],
)
def test_a_device_that_is_not(name: str, count: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(count, monkeypatch)
    with pytest.raises(ConfigurationError, match=message):
        resolve_device(name)
