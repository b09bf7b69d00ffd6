"""`onym train prefer`."""

from onym.cli.train.training import stage_command

command = stage_command(
    "prefer",
    """Train a linker by preference optimisation on hard negatives (DPO, CPO, SimPO; ANGEL). Resumes if interrupted.

Example: onym train prefer --preset angel-ncbi-negative --set start.model=linker --set data.kb=kb -o better
""",
)
