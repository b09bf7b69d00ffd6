"""How long the whole check of a change took: what `.ci/run` wrote last.

`.ci/run` writes `{"seconds": 812, "steps": {"lint": 9, ...}}` into `ci.json` of the cache folder of whoever runs it. The run
itself has a cache folder of its own, which goes with it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path


def ci_file() -> Path:
    """Return the file: `ONYM_CI_FILE`, else `~/.cache/onym/ci.json`."""
    return Path(os.environ.get("ONYM_CI_FILE") or Path.home() / ".cache" / "onym" / "ci.json")


def ci_seconds() -> int | None:
    """Return the seconds of the last run; None where none was recorded."""
    try:
        return int(json.loads(ci_file().read_text("utf-8"))["seconds"])
    except (OSError, ValueError, KeyError):
        return None
