"""A Trainer whose checkpoints are complete or not there, and which resumes from the newest of them."""

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
    """A Trainer that writes checkpoints aside, renames them when they are whole, and resumes from whole ones."""

    _staging: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the checkpoints."""
        return Path(str(self.args.output_dir))

    def plan(self) -> dict[str, Any]:
        """What the order of batches depends on."""
        raise NotImplementedError

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> TrainOutput:  # type: ignore[override]
        """Train, or go on training; ``True`` finds the newest complete checkpoint."""
        checkpoint = checkpoints.chosen(
            resume_from_checkpoint, self.folder, plan=self.plan(), main=self.is_world_process_zero()
        )
        try:
            with freed_memory_kept(self.args.device.type):
                return super().train(resume_from_checkpoint=checkpoint, **kwargs)
        except UnpicklingError as error:
            raise TrainingError(
                f"{checkpoint}: optimizer, schedule or random state cannot be loaded ({reason(error)}); delete this "
                "checkpoint to resume from the one before it, or the run's folder to train again"
            ) from error

    def _get_output_dir(self, trial: Any = None) -> str:
        return str(self._staging or super()._get_output_dir(trial))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write aside, then rename."""
        name, best = f"checkpoint-{self.state.global_step}", self.state.best_global_step
        self._staging = checkpoints.staging(self.folder)
        if self.args.should_save:  # what a killed run left must not become part of this one
            shutil.rmtree(self._staging, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        super()._save_checkpoint(model, trial)
        if best is not None:  # the library took the place it is written into for its name
            self.state.best_model_checkpoint = str(self.folder / f"checkpoint-{best}")
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            self.state.save_to_json(str(self._staging / name / TRAINER_STATE_NAME))
            checkpoints.commit(name, self.folder, plan=self.plan())
            checkpoints.prune(self.folder, self.args.save_total_limit, best=best)
        self._staging = None


class CheckpointingTrainer(StagedTrainer):
    """What :class:`~isoglot.training.trainer.AlignmentTrainer` does about checkpoints; not used by itself."""

    batches: TokenBudgetBatches
    meter: StepMeter
    tokenizer: PreTrainedTokenizerBase | None
    model: Any
    optimizer: Any
    lr_scheduler: Any

    def plan(self) -> dict[str, Any]:
        """What the order of batches depends on."""
        return self.batches.fingerprint()

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        self.meter.require_finite()
        super()._save_checkpoint(model, trial)

    def whole_state(self) -> dict[str, Any] | None:
        """Weights put together from the ranks' shards, where they are sharded; every rank has to ask."""
        return whole(self.model.state_dict()) if self.is_fsdp_enabled else None

    def create_accelerator_and_postprocess(self) -> None:
        """The library's, which also shards on CPUs."""
        super().create_accelerator_and_postprocess()
        self.is_fsdp_enabled |= shard_on_cpu(self.accelerator.state, self.args.fsdp_plugin_args)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the encoder and the objectives, whole whatever the number of ranks."""
        self._save(output_dir, self.whole_state())

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        if self.args.should_save:
            folder = self.folder if output_dir is None else Path(output_dir)
            model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
            save_encoder(model.model, folder, tokenizer=self.tokenizer, state=state_dict)
            checkpoints.save_objectives(model, folder, state=state_dict)
            if has_adapter(model.model):
                write_adapter(model.model, folder / checkpoints.ADAPTER)
            torch.save(self.args, folder / "training_args.bin")

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        """As one process writes them, so that any number of ranks can go on."""
        if not self.is_fsdp_enabled:
            super()._save_optimizer_and_scheduler(output_dir)
            return
        state = whole(self.optimizer.state_dict())
        if self.args.should_save:
            torch.save(state, Path(output_dir) / OPTIMIZER_NAME)
            torch.save(self.lr_scheduler.state_dict(), Path(output_dir) / SCHEDULER_NAME)

    def _prepare_for_training(
        self, max_steps: int, train_dataloader: Any, resume_from_checkpoint: str | None
    ) -> Any:
        if resume_from_checkpoint is not None and self.is_fsdp_enabled:  # whole, before they are sharded
            checkpoints.load_weights(self.model, resume_from_checkpoint)
        prepared: Any = super()._prepare_for_training
        return prepared(max_steps, train_dataloader, resume_from_checkpoint)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if not self.is_fsdp_enabled:
            checkpoints.load_weights(self.accelerator.unwrap_model(self.model), resume_from_checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is None or not self.is_fsdp_enabled:
            super()._load_optimizer_and_scheduler(checkpoint)
            return
        folder = Path(checkpoint)
        state = torch.load(folder / OPTIMIZER_NAME, map_location="cpu", weights_only=True, mmap=True)
        load_optimizer(self.optimizer, state)
        self.lr_scheduler.load_state_dict(torch.load(folder / SCHEDULER_NAME, weights_only=True))


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
