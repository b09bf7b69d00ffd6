"""Corpus-scale linking: a plan of shards, which any number of processes link; each output file appears only when complete.

Invariants: linking a shard is a pure function, so the same inputs give the same bytes; and the receipts in the output files
are the only record of which shards are done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.batch.exporting import compact, export
    from onym.batch.ledger import status, verify, watch
    from onym.batch.plan import BatchPlan, read_plan
    from onym.batch.planning import plan_batch
    from onym.batch.run import run_batch

__all__ = ["BatchPlan", "compact", "export", "plan_batch", "read_plan", "run_batch", "status", "verify", "watch"]
__getattr__ = lazy(
    __name__,
    {
        "BatchPlan": "onym.batch.plan",
        "compact": "onym.batch.exporting",
        "export": "onym.batch.exporting",
        "plan_batch": "onym.batch.planning",
        "read_plan": "onym.batch.plan",
        "run_batch": "onym.batch.run",
        "status": "onym.batch.ledger",
        "verify": "onym.batch.ledger",
        "watch": "onym.batch.ledger",
    },
)
