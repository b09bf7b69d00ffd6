"""Open models with transformers, using only a checked configuration and the tensors; incomplete models are rejected."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from onym.errors import InputError, OnymError, missing_extra
from onym.models.device import Precision, resolve_device, resolve_precision
from onym.models.shape import CONFIG, config_of, read_shape
from onym.models.tensors import open_weights, read_files, require_finite
from onym.store.models import require_safe

_TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a model by name, from a single file or from shards."""
    return read_files(folder, read_tensors)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file, which is memory-mapped."""
    from safetensors.torch import load_file

    with open_weights(path):
        found: dict[str, Tensor] = load_file(path)
    if other := [str(each.dtype) for each in found.values() if each.dtype not in _TYPES]:
        what = f"a tensor has the unsupported type {other[0].removeprefix('torch.')}"
        raise InputError("model-malformed", what, where=str(path), fix="save the model in float32, float16 or bfloat16")
    return found


_SPARE = 4_000_000  # parameters a file may lack, because layers are unused or positions computed


def open_pretrained(
    families: Mapping[str, str],
    folder: Path,
    precision: Precision = "auto",
    *,
    device: str = "auto",
    what: str,
    spare: str = "",
) -> Any:
    """Open the model of a folder on a device, for inference. `families` maps each supported family to its transformers class.

    transformers gets only the configuration and the tensors, not the folder, so transformers cannot read any other file. `what`
    describes the expected model in errors, e.g. "a seq2seq model". Weights whose names start with `spare` are unused and may be
    missing.
    """
    target = resolve_device(device)
    require_safe(folder)
    family, shape = read_shape(folder, families, what)
    kind, tensors = getattr(library(), families[family]), read_weights(folder)
    try:
        with quiet():
            config = config_of(kind.config_class, shape, str(folder / CONFIG))
            _require_filled(kind, config, tensors, folder)
            model, found = kind.from_pretrained(
                None, config=config, state_dict=tensors, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
    except OnymError:
        raise
    except Exception as e:  # transformers raises various exceptions for damaged files
        problem = f"the model cannot be opened: its configuration or weights are not those of {what}"
        raise InputError("model-malformed", problem, where=str(folder), fix="download the model again") from e
    _require_whole({name for name in found["missing_keys"] if not (spare and name.startswith(spare))}, folder)
    model = for_inference(model.to(target), precision)
    for values in chain(model.parameters(), model.buffers()):
        require_finite(values, str(folder))
    return model


def in_precision(model: Any, precision: Precision) -> Any:
    """Return a copy of a model for inference in this precision, on the same device."""
    return for_inference(copy.deepcopy(model), precision)


def for_inference(model: Any, precision: Precision) -> Any:
    """Convert a model for inference; `auto` is the precision that is faster on the model's device."""
    is_bf16 = resolve_precision(precision, model.device) == "bf16"
    model = model.to(torch.bfloat16 if is_bf16 else torch.float32)
    return model.eval().requires_grad_(False)


def library() -> Any:
    """Import transformers; raise ConfigError if it is not installed."""
    try:
        import transformers
    except ImportError as e:
        raise missing_extra("a model", "models") from e
    return transformers


def _require_filled(kind: Any, config: Any, tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Raise InputError if the configuration describes a much larger model than the weights, before memory is allocated."""
    with torch.device("meta"):
        needed = sum(each.numel() for each in kind(config).parameters())
    if needed > 2 * sum(each.numel() for each in tensors.values()) + _SPARE:
        what = "the configuration describes a larger model than the weights"
        raise InputError("model-malformed", what, where=str(folder), fix="download the model again")


def _require_whole(missing: set[str], folder: Path) -> None:
    """Reject a model with missing weights, which transformers would initialise randomly."""
    if missing:
        what = f"{len(missing):,} weights are missing, e.g. {min(missing)}"
        raise InputError("model-malformed", what, where=str(folder), fix="download the model again")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the logging and progress bars of transformers; problems are raised as errors instead."""
    logging = library().utils.logging
    level, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bar:
            logging.enable_progress_bar()


_LOCK = threading.Lock()
_WORKERS = "onym-worker"


def fix_thread_count() -> int:
    """Initialise torch's thread count in the calling thread and return it. Call this before computing anything.

    >>> fix_thread_count() == torch.get_num_threads()
    True
    """
    with _LOCK:
        return torch.get_num_threads()


def single_core_workers(count: int) -> ThreadPoolExecutor:
    """Return a pool of `count` worker threads that use one core each; it is shared by the whole process.

    >>> list(single_core_workers(2).map(lambda _: torch.get_num_threads(), range(3)))
    [1, 1, 1]
    """
    with _LOCK:
        return _workers(count)


@cache
def _workers(count: int) -> ThreadPoolExecutor:
    own = torch.get_num_threads()
    started = threading.Barrier(count)
    pool = ThreadPoolExecutor(count, _WORKERS, initializer=_use_one_core)
    try:
        # each task waits until all tasks are running, so that the pool starts all of its `count` threads
        list(pool.map(lambda _: started.wait(), range(count)))
    finally:
        torch.set_num_threads(own)
    return pool


def _use_one_core() -> None:
    torch.get_num_threads()  # without this call, torch would reset the thread count later, on its first use in this thread
    torch.set_num_threads(1)


def _forget_workers() -> None:
    global _LOCK  # noqa: PLW0603 - in the child, the lock may be held by a thread that no longer exists
    _LOCK = threading.Lock()
    _workers.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)  # threads do not survive a fork
