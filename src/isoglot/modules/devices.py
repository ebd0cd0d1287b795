"""The one reading of a device's name."""

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
