"""A model whose parameters are shared out among ranks (FSDP2): whole states out of it, and whole states into it."""

from __future__ import annotations

from typing import Any

import torch
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils._pytree import tree_map


def whole(state: Any) -> Any:
    """A state with every sharded tensor put together on the CPU; all ranks have to call it."""
    return tree_map(lambda t: t.full_tensor().cpu() if isinstance(t, DTensor) else t, state)


def load_optimizer(optimizer: torch.optim.Optimizer, state: Any) -> None:
    """Give an optimizer of sharded parameters the state that one process saved."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = [n for group in state["param_groups"] for n in group["params"]]
    shards = {
        number: {name: _shard(value, parameter) for name, value in state["state"][number].items()}
        for number, parameter in zip(numbers, parameters, strict=True)
        if number in state["state"]
    }
    optimizer.load_state_dict({**state, "state": shards})


def _shard(value: Any, parameter: torch.Tensor) -> Any:
    """This rank's part of a tensor that belongs to a parameter; a step count stays as it is."""
    if not (
        isinstance(parameter, DTensor) and isinstance(value, torch.Tensor) and value.shape == parameter.shape
    ):
        return value
    return distribute_tensor(
        value.to(parameter.device), parameter.device_mesh, parameter.placements, src_data_rank=None
    )


def shard_on_cpu(state: Any, plugin: dict[str, Any] | None) -> bool:
    """Have accelerate shard on CPUs too, where it would leave ``fsdp`` out without a word; whether it does now."""
    if plugin is None or state.distributed_type != DistributedType.MULTI_CPU:
        return False
    state.distributed_type = DistributedType.FSDP
    state.fsdp_plugin = FullyShardedDataParallelPlugin(**plugin)
    if state.mixed_precision != "no":
        state.fsdp_plugin.set_mixed_precision(state.mixed_precision)
    return True
