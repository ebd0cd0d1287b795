"""Training arguments, adapted to what an alignment run is."""

from __future__ import annotations

from typing import Any

from transformers import TrainingArguments
from transformers.trainer_utils import IntervalStrategy
from transformers.training_args import ParallelMode

from isoglot.errors import ConfigurationError
from isoglot.training.compiling import take_compile_options


def adapt(args: TrainingArguments) -> dict[str, Any] | None:
    """Set, in place, what an alignment run needs of the library's arguments.

    Returns:
        Options of :func:`torch.compile` for the encoder, or ``None``.
    """
    if args.eval_strategy != IntervalStrategy.NO or args.load_best_model_at_end:
        raise ConfigurationError(
            "train.eval_strategy or train.load_best_model_at_end given; pre-training does not evaluate, its loss is no "
            "measure of transfer. Keep checkpoints (train.save_total_limit) and run `isoglot evaluate` on them"
        )
    if args.fsdp and (
        args.parallel_mode != ParallelMode.DISTRIBUTED or args.fsdp_plugin_args["fsdp_version"] != 2
    ):
        raise ConfigurationError(
            "train.fsdp given, which shares out the parameters among ranks with FSDP2; start several with `torchrun "
            "--nproc-per-node 2 -m isoglot.cli pretrain …`, and leave train.fsdp_config.version at 2"
        )
    args.remove_unused_columns = False
    args.logging_nan_inf_filter = False  # it would hide a broken loss and wait for the device at each batch
    if args.ddp_broadcast_buffers is None:
        args.ddp_broadcast_buffers = False  # ranks compute equal buffers, and a key queue is large
    return take_compile_options(args)
