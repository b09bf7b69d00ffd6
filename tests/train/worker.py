"""Trains in a process of its own: `python -m tests.train.worker CONFIG.json DEST ...`, one training after the other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def let_cpus_shard() -> None:
    """Have accelerate take CPUs for devices among which a model can be sharded.

    It knows FSDP on graphics cards alone, though torch's own FSDP 2 works on CPUs over gloo as well: its kind of process group
    is given another name, and nothing else.
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
    """Train as each configuration says."""
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
