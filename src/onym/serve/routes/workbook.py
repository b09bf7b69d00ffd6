"""The route that reads the first sheet of an .xlsx workbook for the web page, because browsers cannot read .xlsx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from onym.errors import InputError, LimitError, OnymError
from onym.serve.routes import Reply, Request, Route

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline

MAX_CELLS = 200_000
"""Maximum cells of a sheet; more would block a linker process for too long."""


class WorkbookRequest(Request):
    """A request to read a workbook."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "UEsDBBQAAAA..."}]})

    content: str = Field(description="The bytes of the .xlsx file, in base64.")

    @property
    def characters(self) -> int:
        """The cost of the request: the length of the workbook in base64."""
        return len(self.content)


class WorkbookReply(Reply):
    """The rows of the first sheet as text, header first."""

    rows: list[list[str]]


def _read(_: Pipeline, job: dict[str, Any]) -> dict[str, Any]:
    from base64 import b64decode

    try:
        content = b64decode(job["content"], validate=True)
    except ValueError:
        raise InputError("request-malformed", "content: not base64", where="the body", fix="see /openapi.json") from None
    try:
        return {"rows": _rows(content)}
    except OnymError as e:
        e.where = "the workbook"
        raise


def _rows(content: bytes) -> list[tuple[str, ...]]:
    from onym.store.files.xlsx import read_xlsx_bytes

    rows, cells = [], 0
    for row in read_xlsx_bytes(content):
        cells += len(row)
        if cells > MAX_CELLS:
            what = f"the sheet has more than {MAX_CELLS:,} cells"
            raise LimitError("xlsx-limit", what, fix="map it with `onym map`, or delete columns and rows")
        if any(row):
            rows.append(row)
    return rows


ROUTES = (
    Route(
        path="/workbook",
        op="workbook",
        takes=WorkbookRequest,
        replies=WorkbookReply,
        description="Read the first sheet of an .xlsx workbook as rows of text; empty rows are dropped.",
        act=_read,
        name="read_workbook",
    ),
)
