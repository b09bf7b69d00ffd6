"""Injection payloads: they call `pwned()` if a page interprets them as HTML, a URL, a template or an object key."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from onym.kb import Recipe, build_kb
from onym.pipeline import build_pipeline
from tests.robustness.serve.browser import Watched

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
    """Return the payloads: one for each technique, or each with several prefixes that close the surrounding markup."""
    if is_quick:
        return list(_PATTERNS[:8])
    return [f"{prefix}{pattern}" for prefix in _PREFIXES for pattern in _PATTERNS]


def trigger(number: int) -> str:
    """Return a harmless name for a payload's concept, so that a text can mention it."""
    return f"triggerword{number}"


def hostile_pipeline(texts: Iterable[str], folder: Path) -> Path:
    """Build a pipeline with one concept per payload; the payload is its name, a synonym, its definition, type and id."""
    with (folder / "hostile.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "synonyms", "definition", "types", "xrefs"])
        for number, text in enumerate(texts):
            writer.writerow([f"evil:{number}{text}", text, f"{trigger(number)}|{text} {number}", text, text, f"evil:x{text}"])
    build_kb(Recipe.of({"sources": [{"path": "hostile.csv"}]}), folder / "kb", root=folder)
    build_pipeline(folder / "kb", folder / "hostile")
    return folder / "hostile"


# What a web page of another origin can try with a service: fetch, load, frame. Each success counts as `let_in`.

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FETCHES = """(async () => {
  const [service, paths] = [%r, %r];
  const tries = paths.flatMap((path) => [
    [path, {}], [path, {mode: "no-cors"}], [path, {credentials: "include"}], [path, {headers: {Authorization: "Bearer x"}}],
  ]);
  for (const path of ["/v1/link", "/v1/map"]) {
    for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded"]) {
      const post = {method: "POST", body: '{"text": "fever"}', headers: {"Content-Type": type}};
      tries.push([path, {...post, mode: "cors"}], [path, {...post, mode: "no-cors"}]);
    }
  }
  let readable = 0;
  for (const [path, options] of tries) {
    try {
      const answer = await fetch(service + path, options);
      if (answer.type !== "opaque") { await answer.text(); readable += 1; }
    } catch {}
  }
  const loads = [["img", "/page/icon.svg"]];
  for (const path of ["/page/page.js", "/v1/pipelines", "/openapi.json"]) loads.push(["script", path]);
  for (const [tag, path] of loads) {
    readable += await new Promise((done) => {
      const handlers = {onload: () => done(1), onerror: () => done(0), src: service + path};
      document.body.append(Object.assign(document.createElement(tag), handlers));
    });
  }
  return [tries.length + loads.length, readable];
})()"""
_FRAME = "document.body.append(Object.assign(document.createElement('iframe'), {src: %r + '/'}))"


def read_from(browser: Browser, page: str, service: str, paths: Sequence[str], for_all: Sequence[str]) -> tuple[int, int]:
    """Let a page try to use a service; return the number of attempts and of successes.

    A success is a readable response, a loaded file, a frame, or any response from a path that is not public (`for_all`).
    """
    watched = Watched(browser, page)
    tried, readable = watched.evaluate(_FETCHES % (service, list(paths)))
    watched.evaluate(_FRAME % service)
    watched.count_executed()  # this call also waits until pending requests have finished
    framed = sum(frame.url.startswith(service) and frame.title() != "" for frame in watched.page.frames[1:])
    answered = [each.url.removeprefix(service) for each in watched.answers if each.url.startswith(service) and each.ok]
    watched.close()
    return int(tried) + 1, int(readable) + framed + sum(path not in for_all for path in answered)


# A deliberately vulnerable page of another origin: the checks must find all vulnerabilities on it.

_PAGE = b"""<!doctype html><title></title><body><img src="/there.png"><input><p style="color:#ccc;background:#fff">Pale</p>
<div id="careless"></div><script>
function careless(text) {
  const target = document.getElementById("careless");
  target.innerHTML = text;
  document.body.append(document.createRange().createContextualFragment(text));
}
</script>"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(_PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def control_page() -> Iterator[str]:
    """Serve the page within the block, and yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
