"""The one reading of the names of devices and dtypes."""

import torch

from isoglot.errors import ConfigurationError


def resolve_device(name: str = "auto") -> torch.device:
    """The device of a name, checked to be there; ``auto`` is the first CUDA GPU, or the CPU."""
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
    """The dtype to run an encoder in; ``auto`` takes bfloat16 where the hardware multiplies in it."""
    if name != "auto":
        return getattr(torch, name)  # type: ignore[no-any-return]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type != "cpu" or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return torch.float32
    # oneDNN also claims support where it would emulate bfloat16 dot products
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    if capabilities:
        fast = any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "amx_tile", "bf16"))
    else:
        fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if fast else torch.float32
