"""Attack the web page of the service in Chromium with injection payloads and hostile origins, and check it with axe-core.

Payloads that run a script if interpreted as HTML are put into texts, into names, synonyms, definitions, types,
cross-references and ids of concepts, into cells, headers and names of tables, and into errors. All mentions and tables are
opened.

cases              number of attacks; `by_kind` counts them by kind
executed           scripts that ran, dialogs that opened, and navigations to other pages
injected           HTML elements that were created from text
unshown            payloads that the page did not display, so that they tested nothing
external_requests  requests to anything but the service
csp_weak           responses whose Content-Security-Policy is missing or allows too much
let_in             requests that were answered, or pages that were framed, although the request comes from another origin, names
                   another host (DNS rebinding), or has no token or a wrong one
a11y_violations    axe-core rules that a state of the page violates, in light and dark mode, in a wide and a narrow window
control_...        the same counts for a page that is vulnerable on purpose; if one of them is 0, its check does not work
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from benchmarks.serve.running import Running

from tests.robustness.serve.browser import Watched, axe_script, open_browser, violations
from tests.robustness.serve.hostile_pages import control_page, hostile_pipeline, payloads, read_from, trigger

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

_COUNTED = ("executed", "injected", "unshown", "external_requests", "csp_weak", "let_in", "a11y_violations")
UPPER_BOUNDS = dict.fromkeys(_COUNTED, 0)
LOWER_BOUNDS = {"control_executed": 1, "control_external_requests": 1, "control_let_in": 1, "control_a11y_violations": 1}
_TOKEN = "0123456789abcdef0123456789abcdef"
_REBOUND = "--host-resolver-rules=MAP evil.test 127.0.0.1"
_AT_ONCE = 10  # payloads put into one text or one table
_LOOKS = (("light", 1200), ("dark", 390), ("light", 390), ("dark", 1200))
_TEXT = "Type 2 diabetes mellitus (T2DM) and breast cancer, no T2DM."
_OPEN = ("/", "/page/page.js", "/page/page.css", "/live", "/ready")
_CLOSED = ("/v1/pipelines", "/v1/search?q=fever", "/v1/concepts/mondo:0005148", "/metrics", "/openapi.json", "/nothing")
_POSTED = {"/v1/link": {"text": "fever"}, "/v1/map": {"terms": ["fever"]}, "/v1/link/batch": {"text": "fever"}}
_STRICT = re.compile(r"(^|; )default-src 'none'(;|$).*frame-ancestors 'none'")
_WEAK = re.compile(r"unsafe-|\*|https?:|data:|blob:|nonce-|sha256-")
_HOSTS = (
    *("evil.test", "evil.test:{port}", "localhost.evil.test", "127.0.0.1.evil.test:{port}", "evil-localhost", "0.0.0.0"),
    *(
        "10.0.0.1",
        "169.254.169.254",
        "[::2]",
        "localhost@evil.test",
        "evil.test#localhost",
        "localhost,evil.test",
        "xn--lcalhost-54a",
    ),
)
_FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "http://evil.test"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
    {"Origin": "https://{host}.evil.test"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://{host}"},
)
_TOKENS: tuple[dict[str, str], ...] = (
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": f"Bearer {_TOKEN[:-1]}"},
    {"Authorization": f"Bearer {_TOKEN}0"},
    {"Authorization": f"Bearer  {_TOKEN}"},
    {"Authorization": f"bearer {_TOKEN}"},
    {"Authorization": f"Basic {_TOKEN}"},
    {"Authorization": _TOKEN},
    {"Authorization": f"Bearer {_TOKEN.upper()}"},
    {"Cookie": f"token={_TOKEN}"},
    {"X-Api-Key": _TOKEN},
    {"Proxy-Authorization": f"Bearer {_TOKEN}"},
)


def run(options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, control_page() as control, open_browser(_REBOUND) as browser:
        trial = Trial(browser, control, payloads(is_quick=options.quick), is_quick=options.quick)
        with trial.services(Path(folder)):
            trial.run()
        trial.test_control()
    counts = trial.counts
    names = (*UPPER_BOUNDS, *LOWER_BOUNDS)
    if trial.notes:
        print("\n".join(trial.notes[:20]), file=sys.stderr)
    cases = {"cases": sum(trial.kinds.values()), "by_kind": dict(sorted(trial.kinds.items()))}
    return cases | {name: counts[name] for name in names}


class Trial:
    """Runs the attacks, and counts the outcomes."""

    service: Running
    guarded: Running

    def __init__(self, browser: Browser, control: str, texts: Sequence[str], *, is_quick: bool) -> None:
        self.browser, self.control, self.texts, self.is_quick = browser, control, texts, is_quick
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.notes: list[str] = []
        self._axe = axe_script()

    @contextmanager
    def services(self, folder: Path) -> Iterator[None]:
        """Run two services, one without and one with a token."""
        hostile = hostile_pipeline(self.texts, folder)
        (folder / "token").write_text(_TOKEN)
        self.service = Running(f"hostile={hostile}", folder / "log.txt", "--pipeline", "diseases=starter")
        self.guarded = Running(hostile, folder / "guarded.txt", "--token-file", str(folder / "token"))
        try:
            self.service.wait_until_ready()
            self.guarded.wait_until_ready()
            yield
        finally:
            self.service.stop(signal.SIGKILL)
            self.guarded.stop(signal.SIGKILL)

    def run(self) -> None:
        for start in range(0, len(self.texts), _AT_ONCE):
            self._inject(start, self.texts[start : start + _AT_ONCE])
        self._force()
        self._policies()
        self._other_hosts()
        self._other_origins()
        self._tokens()
        self._pages_of_other_origins()
        self._rebinding()
        self._accessibility()

    def _count(self, name: str, number: int, note: str) -> None:
        self.counts[name] += number
        if number:
            self.notes.append(f"{name} {number}: {note}")

    def _open_page(self, url: str = "") -> Watched:
        watched = Watched(self.browser, url or self.service.url)
        watched.wait()
        return watched

    def _inject(self, start: int, texts: Sequence[str]) -> None:
        """Display payloads in every field at once: in the knowledge base, the texts and the tables."""
        watched = self._open_page()
        text = ". ".join(f"{trigger(start + at)} {each}" for at, each in enumerate(texts))
        watched.link(text, "hostile")
        note = f"payloads from {start}"
        self._count("unshown", int(watched.read_marked_text() != text), f"{note}: the text")
        shown = watched.look_at_all()
        self._count("injected", watched.count_injected("#linked"), note)
        rows = ["name,term", *(f"{_cell(each)},{trigger(start + at)}" for at, each in enumerate(texts))]
        rows += [f"x,{_cell(each)}" for each in texts]
        headers = texts[:1] if self.is_quick else texts
        for header in headers:
            table = "\n".join([rows[0].replace("term", _cell(header)), *rows[1:]])
            shown += watched.map(table, f"{header.replace('/', '')}.csv", "hostile")
            self._count("injected", watched.count_injected("#table-options, #mapped, #status"), note)
        shown += self._error(watched, texts)
        self._count("executed", watched.count_executed(), note)
        self._count("external_requests", len(watched.external), f"{note}: {watched.external[:3]}")
        expected = [part for at, each in enumerate(texts) for part in _expect_shown(start + at, each, len(texts) + at + 1)]
        expected += [f"{header.replace('/', '')}.csv: " for header in headers]
        unshown = [part for part in expected if part not in shown]
        self._count("unshown", len(unshown), f"{note}: {unshown[:3]}")
        for way in ("text", "names and ids", "definitions", "types", "cross-references", "cells", "errors"):
            self.kinds[f"injection by {way}"] += len(texts)
        self.kinds["injection by headers and file names"] += len(headers)
        watched.close()

    def _error(self, watched: Watched, texts: Sequence[str]) -> str:
        """Display errors of a service or a proxy that contain payloads; return the displayed text."""
        shown = ""
        for each in texts:
            watched.page.route("**/map", _refusing(each))
            watched.page.click("#map")
            watched.page.locator("#error .card").wait_for()
            watched.page.unroute("**/map")
            shown += str(watched.page.locator("#error").evaluate("each => each.textContent"))
            self._count("injected", watched.count_injected("#error"), f"an error with {each}")
        return shown

    def _force(self) -> None:
        """Insert payloads as HTML on purpose: the Content-Security-Policy must stop them."""
        watched = self._open_page()
        for each in self.texts:
            watched.evaluate(f"try {{ document.querySelector('footer').innerHTML = {json.dumps(each)} }} catch {{}}")
            watched.evaluate(f"try {{ eval({json.dumps(each)}) }} catch {{}}")
        watched.evaluate("document.body.appendChild(document.createElement('p')).setAttribute('onclick', 'pwned()')")
        self.kinds["forced past the page"] += 2 * len(self.texts)
        self._count("external_requests", len(watched.external), f"forced: {watched.external[:3]}")
        watched.page.locator("body > p").last.evaluate("each => each.click()")
        self._count("executed", watched.count_executed(), "forced")
        watched.close()

    def _policies(self) -> None:
        paths = (*_OPEN, *_CLOSED)
        answers = [httpx.get(f"{self.service.url}{path}") for path in paths]
        answers += [
            httpx.get(f"{self.guarded.url}/v1/pipelines"),
            httpx.post(f"{self.service.url}/v1/link", json={"text": "a"}),
        ]
        answers += [httpx.get(f"{self.service.url}/", headers={"Host": "evil.test"})]
        for answer in answers:
            policy = answer.headers.get("content-security-policy", "")
            is_weak = (
                not _STRICT.search(policy) or _WEAK.search(policy) or answer.headers.get("x-content-type-options") != "nosniff"
            )
            self._count("csp_weak", int(bool(is_weak)), f"{answer.url}: {policy}")
        self.kinds["policies"] += len(answers)

    def _ask(self, service: Running, headers: dict[str, str], allowed: Sequence[str], kind: str) -> None:
        """Request every path with these headers; count responses from paths outside `allowed` as `let_in`."""
        host = service.url.removeprefix("http://")
        sent = {name: value.replace("{host}", host) for name, value in headers.items()}
        with httpx.Client(base_url=service.url, headers=sent) as client:
            for path in (*_OPEN, *_CLOSED, *_POSTED):
                answer = client.post(path, json=_POSTED[path]) if path in _POSTED else client.get(path)
                is_in = answer.status_code not in (401, 403, 421) and path not in allowed
                self._count("let_in", int(is_in), f"{kind} {path} {sent}")
                self.kinds[kind] += 1

    def _other_hosts(self) -> None:
        port = self.service.url.rpartition(":")[2]
        for host in _HOSTS:
            self._ask(self.service, {"Host": host.replace("{port}", port)}, (), "other hosts")

    def _other_origins(self) -> None:
        for headers in _FOREIGN:
            self._ask(self.service, headers, _OPEN, "other origins")
            self._ask(self.guarded, headers | {"Authorization": f"Bearer {_TOKEN}"}, _OPEN, "other origins")

    def _tokens(self) -> None:
        for headers in _TOKENS:
            self._ask(self.guarded, headers, _OPEN, "tokens")
        for path in ("/v1/pipelines", "/v1/search"):
            answer = httpx.get(f"{self.guarded.url}{path}", params={"q": "fever", "token": _TOKEN, "access_token": _TOKEN})
            self._count("let_in", int(answer.status_code != 401), f"a token in the address of {path}")
            self.kinds["tokens"] += 1

    def _pages_of_other_origins(self) -> None:
        """Let a page of another origin read, load and frame the service."""
        for service in (self.service, self.guarded):
            tried, worked = read_from(self.browser, self.control, service.url, (*_CLOSED, *_OPEN), _OPEN)
            self.kinds["pages of other origins"] += tried
            self._count("let_in", worked, "a page of another origin")

    def _rebinding(self) -> None:
        """Resolve an attacker's host name to this machine, as in DNS rebinding."""
        port = self.service.url.rpartition(":")[2]
        for path in (*_OPEN, *_CLOSED):
            page = self.browser.new_page()
            answer = page.goto(f"http://evil.test:{port}{path}")
            self._count("let_in", int(answer is None or answer.status != 421), f"DNS rebinding: {path}")
            self.kinds["DNS rebinding"] += 1
            page.close()

    def _accessibility(self) -> None:
        for scheme, width in _LOOKS[:2] if self.is_quick else _LOOKS:
            for state, watched in self._states(scheme, width):
                found = violations(watched.page, self._axe)
                self._count("a11y_violations", len(found), f"{state}, {scheme}, {width}: {found}")
                self.kinds["accessibility"] += 1

    def _states(self, scheme: str, width: int) -> Iterator[tuple[str, Watched]]:
        """Yield the page in each state: initial, with links, with details, with a table, with an error, asking for a token."""
        options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
        watched = Watched(self.browser, self.service.url, **options)
        watched.wait()
        yield "start", watched
        watched.link(_TEXT, "diseases")
        yield "links", watched
        watched.look_at_all()
        watched.page.locator("summary").click()
        yield "details", watched
        watched.link(f"{trigger(0)} and {trigger(1)}", "hostile")
        watched.look_at_all()
        yield "several types", watched
        watched.page.click("#tab-table")
        yield "table", watched
        watched.map("id,term\n1,breast cancer\n2,T2DM\n3,\n4,zzz\n", "terms.csv", "diseases")
        yield "mapped", watched
        self._error(watched, ["a refusal"])
        yield "error", watched
        watched.close()
        watched = Watched(self.browser, self.guarded.url, **options)
        watched.wait()
        yield "token", watched
        watched.close()

    def test_control(self) -> None:
        """Run the same checks on a vulnerable page."""
        for each in self.texts:
            watched = Watched(self.browser, self.control)
            watched.careless(each)
            self.counts["control_executed"] += watched.count_executed() > 0
            self.counts["control_external_requests"] += len(watched.external)
            watched.close()
        watched = Watched(self.browser, self.control)
        self.counts["control_a11y_violations"] = len(violations(watched.page, self._axe))
        watched.close()
        with control_page() as other:
            self.counts["control_let_in"] = read_from(self.browser, other, other, _CLOSED, ())[1]


def _refusing(text: str) -> Callable[[Route], None]:
    error = {"code": text, "what": text, "where": text, "fix": text}
    return lambda route: route.fulfill(status=500, json={"error": error})


def _expect_shown(number: int, text: str, row: int) -> list[str]:
    """Return the texts in which the page displays a payload: name and id, definition, type, cross-reference, cell, error."""
    return [
        f"{text} EVIL:{number}{text}",
        f"Definition{text}",
        f"{trigger(number)} {text}",
        f"EVIL:x{text}",
        f"{row}{text}",
        f"{text}{text}Error {text} in {text}",
    ]


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
