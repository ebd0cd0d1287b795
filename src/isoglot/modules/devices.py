"""The one reading of a device's name."""

import torch

from isoglot.errors import ConfigurationError

_KINDS = ("cuda", "mps", "xpu")


def resolve_device(name: str = "auto") -> torch.device:
    """The device of a name, checked to be there.

    Args:
        name: ``auto`` (the first CUDA GPU, or the CPU), ``cpu``, ``cuda``, ``cuda:1``, ``mps`` or ``xpu``.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = {kind: _count(kind) for kind in _KINDS}
    names = [kind if n == 0 else f"{kind}:{n}" for kind in _KINDS for n in range(found[kind])]
    here = f"available here: {', '.join(['auto', 'cpu', *names])}"
    try:
        device = torch.device(name)
    except (RuntimeError, ValueError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", *_KINDS):
        raise ConfigurationError(f"unknown device {name!r}; {here}")
    if device.type != "cpu" and (device.index or 0) >= found[device.type]:
        count = found[device.type]
        there = f"{count} {device.type} device(s)" if count else f"no {device.type} device"
        raise ConfigurationError(f"device {name!r}: PyTorch finds {there} on this machine; {here}")
    return device


def _count(kind: str) -> int:
    """How many devices of a kind this machine has."""
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    module = torch.cuda if kind == "cuda" else torch.xpu
    return int(module.device_count()) if module.is_available() else 0
