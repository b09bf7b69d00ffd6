"""The published JSON Schemas of Onym's output: what a line of predictions and a linked document look like.

| name | describes |
|---|---|
| `predictions-2` | a line of a file of predictions |
| `linked-document-2` | a line of JSONL, or a row of Parquet, that `onym link` wrote |
| `problems-1` | a line of a file of problems |
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal

SchemaName = Literal["predictions-2", "linked-document-2", "problems-1"]


def schema(name: SchemaName) -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12).

    >>> schema("predictions-2")["title"]
    'A line of a file of predictions, format 2'
    """
    found: dict[str, Any] = json.loads((files("onym.predictions") / "schemas" / f"{name}.schema.json").read_bytes())
    return found
