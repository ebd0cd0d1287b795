"""Read the names of devices and dtypes that options give."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from isoglot.core.errors import ConfigurationError


def resolve_device(name: str = "auto") -> torch.device:
    """Find the device of a name, and check that it is there; ``auto`` is the first CUDA GPU, or the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        count = 1 if device.type == "cpu" else int(torch.get_device_module(device.type).device_count())
    except (RuntimeError, AttributeError) as error:
        raise ConfigurationError(
            f"unknown device {name!r}; write auto, cpu, cuda, cuda:1, mps or xpu"
        ) from error
    if (device.index or 0) >= count:
        raise ConfigurationError(
            f"device {name!r}: PyTorch finds {count} {device.type} device(s) on this machine; use auto for one "
            "that is available"
        )
    return device


def compute_dtype(name: str, device: torch.device) -> torch.dtype:
    """The dtype to run an encoder in; ``auto`` takes bfloat16 where the hardware is faster in it.

    Facts of the processor decide, never a timing, so that one machine always gives the same links.
    """
    if name != "auto":
        return getattr(torch, name)  # type: ignore[no-any-return]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type != "cpu" or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return torch.float32
    # oneDNN also claims support where it would emulate bfloat16 dot products
    return torch.bfloat16 if is_faster_in_bfloat16(processor_facts()) else torch.float32


def is_faster_in_bfloat16(facts: Mapping[str, Any]) -> bool:
    """Whether a processor multiplies faster in bfloat16 than in float32; ``facts`` as :func:`processor_facts`.

    1. AMX (Intel from Sapphire Rapids on) has units for products of bfloat16 matrices.
    2. ARM's bf16 extension has such products as well.
    3. AVX-512's bfloat16 dot products are fast on AMD (from Zen 4 on), whose processors alone have SSE4a. On an Intel
       Xeon with them and without AMX a product of bfloat16 takes nearly twice as long as one of float32.
    """
    if facts.get("amx_bf16") or facts.get("bf16"):
        return True
    is_amd = bool(facts.get("sse4a")) or "AMD" in str(facts.get("cpu_name", ""))
    return bool(facts.get("avx512_bf16")) and is_amd


def processor_facts() -> dict[str, Any]:
    """Ask torch about the processor: ``cpu_name``, and each extension by its name, such as ``amx_bf16``."""
    if hasattr(torch.cpu, "get_capabilities"):
        return dict(torch.cpu.get_capabilities())
    # Older releases of torch do not name the processor; Linux does.
    about = Path("/proc/cpuinfo")
    text = about.read_text(errors="replace") if about.is_file() else ""
    return {
        "cpu_name": "AMD" if "AuthenticAMD" in text else "",
        "amx_bf16": torch.cpu._is_amx_tile_supported(),
        "avx512_bf16": torch.cpu._is_avx512_bf16_supported(),
    }
