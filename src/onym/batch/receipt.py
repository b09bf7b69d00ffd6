"""What became of a shard, in the footer of its own output: its key, counts, and the digest of its rows. Format 1.

A file with the receipt of the right key is done; there is nothing else to keep, and nothing that could contradict it.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from onym.batch.rows import RECEIPT
from onym.config import Strict
from onym.errors import IntegrityError
from onym.store.storage import Storage

FORMAT = 1


class FileReceipt(Strict):
    """An input file: how many of its documents were read, and why it was not read to its end, if it was not."""

    name: str
    documents: int = Field(ge=0)
    code: str = ""


class Receipt(Strict):
    """What became of a shard. `problems` counts documents, mentions and files that could not be read or linked, by code."""

    format: int = FORMAT
    key: str
    shard: int = Field(ge=0)
    onym: str
    documents: int = Field(ge=0)
    mentions: int = Field(ge=0)
    linked: int = Field(ge=0)
    tied: int = Field(ge=0)
    deleted: int = Field(default=0, ge=0)
    problems: dict[str, int] = Field(default_factory=dict)
    bugs: int = Field(default=0, ge=0)
    files: tuple[FileReceipt, ...] = ()
    rows: int = Field(ge=0)
    digest: str


def read_receipt(storage: Storage, name: str) -> Receipt | None:
    """Return the receipt of a shard's output; None for a file that is torn or none of ours. A newer format is refused."""
    try:
        with storage.open(name) as file:
            data = (pq.read_metadata(file).metadata or {}).get(RECEIPT)
        values = None if data is None else json.loads(data)
    except (pa.ArrowException, OSError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    if isinstance(values.get("format"), int) and values["format"] > FORMAT:
        what = f"a receipt has format {values['format']}, while this Onym reads up to {FORMAT}"
        raise IntegrityError("batch-version", what, where=f"{storage.url}/{name}", fix="use a newer Onym")
    try:
        return Receipt.model_validate(values)
    except ValidationError:
        return None
