"""Opening a seq2seq model: safetensors alone, no code of the model's own, and no network unless it is asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from onym.errors import ConfigError, InputError, missing_extra
from onym.store.source import InputFile

Precision = Literal["auto", "fp32", "bf16"]
SAFE = ("model.safetensors", "model.safetensors.index.json")
UNSAFE = ("pytorch_model.bin", "pytorch_model.bin.index.json")
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What is fetched of a model on the hub: no other form of its weights, and no code."""


def open_model(folder: Path, precision: Precision = "auto") -> Any:
    """Return the model of a folder, for inference.

    A published checkpoint may bring defaults of `generate` with it, as BART's `no_repeat_ngram_size`: nothing here uses them.
    """
    transformers = _transformers()
    require_safe(folder)
    try:
        with _quiet(transformers):
            model, found = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                folder,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except Exception as e:  # of a damaged file transformers raises whatever its parts raise
        what = "the model cannot be opened: its configuration or its weights are not those of a seq2seq model"
        raise InputError("model-malformed", what, where=str(folder), fix="fetch it again") from e
    _require_whole(model, found["missing_keys"], folder)
    model = model.to(torch.bfloat16) if _is_bf16(precision) else model
    return model.eval().requires_grad_(False)


def in_precision(model: Any, precision: Precision) -> Any:
    """Return a copy of a model, for inference."""
    still = copy.deepcopy(model).to(torch.bfloat16 if _is_bf16(precision) else torch.float32)
    return still.eval().requires_grad_(False)


def require_safe(folder: Path) -> None:
    """Refuse a folder without safetensors: older files of weights may hold code."""
    if any((folder / name).is_file() for name in SAFE):
        return
    if any((folder / name).is_file() for name in UNSAFE):
        fix = f"if you trust it: onym model convert {folder} -o NEW_FOLDER"
        raise ConfigError("model-unsafe", "the weights are a .bin file, which may hold code", where=str(folder), fix=fix)
    fix = "name a folder with config.json and model.safetensors"
    raise ConfigError("model-missing", "there is no model in the folder", where=str(folder), fix=fix)


def weights_digest(folder: Path) -> str:
    """Return the first 16 digits of the SHA-256 of a model's weights: of the file, or of the index and every shard."""
    files = sorted(folder.glob("model*.safetensors")) + sorted(folder.glob("model.safetensors.index.json"))
    digests = [InputFile.from_path(path).digest() for path in files]
    if len(digests) == 1:
        return digests[0][:16]
    import hashlib

    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def fetch_model(name: str, files: Sequence[str] = FETCHED) -> Path:
    """Fetch a model from Hugging Face's hub, or find it among those fetched before; its weights have to be safetensors."""
    _transformers()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=list(files)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as e:
        raise InputError(
            "model-missing", f"the model {name!r} could not be fetched", fix="check its name, and the network"
        ) from e


def _require_whole(model: Any, missing: set[str], folder: Path) -> None:
    """Refuse a model some of whose weights are not there: transformers would make them up."""
    if missing:
        what = f"{len(missing):,} weights are missing, {min(missing)} the first"
        raise InputError("model-malformed", what, where=str(folder), fix="fetch it again")
    config = model.config
    special = (config.decoder_start_token_id, config.eos_token_id, config.pad_token_id)
    if not all(isinstance(token, int) and 0 <= token < config.vocab_size for token in special):
        what = "the configuration does not name the tokens that start, end and fill a text"
        raise InputError("model-malformed", what, where=str(folder / "config.json"), fix="fetch it again")


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep transformers from writing to stderr: what matters of it becomes an error."""
    logging = transformers.utils.logging
    level, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bar:
            logging.enable_progress_bar()


def _is_bf16(precision: Precision) -> bool:
    if precision == "auto":
        return bool(torch.cpu._is_amx_tile_supported())  # noqa: SLF001 - without AMX, bf16 is slower than fp32
    return precision == "bf16"


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as e:
        raise missing_extra("a generative model", "generative") from e
    return transformers
