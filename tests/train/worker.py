"""Worker process for training tests: `python -m tests.train.worker CONFIG.json DEST ...` runs each configuration in turn."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def let_cpus_shard() -> None:
    """Patch accelerate to use FSDP on CPUs.

    accelerate supports FSDP only on GPUs, although torch's FSDP 2 also works on CPUs with gloo. So report the distributed type
    MULTI_CPU as MULTI_GPU.
    """
    from accelerate.state import AcceleratorState, DistributedType, PartialState

    begin = AcceleratorState.__init__

    def begun(self: Any, *arguments: Any, **more: Any) -> None:
        PartialState(cpu=True)
        if PartialState._shared_state["distributed_type"] == DistributedType.MULTI_CPU:
            PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
        begin(self, *arguments, **more)

    AcceleratorState.__init__ = begun


def main(*words: str) -> None:
    """Train each configuration into its output folder."""
    import torch

    from onym.train.configs import GenerativeTrainingConfig
    from onym.train.run import train

    torch.set_num_threads(1)
    if os.environ.get("ACCELERATE_USE_FSDP"):
        let_cpus_shard()
    for config, dest in zip(words[::2], words[1::2], strict=True):
        train(GenerativeTrainingConfig.model_validate_json(Path(config).read_bytes()), Path(dest))


if __name__ == "__main__":
    main(*sys.argv[1:])
