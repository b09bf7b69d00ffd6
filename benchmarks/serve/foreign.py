"""What a web page of another origin can do with a service: fetch, load, frame. It is let in where any of this works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.serve.watched import Watched

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
    """Let a page try to use a service; return how much was tried, and how much worked.

    What works is an answer that it can read, a file that it can load, a frame, and any answer of a path that is not `for_all`.
    """
    watched = Watched(browser, page)
    tried, readable = watched.evaluate(_FETCHES % (service, list(paths)))
    watched.evaluate(_FRAME % service)
    watched.executed()  # waits a moment
    framed = sum(frame.url.startswith(service) and frame.title() != "" for frame in watched.page.frames[1:])
    answered = [each.url.removeprefix(service) for each in watched.answers if each.url.startswith(service) and each.ok]
    watched.close()
    return int(tried) + 1, int(readable) + framed + sum(path not in for_all for path in answered)
