"""A page of another origin, without any of the care that Onym's page takes: what is looked for must be found on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
    """Serve the page while the block runs; its address is yielded."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
