"""The trainer of all neural models: transformers' Trainer with a log file, a clock, and checks for complete checkpoints."""

from __future__ import annotations

import copy
import json
import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate.utils import broadcast_object_list
from safetensors.torch import load_file, load_model
from torch import Tensor
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import ExportableState

from onym.models.torch_loading import quiet
from onym.store.output import remove_folder, sync_tree, whole_file
from onym.train.configs import OptimConfig
from onym.train.precision import (
    MasterAdamW,
    drop_tied_copies,
    is_sharded,
    one_embedding,
    require_shardable,
    training_device,
    training_precision,
)
from onym.train.samples.base import Batch, Samples

_WEIGHTS = "model.safetensors"
METRIC = "eval_dev_r1"
"""Default metric for choosing the best model."""
SEAL = "sealed.json"
_STEP_SECONDS = 30.0  # seconds between two messages about the step, if no progress bar is shown
_log = logging.getLogger("onym.train")
_CHECKPOINT = re.compile(r"^checkpoint-(\d+)$")


class Dev(Protocol):
    """An evaluation on a fixed set of mentions; `len` is the number of mentions."""

    def __call__(self, model: Any, /) -> dict[str, float]:
        """Return the scores of a model without changing it."""
        ...  # pragma: no cover

    def __len__(self) -> int: ...  # pragma: no cover


class ModelTrainer(Trainer):  # type: ignore[misc]
    """Trainer on samples in their given order. `dev` evaluates every checkpoint; without `dev`, the last model is kept.

    A subclass defines the summed loss of a batch and the number of items in the sum. `metric` chooses the best model.
    """

    metric = METRIC

    def __init__(
        self,
        model: Any,
        samples: Samples[Any],
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: OptimConfig,
        *,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        precision = training_precision(optim)
        require_shardable(precision)
        self.dev = dev
        self._kept: dict[str, Tensor] | None = None
        self.spare = copy.deepcopy(model).cpu() if dev else None  # for evaluation; copied before FSDP or DDP changes the model
        if not is_sharded():
            model.to(training_device(optim))  # before the optimizer makes its master copies on that device
        self.master = self._master(model.to(torch.bfloat16), optim) if precision == "bf16-weights" else None
        super().__init__(
            model=one_embedding(model) if is_sharded() else model,
            args=trainer_arguments(folder, optim, self.metric if dev else ""),
            data_collator=collate,
            train_dataset=samples,
            optimizers=(self.master, None),
            eval_dataset=[0] if dev else None,  # a placeholder that Trainer requires; `dev` has its own data
            callbacks=[LogFile(folder), Clock()] + ([EarlyStoppingCallback(patience)] if patience else []),
        )
        self.remove_callback(PrinterCallback)  # it prints to stdout, and LogFile replaces it
        self.model_accepts_loss_kwargs = True  # makes Trainer pass num_items_in_batch to compute_loss
        self.loss_is_scaled_for_ga = True
        self.can_return_loss = True

    def _master(self, model: Any, optim: OptimConfig) -> MasterAdamW:
        """Return the optimizer for bf16 weights; it decays the same parameters as Trainer's default optimizer."""
        decayed = set(self.get_decay_parameter_names(model))
        still = [parameter for name, parameter in model.named_parameters() if name not in decayed]
        options = {"lr": optim.learning_rate, "betas": optim.betas, "eps": optim.epsilon, "weight_decay": optim.weight_decay}
        return MasterAdamW(model.parameters(), undecayed=still, **options)

    def resume(self) -> None:
        """Train from the last complete checkpoint, or from the start."""
        found = find_complete_checkpoints(Path(self.args.output_dir))
        self.args.eval_on_start &= not found  # after a resume, a repeated score would count against `patience`
        _log.info("training, %d steps", self.args.max_steps, extra={"has_bar": not self.args.disable_tqdm})
        self.train(resume_from_checkpoint=str(found[-1]) if found else None)
        self._keep_best()

    def _keep_best(self) -> None:
        """Load the best weights on dev (without dev, the last ones) into `model` in fp32; with FSDP, into `_kept` instead."""
        best = self.state.best_model_checkpoint
        if is_sharded():
            last = self._exact(self.accelerator.get_state_dict(self.model_wrapped))
            self._kept = load_file(Path(best) / _WEIGHTS) if best else last
            return
        state, bare = self._exact(), self.accelerator.unwrap_model(self.model)
        if self.master is not None:
            bare.float()
        if best:
            load_model(bare, Path(best) / _WEIGHTS)
        else:
            bare.load_state_dict(state)

    def _load_best_model(self) -> None:
        """Do nothing: `_keep_best` loads the best model, because accelerate cannot load tied weights into a sharded model."""

    def write(self, folder: Path) -> None:
        """Write the best model in Hugging Face layout."""
        with quiet():
            self.accelerator.unwrap_model(self.model).save_pretrained(folder, state_dict=self._kept)

    @property
    def seconds(self) -> float:
        """Training time in seconds, over all resumed runs."""
        return next(each.seconds for each in self.callback_handler.callbacks if isinstance(each, Clock))

    def metrics(self) -> dict[str, float]:
        """Return the dev scores of the best model."""
        best = self.state.best_global_step
        scored = [entry for entry in self.state.log_history if self.metric in entry and (not best or entry["step"] == best)]
        found = scored[-1] if scored else {}
        return {name.removeprefix("eval_"): value for name, value in found.items() if name.startswith("eval_dev")}

    def compute_loss(self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        """Return the loss of a batch, divided by the items of all accumulated batches on all devices."""
        loss = self.batch_loss(model, inputs) / num_items_in_batch * self.accelerator.num_processes
        return (loss, {}) if return_outputs else loss

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the loss summed over all items of a batch."""
        raise NotImplementedError

    def items(self, inputs: Batch) -> int:
        """Return the number of items in a batch; the loss is averaged over items."""
        raise NotImplementedError

    def _get_num_items_in_batch(self, batch_samples: list[Batch], device: torch.device) -> Tensor:
        """Return the number of items in all accumulated batches on all devices."""
        count = torch.tensor(sum(map(self.items, batch_samples)), device=device)
        found: Tensor = self.accelerator.gather(count).sum()
        return found

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluate the current model in the main process, and broadcast the scores to the other processes."""
        state = self.accelerator.get_state_dict(self.model_wrapped)
        found: list[Any] = [None]
        if self.accelerator.is_main_process and self.dev and self.spare is not None:
            self.spare.load_state_dict(state)
            scores = self.dev(self.spare.to(self.args.device))
            self.spare.cpu()  # frees GPU memory until the next evaluation
            found = [{f"eval_{name}": value for name, value in scores.items()}]
        metrics: dict[str, float] = broadcast_object_list(found)[0]
        self.log(metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            folder = Path(self.args.output_dir)
            seal(folder / f"checkpoint-{self.state.global_step}")
            best = self.state.best_model_checkpoint
            prune(folder, keep={f"checkpoint-{self.state.global_step}"} | ({Path(best).name} if best else set()))

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """Write only weights and configuration; Trainer would also pickle its arguments."""
        model = self.accelerator.unwrap_model(self.model)
        with quiet():
            model.save_pretrained(output_dir or self.args.output_dir, state_dict=self._exact(state_dict))

    def _exact(self, state: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
        """Return the weights in fp32, from the optimizer's master copies if there are any."""
        bare = self.accelerator.unwrap_model(self.model)
        if self.master is None:
            return bare.state_dict() if state is None else drop_tied_copies(state, bare)
        return self.master.full(bare.state_dict(), dict(bare.named_parameters(remove_duplicate=False)))


def trainer_arguments(folder: Path, optim: OptimConfig, metric: str = "") -> TrainingArguments:
    """Return the TrainingArguments. `metric` chooses the best model; if it is empty, there is no evaluation."""
    has_dev, device = bool(metric), training_device(optim)
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")  # TrainingArguments has no option for this folder
    found = TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=optim.steps,
        per_device_train_batch_size=optim.batch_size,
        gradient_accumulation_steps=optim.gradient_accumulation,
        learning_rate=optim.learning_rate,
        warmup_steps=optim.warmup_steps,
        lr_scheduler_type=optim.schedule,
        weight_decay=optim.weight_decay,
        adam_epsilon=optim.epsilon,
        adam_beta1=optim.betas[0],
        adam_beta2=optim.betas[1],
        max_grad_norm=optim.max_grad_norm,
        bf16=training_precision(optim) == "bf16",
        seed=optim.seed,
        use_cpu=device.type == "cpu",
        train_sampling_strategy="sequential",  # samples are already shuffled, in the same order after a resume
        eval_strategy="steps" if has_dev else "no",
        eval_steps=optim.eval_steps,
        eval_on_start=has_dev,
        save_strategy="steps",
        save_steps=optim.eval_steps,
        load_best_model_at_end=has_dev,
        metric_for_best_model=metric or None,
        greater_is_better=True if has_dev else None,
        logging_steps=max(1, min(50, optim.eval_steps // 10)),
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        restore_callback_states_from_checkpoint=True,
        disable_tqdm=not os.isatty(2),
    )
    if device.type == "cuda" and "LOCAL_RANK" not in os.environ:
        _use_one_gpu(found, device)
    return found


def _use_one_gpu(found: TrainingArguments, device: torch.device) -> None:
    """Make Trainer use only this GPU; by default, a single process replicates the model on all GPUs (DataParallel)."""
    torch.cuda.set_device(device)
    vars(found)["_setup_devices"] = device
    found._n_gpu = 1  # noqa: SLF001 - no public API


class Clock(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Callback that measures training time over all resumed runs; Trainer stores the time in every checkpoint."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._last = time.monotonic()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Add the time since the last step."""
        now = time.monotonic()
        self.seconds, self._last = self.seconds + now - self._last, now

    def state(self) -> dict[str, Any]:
        """Return the state to store in a checkpoint."""
        return {"args": {"seconds": self.seconds}, "attributes": {}}


class LogFile(TrainerCallback):  # type: ignore[misc]
    """Callback that writes the log history to a JSON Lines file. Without a progress bar, it also logs the step."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log.jsonl"
        self._last = time.monotonic()

    def on_log(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Rewrite the whole file, so that a resumed run does not repeat earlier entries."""
        if state.is_world_process_zero:
            with whole_file(self._path, force=True) as file:
                file.writelines(json.dumps(entry).encode() + b"\n" for entry in state.log_history)
            if args.disable_tqdm and time.monotonic() - self._last >= _STEP_SECONDS:
                self._last = time.monotonic()
                _log.info("step %d of %d", state.global_step, state.max_steps)


def seal(checkpoint: Path) -> None:
    """Mark a checkpoint as complete: sync its files to disk, then write their sizes to a seal file."""
    sync_tree(checkpoint)
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path != checkpoint / SEAL)
    sizes = {path.relative_to(checkpoint).as_posix(): path.stat().st_size for path in files}
    with whole_file(checkpoint / SEAL, force=True) as file:
        file.write(json.dumps(sizes, indent=1).encode() + b"\n")


def is_sealed(checkpoint: Path) -> bool:
    """Return whether a checkpoint is complete: sealed, and all files have the sizes in the seal."""
    try:
        sizes = json.loads((checkpoint / SEAL).read_bytes())
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def find_complete_checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints, latest last.

    >>> find_complete_checkpoints(getfixture("tmp_path"))
    []
    """
    found = [(int(match[1]), path) for path in folder.glob("checkpoint-*") if (match := _CHECKPOINT.match(path.name))]
    return [path for _, path in sorted(found) if is_sealed(path)]


def prune(folder: Path, keep: set[str]) -> None:
    """Remove all checkpoints whose names are not in `keep`."""
    for path in folder.glob("checkpoint-*"):
        if path.name not in keep:
            remove_folder(path)
