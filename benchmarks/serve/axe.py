"""axe-core, which finds what a page withholds from people who do not see it or use no mouse; fetched by npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onym.store.cache import cache_folder

if TYPE_CHECKING:
    from playwright.sync_api import Page

VERSION = "4.14.0"
_RUN = """axe.run(document, {resultTypes: ["violations"]})
  .then((found) => found.violations.map((each) => [each.id, each.nodes.length]))"""


def axe_script() -> str:
    """Return the script: from the file that `ONYM_AXE` names, or of the pinned version, fetched once."""
    if named := os.environ.get("ONYM_AXE"):
        return Path(named).read_text("utf-8")
    kept = cache_folder() / "benchmarks" / f"axe-{VERSION}.js"
    if not kept.exists():
        _fetch(kept)
    return kept.read_text("utf-8")


def violations(page: Page, script: str) -> list[tuple[str, int]]:
    """Return the rules that a page violates, each with the number of its elements.

    The script goes in by the debugger: the page's own policy lets nothing in.
    """
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": script})
    answer: dict[str, Any] = session.send("Runtime.evaluate", {"expression": _RUN, "awaitPromise": True, "returnByValue": True})
    session.detach()
    if "value" not in answer["result"]:
        raise RuntimeError(f"axe-core did not run: {answer}")
    return [(str(rule), int(count)) for rule, count in answer["result"]["value"]]


def _fetch(kept: Path) -> None:
    if shutil.which("npm") is None:
        raise SystemExit("axe-core comes by npm: `apt-get install -y npm`, or let ONYM_AXE name its axe.min.js")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", f"axe-core@{VERSION}", "--silent"]
        name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300).stdout.split()[-1]
        with tarfile.open(Path(folder) / name) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            content = member.read()
        whole = kept.with_suffix(f".{os.getpid()}")
        whole.write_bytes(content)
        whole.replace(kept)
