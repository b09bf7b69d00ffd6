"""Makes the picture of the home page, docs/marked.png, in a headless Chromium: `python docs/pictures.py`.

The text was written for it. The page is what `onym explain -o page.html` writes; as a picture has no mouse that hovers, the
title of one mark is shown by a rule of style.
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path

import onym
from onym.outputs.html import write_page
from onym.types import Document

PICTURE = Path(__file__).parent / "marked.png"
TEXT = """\
We followed 214 adults with type 2 diabetes mellitus (T2DM) for five years. T2DM preceded chronic kidney disease in 61 of \
them. Most took metformin, some insulin; nausea and diarrhea were rare. Reactive arthritis (Reiter syndrome) was seen twice, \
both times with fever; neither patient had ankylosing spondylitis or psoriasis. Retinopathy was more frequent among those with \
hypertension."""
_HOVERED = """<style>
h2, details, .legend { display: none }
.onym { position: relative }
mark:nth-of-type(2) { outline: 2px solid #374151 }
mark:nth-of-type(2)::after {
  content: attr(title); position: absolute; left: 0; right: 0; top: calc(100% + .8rem); padding: .5rem .8rem;
  background: #1f2937; color: #fff; font: .7rem/1.5 monospace; border-radius: 4px; white-space: pre-wrap }
</style>"""
_CHROMIUM = (
    "chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=860,455"
)


def page() -> str:
    """Return the page with the title of its second mark shown."""
    file = io.BytesIO()
    write_page([onym.load("starter").explain(Document("1", TEXT))], "Onym", file)
    return file.getvalue().decode().replace("</head>", f"{_HOVERED}</head>")


def take_picture(picture: Path) -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "page.html"
        shown.write_text(page(), "utf-8")
        options = (f"--user-data-dir={folder}/profile", f"--screenshot={picture}", shown.as_uri())
        subprocess.run([*_CHROMIUM.split(), *options], check=True, capture_output=True, timeout=120)  # noqa: S603 - all of it is ours


if __name__ == "__main__":
    take_picture(PICTURE)
