"""Keep the seconds of runs in one file, which the benchmark house reads: `ONYM_CI_FILE`, else `~/.cache/onym/ci.json`.

`run NOTES SECONDS reused|made`, `full NOTES SECONDS` and `fast SECONDS` say what ran; NOTES is a folder with the seconds of
each job. Of `.ci/run`, the last with packages that were there is kept, and the last that installed them.
"""

import json
import os
import sys
from pathlib import Path


def read_steps(notes: Path) -> dict[str, int]:
    """Return the seconds of each job."""
    return {path.name: int(path.read_text()) for path in sorted(notes.iterdir()) if not path.suffix and path.name[0] != "."}


def figures_of(kind: str, *arguments: str) -> dict[str, object]:
    """Return what a run adds to the file, or replaces in it."""
    if kind == "fast":
        return {"fast_tests_seconds": int(arguments[0])}
    steps = read_steps(Path(arguments[0]))
    seconds = int(arguments[1])
    if kind == "full":
        return {"full_seconds": seconds, "full_steps": steps}
    is_reused = arguments[2] == "reused"
    last = "last_reused_seconds" if is_reused else "last_cold_seconds"
    return {"seconds": seconds, "steps": steps, "reused": is_reused, last: seconds}


def main(*arguments: str) -> None:
    """Add the figures of a run to the file, and print them."""
    path = Path(os.environ.get("ONYM_CI_FILE") or Path.home() / ".cache" / "onym" / "ci.json")
    figures = figures_of(*arguments)
    before = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(json.dumps(before | figures) + "\n")
    new.replace(path)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
