"""A Trainer whose checkpoints are complete or missing, never half, and which resumes from the newest one.

:class:`StagedTrainer` needs only the library's Trainer; fine-tuning uses it too. :class:`CheckpointingTrainer` adds
what alignment models need: objectives beside the encoder, and weights and optimiser states put together from the shards
of FSDP, so that a checkpoint does not depend on the number of ranks.
"""

import shutil
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils._pytree import tree_map
from transformers import PreTrainedTokenizerBase, Trainer
from transformers.trainer import OPTIMIZER_NAME, SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.trainer_utils import TrainOutput

from isoglot.core.errors import TrainingError, reason
from isoglot.modules.adapter import has_adapter, write_adapter
from isoglot.modules.allocator import freed_memory_kept
from isoglot.training import checkpoints
from isoglot.training.batches import TokenBudgetBatches
from isoglot.training.callbacks import StepMeter
from isoglot.training.export import save_encoder


class StagedTrainer(Trainer):
    """A Trainer that writes checkpoints aside, renames them when they are complete, and resumes from complete ones.

    Who divides the loss: a step's loss is a mean over all its items, however micro-batches and ranks share them out.

    1. The library divides the loss of each micro-batch by the number of micro-batches, and DDP averages the gradients
       over the ranks.
    2. ``loss_is_scaled_for_ga = False`` tells the library that the loss is not divided by the number of micro-batches
       yet, so it divides. Otherwise the library guesses: it believes that a model whose ``forward`` takes any keyword,
       as most do, has divided already, and does not divide.
    3. So ``compute_loss`` of both trainers returns the micro-batch's share of the step's loss, multiplied in advance by
       what will divide it. In pre-training :class:`~isoglot.training.model.AlignmentModel` multiplies by the number of
       ranks and the trainer by that of micro-batches; in fine-tuning the trainer multiplies by both.
    4. A plain ``Trainer`` that trains an :class:`~isoglot.training.model.AlignmentModel` does not have this class. The
       model's own ``accepts_loss_kwargs = False`` keeps it from guessing.
    """

    loss_is_scaled_for_ga = False

    _staging: Path | None = None
    """Folder for the checkpoint that is being written; ``None`` at other times."""

    @property
    def folder(self) -> Path:
        """The folder of the checkpoints."""
        return Path(str(self.args.output_dir))

    def plan(self) -> dict[str, Any]:
        """Return the values on which the order of the batches depends."""
        raise NotImplementedError

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> TrainOutput:  # type: ignore[override]
        """Train, or go on training from a checkpoint; ``True`` is the newest complete one.

        A run that returns from here counts as finished: it is exported and gets its manifest. A callback that stops a
        run before its last step and wants to leave it resumable must raise, not set ``control.should_training_stop``.
        """
        checkpoint = checkpoints.chosen_checkpoint(
            resume_from_checkpoint, self.folder, plan=self.plan(), is_main=self.is_world_process_zero()
        )
        try:
            with freed_memory_kept(self.args.device.type):
                output = super().train(resume_from_checkpoint=checkpoint, **kwargs)
        except UnpicklingError as error:
            raise TrainingError(
                f"{checkpoint}: optimizer, schedule or random state cannot be loaded ({reason(error)}); delete this "
                "checkpoint to resume from the one before it, or the run's folder to train again"
            ) from error
        # A run that was killed behind its last checkpoint saves no other one, which would clear the folder.
        if self.args.should_save:
            shutil.rmtree(checkpoints.staging(self.folder), ignore_errors=True)
        return output

    def _get_output_dir(self, trial: Any = None) -> str:
        """Return the folder that the library puts the checkpoint's folder into."""
        return str(self._staging or super()._get_output_dir(trial))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write a checkpoint aside, then rename it.

        The library calls this method after a step at which a callback set ``control.should_save``, and afterwards the
        ``on_save`` of all callbacks. Every rank has to save at the same step: ranks wait for each other before and
        after they write.

        Step 200 is written into ``OUT/.saving/checkpoint-200`` and becomes ``OUT/checkpoint-200``.
        """
        name, best_step = f"checkpoint-{self.state.global_step}", self.state.best_global_step
        self._staging = checkpoints.staging(self.folder)
        # Files that a killed run left there must not become part of this checkpoint.
        if self.args.should_save:
            shutil.rmtree(self._staging, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        super()._save_checkpoint(model, trial)
        # The library recorded the best checkpoint under the folder for writing; its final path is put back.
        if best_step is not None:
            self.state.best_model_checkpoint = str(self.folder / f"checkpoint-{best_step}")
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            # The library wrote the state with the wrong path.
            self.state.save_to_json(str(self._staging / name / TRAINER_STATE_NAME))
            checkpoints.commit(name, self.folder, plan=self.plan())
            checkpoints.prune(
                self.folder, self.args.save_total_limit, written=self.state.global_step, best=best_step
            )
        self._staging = None


class CheckpointingTrainer(StagedTrainer):
    """The part of :class:`~isoglot.training.trainer.AlignmentTrainer` that saves and loads; not used by itself."""

    batches: TokenBudgetBatches
    meter: StepMeter
    tokenizer: PreTrainedTokenizerBase | None
    model: Any
    optimizer: Any
    lr_scheduler: Any

    def plan(self) -> dict[str, Any]:
        """Return the values on which the order of the batches depends."""
        return self.batches.fingerprint()

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write a checkpoint, but not after a loss that is not finite."""
        self.meter.require_finite()
        super()._save_checkpoint(model, trial)

    def gathered_state(self) -> dict[str, Any] | None:
        """Return the whole model's state gathered from the shards of all ranks; ``None`` if the run does not shard.

        Every rank has to call this method: each sends its shards.
        """
        return gathered(self.model.state_dict()) if self.is_fsdp_enabled else None

    def create_accelerator_and_postprocess(self) -> None:
        """Make the library's accelerator, and shard on CPUs too."""
        super().create_accelerator_and_postprocess()
        self.is_fsdp_enabled |= shard_on_cpu(self.accelerator.state, self.args.fsdp_plugin_args)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the encoder and the objectives, complete for any number of ranks."""
        self._save(output_dir, self.gathered_state())

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """Write the model; ``state_dict`` is its gathered state if the run shards."""
        if not self.args.should_save:
            return
        folder = self.folder if output_dir is None else Path(output_dir)
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        save_encoder(model.model, folder, tokenizer=self.tokenizer, state=state_dict)
        checkpoints.save_objectives(model, folder, state=state_dict)
        if has_adapter(model.model):
            write_adapter(model.model, folder / checkpoints.ADAPTER)
        torch.save(self.args, folder / "training_args.bin")

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        """Write optimiser and schedule as one process writes them, so that any number of ranks can go on."""
        if not self.is_fsdp_enabled:
            super()._save_optimizer_and_scheduler(output_dir)
            return
        state = gathered(self.optimizer.state_dict())
        if self.args.should_save:
            torch.save(state, Path(output_dir) / OPTIMIZER_NAME)
            torch.save(self.lr_scheduler.state_dict(), Path(output_dir) / SCHEDULER_NAME)

    def _prepare_for_training(
        self, max_steps: int, train_dataloader: Any, resume_from_checkpoint: str | None
    ) -> Any:
        """Prepare model, optimiser and schedule; in a run that shards, load the weights of a checkpoint before.

        The library shards the model in ``_prepare_for_training`` and loads weights after that. A checkpoint has whole
        tensors, which fit the model only until it is sharded.
        """
        if resume_from_checkpoint is not None and self.is_fsdp_enabled:
            checkpoints.load_weights(self.model, resume_from_checkpoint)
        prepare: Any = super()._prepare_for_training
        return prepare(max_steps, train_dataloader, resume_from_checkpoint)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the weights of a checkpoint; in a run that shards, :meth:`_prepare_for_training` has loaded them."""
        if not self.is_fsdp_enabled:
            checkpoints.load_weights(self.accelerator.unwrap_model(self.model), resume_from_checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Load optimiser and schedule, and with FSDP give each rank its shards of them."""
        if checkpoint is None or not self.is_fsdp_enabled:
            super()._load_optimizer_and_scheduler(checkpoint)
            return
        folder = Path(checkpoint)
        state = torch.load(folder / OPTIMIZER_NAME, map_location="cpu", weights_only=True, mmap=True)
        load_optimizer(self.optimizer, state)
        self.lr_scheduler.load_state_dict(torch.load(folder / SCHEDULER_NAME, weights_only=True))


def gathered(state: Any) -> Any:
    """Return a state, such as nested dictionaries, whose sharded tensors are gathered from all ranks onto the CPU.

    Every rank has to call this function: each sends its shards.
    """

    def gather(value: Any) -> Any:
        return value.full_tensor().cpu() if isinstance(value, DTensor) else value

    return tree_map(gather, state)


def load_optimizer(optimizer: torch.optim.Optimizer, state: Any) -> None:
    """Load the state that one process saved into an optimiser of sharded parameters.

    The saved state names parameters by number, in the order of the optimiser's parameter groups: ``{"state": {0:
    {"exp_avg": tensor, "step": 5}, ...}, "param_groups": [{"params": [0, 1], ...}]}``. Each tensor in the state of a
    parameter (a mean of its gradients, say) is sharded as the parameter is.
    """
    parameters: list[torch.Tensor] = []
    for group in optimizer.param_groups:
        parameters += group["params"]
    numbers: list[int] = []
    for group in state["param_groups"]:
        numbers += group["params"]
    sharded: dict[int, dict[str, Any]] = {}
    for number, parameter in zip(numbers, parameters, strict=True):
        if number in state["state"]:  # a parameter without gradient has no state
            values = state["state"][number]
            sharded[number] = {name: _shard(value, parameter) for name, value in values.items()}
    optimizer.load_state_dict({**state, "state": sharded})


def _shard(value: Any, parameter: torch.Tensor) -> Any:
    """Return this rank's part of a tensor of a parameter's shape; anything else, such as a step count, is unchanged."""
    if not isinstance(parameter, DTensor) or not isinstance(value, torch.Tensor):
        return value
    if value.shape != parameter.shape:
        return value
    return distribute_tensor(
        value.to(parameter.device), parameter.device_mesh, parameter.placements, src_data_rank=None
    )


def shard_on_cpu(state: Any, plugin: dict[str, Any] | None) -> bool:
    """Make accelerate shard on CPUs too, where it ignores ``fsdp`` without a message; return whether it shards now.

    ``state``: The state of the accelerator, which is changed.
    ``plugin``: Arguments of the library's FSDP plugin; ``None`` if the run does not shard.
    """
    if plugin is None or state.distributed_type != DistributedType.MULTI_CPU:
        return False
    state.distributed_type = DistributedType.FSDP
    state.fsdp_plugin = FullyShardedDataParallelPlugin(**plugin)
    if state.mixed_precision != "no":
        state.fsdp_plugin.set_mixed_precision(state.mixed_precision)
    return True
