"""Opening a model with transformers: from its checked configuration and its tensors alone, and whole or not at all."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from onym.encoders.device import Precision, resolve_device, resolve_precision
from onym.encoders.finite import require_finite
from onym.encoders.shape import CONFIG, config_of, read_shape
from onym.encoders.weights import read_weights
from onym.errors import InputError, OnymError, missing_extra
from onym.store.models import require_safe

_SPARE = 4_000_000  # weights that may be missing: a layer that is not used, positions that are computed


def open_pretrained(
    families: Mapping[str, str],
    folder: Path,
    precision: Precision = "auto",
    *,
    device: str = "auto",
    what: str,
    spare: str = "",
) -> Any:
    """Return the model of a folder on a device, for inference. `families` has the class of transformers of each family.

    Transformers is told neither the folder nor a name: it gets the configuration and the tensors, and can read nothing else.
    `what` says what the model has to be, as "a seq2seq model". Weights whose names begin with `spare` may be missing: the
    caller does not use them.
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
    except Exception as e:  # of a damaged file transformers raises whatever its parts raise
        problem = f"the model cannot be opened: its configuration or its weights are not those of {what}"
        raise InputError("model-malformed", problem, where=str(folder), fix="fetch it again") from e
    _require_whole({name for name in found["missing_keys"] if not (spare and name.startswith(spare))}, folder)
    model = for_inference(model.to(target), precision)
    for values in chain(model.parameters(), model.buffers()):
        require_finite(values, str(folder))
    return model


def in_precision(model: Any, precision: Precision) -> Any:
    """Return a copy of a model, for inference, on the same device."""
    return for_inference(copy.deepcopy(model), precision)


def for_inference(model: Any, precision: Precision) -> Any:
    """Turn a model into one for inference; `auto` is the precision that is fast on its device."""
    is_bf16 = resolve_precision(precision, model.device) == "bf16"
    model = model.to(torch.bfloat16 if is_bf16 else torch.float32)
    return model.eval().requires_grad_(False)


def library() -> Any:
    """Return transformers, or tell what has to be installed."""
    try:
        import transformers
    except ImportError as e:
        raise missing_extra("a model", "generative") from e
    return transformers


def _require_filled(kind: Any, config: Any, tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Refuse a configuration of a far larger model than the weights are of: transformers would make room for all of it."""
    with torch.device("meta"):
        needed = sum(each.numel() for each in kind(config).parameters())
    if needed > 2 * sum(each.numel() for each in tensors.values()) + _SPARE:
        what = "the configuration is of a larger model than the weights are"
        raise InputError("model-malformed", what, where=str(folder), fix="fetch it again")


def _require_whole(missing: set[str], folder: Path) -> None:
    """Refuse a model some of whose weights are not there: transformers would make them up."""
    if missing:
        what = f"{len(missing):,} weights are missing, {min(missing)} the first"
        raise InputError("model-malformed", what, where=str(folder), fix="fetch it again")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from writing to stderr: what matters of it becomes an error."""
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
