"""Training arguments, adapted to what an alignment run is."""

from typing import Any

from transformers import TrainingArguments
from transformers.training_args import ParallelMode

from isoglot.errors import ConfigurationError
from isoglot.recipe.secrets import Secret, names_secret


def adapt(args: TrainingArguments) -> dict[str, Any] | None:
    """Set, in place, what an alignment run needs; how to compile the encoder, or ``None``."""
    if args.fsdp and (
        args.parallel_mode != ParallelMode.DISTRIBUTED or args.fsdp_plugin_args["fsdp_version"] != 2
    ):
        raise ConfigurationError(
            "train.fsdp needs ranks (`torchrun --nproc-per-node 2 -m isoglot.cli pretrain …`) and version 2"
        )
    for name, value in vars(args).items():
        if names_secret(name) and isinstance(value, str):
            setattr(args, name, Secret(value))  # the trainer pickles its arguments beside each checkpoint
    args.remove_unused_columns = False
    args.logging_nan_inf_filter = False  # it would hide a broken loss and wait for the device at each batch
    if args.ddp_broadcast_buffers is None:
        args.ddp_broadcast_buffers = False  # ranks compute equal buffers, and a key queue is large
    if not args.torch_compile:
        return None
    # not the whole model: objectives branch on their data (links, masked tokens), the encoder does not
    options = {"backend": args.torch_compile_backend, "mode": args.torch_compile_mode}
    args.torch_compile, args.torch_compile_backend, args.torch_compile_mode = False, None, None
    return {key: value for key, value in options.items() if value is not None}
