"""Texts that run a script where a page takes them for HTML, an address, a template or an object's key. They call `pwned()`."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from onym.kb import Recipe, build_kb
from onym.pipeline import build_pipeline

_ELSEWHERE = "http://attacker.invalid/pwned"
_PATTERNS = (
    "<img src=x onerror=pwned()>",
    "<script>pwned()</script>",
    "<svg onload=pwned()>",
    "<iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
    f"<img src={_ELSEWHERE}>",
    "javascript:pwned()",
    "<details open ontoggle=pwned()>x</details>",
    "<input autofocus onfocus=pwned()>",
    "<a href=javascript:pwned()>fever</a>",
    "<svg/onload=pwned()>",
    "<SCRIPT SRC=data:text/javascript,pwned()></SCRIPT>",
    "<scr<script>ipt>pwned()</scr</script>ipt>",
    "<iframe src=javascript:parent.pwned()></iframe>",
    "<video><source onerror=pwned()></video>",
    "<audio src=x onerror=pwned()></audio>",
    "<body onload=pwned()>",
    "<marquee onstart=pwned()>x</marquee>",
    "<object data=javascript:pwned()></object>",
    "<embed src=javascript:pwned()>",
    "<form action=javascript:pwned()><button>fever</button></form>",
    "<button autofocus onfocus=pwned() onclick=pwned()>fever</button>",
    "<meta http-equiv=refresh content='0;url=javascript:pwned()'>",
    f"<meta http-equiv=refresh content='0;url={_ELSEWHERE}'>",
    f"<link rel=stylesheet href={_ELSEWHERE}>",
    f"<style>@import '{_ELSEWHERE}';</style>",
    f"<base href={_ELSEWHERE}/>",
    "<math><mtext><img src=x onerror=pwned()></mtext></math>",
    "<svg><animate onbegin=pwned() attributeName=x dur=1s></svg>",
    "<svg><script>pwned()</script></svg>",
    "<template><img src=x onerror=pwned()></template>",
    "<div style='background:url(javascript:pwned())' onmouseover=pwned()>x</div>",
    "<div style=animation-name:x onanimationstart=pwned()>x</div>",
    "</textarea><img src=x onerror=pwned()>",
    "</title></style></script><img src=x onerror=pwned()>",
    "--><img src=x onerror=pwned()>",
    "]]><img src=x onerror=pwned()>",
    "' onmouseover=pwned() onfocus=pwned() autofocus x='",
    '" onmouseover=pwned() onfocus=pwned() autofocus x="',
    "${pwned()}",
    "{{constructor.constructor('pwned()')()}}",
    "`;pwned();`",
    "';pwned();//",
    '");pwned();//',
    "data:text/html,<script>pwned()</script>",
    "&lt;img src=x onerror=pwned()&gt;",
    "%3Cimg%20src=x%20onerror=pwned()%3E",
    "\\u003cimg src=x onerror=pwned()\\u003e",
    "__proto__",
    "constructor",
    "=HYPERLINK(pwned())",
)
_PREFIXES = ("", '">', "'>", "</b></p></td></table>")


def payloads(*, is_quick: bool) -> list[str]:
    """Return the texts: one for each way, or each after several ways to end what stands before."""
    if is_quick:
        return list(_PATTERNS[:8])
    return [f"{prefix}{pattern}" for prefix in _PREFIXES for pattern in _PATTERNS]


def trigger(number: int) -> str:
    """Return a harmless name of the concept of a payload, so that a text can mention it."""
    return f"triggerword{number}"


def hostile_pipeline(texts: Iterable[str], folder: Path) -> Path:
    """Build a pipeline of a concept for each payload, which is its name, a synonym, its definition, its type and its id."""
    with (folder / "hostile.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "synonyms", "definition", "types", "xrefs"])
        for number, text in enumerate(texts):
            writer.writerow([f"evil:{number}{text}", text, f"{trigger(number)}|{text} {number}", text, text, f"evil:x{text}"])
    build_kb(Recipe.of({"sources": [{"path": "hostile.csv"}]}), folder / "kb", root=folder)
    build_pipeline(folder / "kb", folder / "hostile")
    return folder / "hostile"
