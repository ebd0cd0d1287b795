from __future__ import annotations

from typing import Any

import pytest
import torch

from isoglot.core.errors import ConfigurationError
from isoglot.modules.devices import compute_dtype, is_faster_in_bfloat16, resolve_device


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


_AMX = {"amx_tile": True, "amx_bf16": True, "avx512_bf16": True}


@pytest.mark.parametrize(
    ("facts", "faster"),
    [
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8488C", **_AMX}, True),
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8481C", "avx512_bf16": True, "amx_bf16": False}, False),
        ({"cpu_name": "AMD EPYC 9R14", "sse4a": True, "avx512_bf16": True}, True),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, True),  # a hypervisor hides SSE4a
        ({"cpu_name": "QEMU Virtual CPU", "sse4a": True, "avx512_bf16": True}, True),  # ... or the name
        ({"cpu_name": "AMD EPYC", "sse4a": True, "avx512_bf16": False}, False),
        ({"architecture": "aarch64", "bf16": True}, True),
        ({"architecture": "aarch64", "bf16": False}, False),
        ({}, False),
    ],
)
def test_facts_of_the_processor_decide_what_auto_computes_in(
    facts: dict[str, Any], faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an Intel Xeon with avx512_bf16 and without AMX bfloat16 takes nearly twice as long as float32."""
    assert is_faster_in_bfloat16(facts) == faster
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: facts, raising=False)
    found = compute_dtype("auto", torch.device("cpu"))
    assert found == (torch.bfloat16 if faster else torch.float32)
    assert compute_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16, (
        "what is asked for is what is taken"
    )
