"""Chromium without a screen, driven by playwright; it talks to nobody but the pages that it is sent to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_INSTALL = "install it with `apt-get install -y chromium` or name another one by ONYM_CHROMIUM, and `pip install playwright`"


def chromium() -> Path:
    """Return the program: what `ONYM_CHROMIUM` names, else that of Debian."""
    return Path(os.environ.get("ONYM_CHROMIUM") or "/usr/bin/chromium")


def missing() -> str:
    """Return what is missing for a browser, and how to get it; nothing where all is there."""
    if not chromium().exists():
        return f"there is no Chromium at {chromium()}: {_INSTALL}"
    return "" if find_spec("playwright") else f"playwright is not installed: {_INSTALL}"


@contextmanager
def open_browser(*flags: str) -> Iterator[Browser]:
    """Run a browser while the block runs."""
    if missing():
        raise SystemExit(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()
