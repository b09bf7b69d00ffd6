"""The real OpenRefine, headless and driven through its HTTP API, as its web page does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_PORT, _PATIENCE_S, _RUN_S = 3333, 120.0, 1_800.0
_COLUMN = "Column 1"
_ENGINE = {"facets": [], "mode": "row-based"}
INSTALL = "this benchmark needs OpenRefine: apt-get install openrefine (Debian), or run it with --quick"


class OpenRefine:
    """An OpenRefine server with its own folder. It has no password, so run it in a separate network namespace."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("openrefine"):
            sys.exit(INSTALL)
        self.url = f"http://127.0.0.1:{_PORT}"
        self._log = folder / "openrefine.txt"
        command = [
            "openrefine",
            "-i",
            "127.0.0.1",
            "-p",
            str(_PORT),
            "-d",
            str(folder / "openrefine"),
            "-x",
            "refine.headless=true",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        self._client = httpx.Client(base_url=f"{self.url}/command/core/", timeout=_PATIENCE_S)

    def __enter__(self) -> Self:
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                self._client.get("get-version").raise_for_status()
                return self
            except httpx.HTTPError:
                time.sleep(0.2)
        self.__exit__(None, None, None)
        raise RuntimeError(self._log.read_text("utf-8", "replace")[-2_000:])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)

    def version(self) -> str:
        return str(self._client.get("get-version").json()["version"])

    def project_of(self, values: Sequence[str]) -> str:
        """Create a project with one row per value, and return its id."""
        options = {
            "encoding": "UTF-8",
            "separator": "",
            "limit": -1,
            "skipDataLines": 0,
            "storeBlankRows": True,
            "linesPerRow": 1,
        }
        made = self._client.post(
            "create-project-from-upload",
            params={"csrf_token": self._token(), "format": "text/line-based", "options": json.dumps(options)},
            data={"project-name": "rows"},
            files={"project-file": ("rows.txt", "\n".join(values).encode(), "text/plain")},
        )
        return httpx.URL(made.headers["location"]).params["project"]

    def reconcile(self, project: str, service: str) -> float:
        """Reconcile the column with a service, as `Start reconciling` does, and return the seconds it took."""
        manifest = httpx.get(service).json()
        config = {
            "mode": "standard-service",
            "service": service,
            "identifierSpace": manifest["identifierSpace"],
            "schemaSpace": manifest["schemaSpace"],
            "type": None,
            "autoMatch": True,
            "columnDetails": [],
            "limit": 0,
        }
        began = time.perf_counter()
        self._apply(project, {"op": "core/recon", "columnName": _COLUMN, "config": config, "engineConfig": _ENGINE})
        return time.perf_counter() - began

    def extend(self, project: str, service: str, properties: Sequence[str]) -> None:
        """Add columns with the values of properties, as `Add columns from reconciled values` does."""
        wanted = {"properties": [{"id": each, "name": each} for each in properties]}
        operation = {
            "op": "core/extend-reconciled-data",
            "baseColumnName": _COLUMN,
            "columnInsertIndex": 1,
            "extension": wanted,
        }
        names = {"endpoint": service, "identifierSpace": "https://bioregistry.io/", "schemaSpace": "urn:onym:semantic-types"}
        self._apply(project, {**operation, **names, "engineConfig": _ENGINE})

    def rows(self, project: str) -> list[dict[str, Any]]:
        """Return all rows: the cell values, and the judgement and candidates of the first cell."""
        answer = self._client.get("get-rows", params={"project": project, "start": 0, "limit": 100_000}).json()
        recons = answer["pool"].get("recons", {})

        def row(cells: list[Any]) -> dict[str, Any]:
            first = cells[0] or {}
            recon = recons.get(str(first.get("r")), {})
            matched = recon.get("m") or {}
            return {
                "value": first.get("v"),
                "matched": matched.get("id") if recon.get("j") == "matched" else None,
                "candidates": [each["id"] for each in recon.get("c", ())],
                "others": [each.get("v") if each else None for each in cells[1:]],
                "error": recon.get("e"),
            }

        return [row(each["cells"]) for each in answer["rows"]]

    def _apply(self, project: str, operation: dict[str, Any]) -> None:
        """Apply an operation, and wait until it has finished."""
        fields = {"operations": json.dumps([operation]), "csrf_token": self._token()}
        said = self._client.post("apply-operations", params={"project": project}, data=fields).json()
        if said["code"] not in ("ok", "pending"):
            raise RuntimeError(str(said)[:2_000])
        until = time.monotonic() + _RUN_S
        while self._client.get("get-processes", params={"project": project}).json()["processes"]:
            if time.monotonic() > until:
                raise RuntimeError("OpenRefine did not finish the operation in time")
            time.sleep(0.05)

    def _token(self) -> str:
        return str(self._client.get("get-csrf-token").json()["token"])
