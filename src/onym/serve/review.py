"""Serves a review desk: a page on which people decide, with the server and the security of `onym serve`.

A request needs the token of an account, if there are accounts; it says who the reviewer is, and the request cannot. A decision
also needs the CSRF token that the page gets from `/v1/review/desk`, on loopback too. One thread makes all access to the desk.
Blind reviewers each have a queue and a progress of their own, and no answer depends on the decisions of others.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import JSONResponse
from pydantic import Field

from onym._version import __version__
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.search import search
from onym.review.decisions import Decision, Scope, Verdict
from onym.review.desk import Desk, DeskDocument, DeskLink, open_desk
from onym.review.queue import ReviewQueue
from onym.review.reviewers import Reviewers
from onym.serve.admission import Admission, note_route
from onym.serve.app import PAGE_FILES, add_handlers, page_router, read_page
from onym.serve.bodies import read_body, require_media_type
from onym.serve.metrics import Metrics
from onym.serve.routes import MAX_TERM, parse
from onym.serve.routes import Request as Wanted
from onym.serve.server import Lifecycle
from onym.serve.settings import MIN_TOKEN, ServeSettings
from onym.types import concept_to_dict, select_relatives, style_id

Role = Literal["reader", "reviewer"]
T = TypeVar("T")
REVIEW_FILES = {path: PAGE_FILES[path] for path in ("/page/page.css", "/page/dom.js", "/page/service.js", "/page/icon.svg")}
REVIEW_FILES |= read_page("review_static")
"""The files of the page by URL path."""
CSRF = "x-onym-csrf"
"""The header with the CSRF token."""
_AROUND = 240  # characters of text on each side of a mention
_HITS = 8
_MAX_CHILDREN = 20
_RECENT = 50  # decisions that can be undone after the page is loaded again


class Account(Wanted):
    """Who may use a desk: a reader only sees it, a reviewer also decides."""

    name: str = Field(min_length=1, max_length=100)
    role: Role
    token: str = Field(default="", repr=False)


_MAX_NUMBER = 2**63 - 1  # the largest integer of SQLite
_NUMBER = re.compile("[0-9]{1,18}")
Number = Annotated[int, PathParameter(ge=0, le=_MAX_NUMBER)]


class ReviewSettings(ServeSettings):
    """Settings of a review server. Without accounts, everybody who reaches it is the reviewer `reviewer`."""

    secured_by: ClassVar[str] = "--accounts"

    pipelines: dict[str, Path] = Field(default={})
    accounts: tuple[Account, ...] = Field(default=(), repr=False)
    reviewer: str = Field(default="reviewer", min_length=1, max_length=100)
    host: str = Field(default="127.0.0.1", description="Address to listen on; other than loopback, it requires --accounts.")
    blind: bool = Field(
        default=False,
        description="Reviewers decide independently: nobody sees decisions or progress of others, and each decides all.",
    )

    @property
    def bearer_tokens(self) -> tuple[str, ...]:
        """The tokens of all accounts."""
        return tuple(account.token for account in self.accounts)

    def account_of(self, authorization: str) -> Account:
        """Return the account of a request that was admitted."""
        for account in self.accounts:
            if hmac.compare_digest(authorization.encode(), f"Bearer {account.token}".encode()):
                return account
        if self.accounts:  # cannot happen after admission
            raise ConfigError("serve-token", "the token is missing or wrong", fix="send Authorization: Bearer TOKEN")
        return Account(name=self.reviewer, role="reviewer")


def read_accounts(path: Path) -> tuple[Account, ...]:
    """Read a file of accounts: name, role and token on each line, separated by white space.

    >>> path = getfixture("tmp_path") / "accounts"
    >>> _ = path.write_text("ann reviewer 0123456789abcdef\\nbob reader fedcba9876543210\\n")
    >>> [(account.name, account.role) for account in read_accounts(path)]
    [('ann', 'reviewer'), ('bob', 'reader')]
    """
    fix = f"write NAME, reader or reviewer, and a token of at least {MIN_TOKEN} characters on each line"
    try:
        lines = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError("serve-token-file", "cannot read the file of accounts", where=str(path), fix=fix) from e
    found = []
    for number, words in enumerate(lines, 1):
        if len(words) != 3 or words[1] not in ("reader", "reviewer") or len(words[2]) < MIN_TOKEN or not words[2].isascii():
            raise ConfigError("serve-token-file", f"account {number} is malformed", where=str(path), fix=fix)
        found.append(Account(name=words[0], role=words[1], token=words[2]))  # type: ignore[arg-type]
    if not found or len({each.name for each in found}) < len(found) or len({each.token for each in found}) < len(found):
        raise ConfigError("serve-token-file", "no accounts, or two with the same name or token", where=str(path), fix=fix)
    return tuple(found)


class DecisionRequest(Wanted):
    """A decision that the page sends. The reviewer and the time are not part of it."""

    id: str = Field(min_length=8, max_length=64)
    verdict: Verdict
    scope: Scope = "here"
    seconds: float = Field(default=0.0, ge=0, le=86_400)
    link: int | None = Field(default=None, ge=1, le=_MAX_NUMBER)
    document: int | None = Field(default=None, ge=1, le=_MAX_NUMBER)
    start: int | None = Field(default=None, ge=0, le=_MAX_NUMBER)
    end: int | None = Field(default=None, ge=0, le=_MAX_NUMBER)
    concept_id: str | None = Field(default=None, max_length=200)
    undoes: str | None = Field(default=None, max_length=64)


class DeskView:
    """Answers the requests for a desk. Only one thread at a time may use it. With `is_blind`, reviewers work independently."""

    def __init__(self, desk: Desk, kb: KnowledgeBase, *, is_blind: bool = False) -> None:
        self.desk, self.kb, self._is_blind = desk, kb, is_blind
        self._queues: dict[str, ReviewQueue] = {}
        earlier = (each for each in desk.decisions() if each.number <= desk.facts.settled_after)
        self._reviewers = Reviewers(() if is_blind else earlier)
        self.queue("")

    def queue(self, reviewer: str) -> ReviewQueue:
        """Return the queue of a reviewer; it is that of all reviewers unless they are blind."""
        name = reviewer if self._is_blind else ""
        if name not in self._queues:
            self._queues[name] = ReviewQueue(self.desk, reviewer=name)
        return self._queues[name]

    def next(self, reviewer: str, skipped: list[int]) -> dict[str, Any]:
        """Return the progress, and the next link to decide."""
        number = self.queue(reviewer).next(reviewer, skipped)
        return {"progress": self.progress(reviewer), "item": None if number is None else self.item(number, reviewer)}

    def progress(self, reviewer: str) -> dict[str, int]:
        """Return how many links are queued and undecided."""
        queue = self.queue(reviewer)
        return {"queued": queue.queued, "undecided": queue.undecided}

    def item(self, number: int, reviewer: str) -> dict[str, Any]:
        """Return a link with its context, its candidates, and the number of links that each scope covers.

        In a desk of disagreements, `labels` says what each reviewer had decided; their concepts are candidates too.
        """
        link, queue = self.desk.link(number), self.queue(reviewer)
        document = self.desk.document(link.document)
        held = queue.standing.of(link.number, link.document, link.cluster)
        before, after = _context(link, document)
        labels = self._reviewers.labels(link)
        names = {each.concept_id: each.preferred_name for each in link.candidates}
        said = [word for label in labels.values() for word in label.split()[-1:] if ":" in word]
        return {
            "link": link.number, "cluster": link.cluster, "document": document.number, "document_id": document.id,
            "detail": document.detail, "has_text": document.text is not None,
            "start": link.start, "end": link.end, "surface": link.surface, "before": before, "after": after,
            "type": link.type, "concept_id": link.concept_id, "nil_reason": link.nil_reason, "confidence": link.confidence,
            "candidates": [self.concept(each, names.get(each, "")) for each in [*dict.fromkeys([*said, *names])][:9]],
            "affected": queue.count_affected(link),
            "verdict": held.verdict if held else None, "labels": labels,
        }  # fmt: skip

    def document(self, number: int, reviewer: str) -> dict[str, Any]:
        """Return the whole text of a document with its links and the missed mentions that were added."""
        document = self.desk.document(number)
        links = [
            {"link": link.number, "start": link.start, "end": link.end, "surface": link.surface, **self._name(link.concept_id)}
            for link in self.desk.links_of(number)
        ]
        missed = [
            {"start": each.start, "end": each.end, **self._name(each.concept_id)}
            for each in self.queue(reviewer).standing.list_missed()
            if each.document == number
        ]
        shown = {"text": document.text, "detail": document.detail, "links": links, "missed": missed}
        return {"document": number, "id": document.id, **shown}

    def recent(self, reviewer: str) -> list[dict[str, Any]]:
        """Return the last decisions of a reviewer that hold, so that they can be undone."""
        own = [each for each in self.queue(reviewer).standing.list_holding() if each.reviewer == reviewer]
        return [{"id": each.id, "link": each.link} for each in own[-_RECENT:]]

    def _name(self, concept_id: str | None) -> dict[str, str | None]:
        row = self.kb.concept_ids.find(concept_id) if concept_id else -1
        return {"concept_id": concept_id, "name": concept_id if row < 0 else self.kb.preferred_form(row)}

    def concept(self, concept_id: str, name: str = "") -> dict[str, Any]:
        """Return a concept with definition, synonyms, parents and children; an id that is not in the KB has a name only."""
        row = self.kb.concept_ids.find(concept_id)
        if row < 0:
            return {"id": style_id(concept_id), "curie": concept_id, "preferred_name": name, "names": [], "definitions": []}
        concept = self.kb.concept(row)
        found = concept_to_dict(concept)
        children = list(select_relatives(concept.children).values())
        found["parents"] = list(select_relatives(concept.parents).values())
        found["names"] = found["names"][:30]
        return {
            **found,
            "curie": concept.id,
            "children": children[:_MAX_CHILDREN],
            "more_children": len(children) > _MAX_CHILDREN,
        }

    def search(self, text: str) -> dict[str, Any]:
        """Return the concepts that a search finds."""
        return {"hits": [self.concept(hit.concept_id) for hit in search(self.kb, text, _HITS)]}

    def decide(self, wanted: DecisionRequest, reviewer: str) -> dict[str, Any]:
        """Store a decision; the answer is sent after it is on disk."""
        concept_id = wanted.concept_id
        if concept_id is not None:
            rows = self.kb.resolve(concept_id)
            concept_id = self.kb.concept_ids[rows[0]] if len(rows) == 1 else concept_id
            known = wanted.verdict == "right" or len(rows) == 1
            if not known:
                what = "the knowledge base has no such concept"
                raise InputError("review-decision", what, fix="choose a concept that the search finds")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        values = wanted.model_dump(exclude={"concept_id"})
        decision = Decision(**values, concept_id=concept_id, reviewer=reviewer, time=now, kb=self.kb.digest)
        stored = self.queue(reviewer).decide(decision)
        return {"id": stored.id, "progress": self.progress(reviewer)}


def _context(link: DeskLink, document: DeskDocument) -> tuple[str, str]:
    """Return the text before and after a mention: of its paragraph, and of a limited length."""
    if document.text is None:
        return link.before or "", link.after or ""
    before = document.text[max(0, link.start - _AROUND) : link.start]
    after = document.text[link.end : link.end + _AROUND]
    return before.rpartition("\n")[2], after.partition("\n")[0]


class ReviewService:
    """A review server, but for the listener. Must be created in an event loop."""

    def __init__(self, desk: Desk, kb: KnowledgeBase, settings: ReviewSettings) -> None:
        self.metrics, self.lifecycle = Metrics(), Lifecycle(settings.drain_delay)
        self.view, self.settings = DeskView(desk, kb, is_blind=settings.blind), settings
        self.csrf = secrets.token_urlsafe(32)
        self._thread = ThreadPoolExecutor(1, "desk")
        self.admission = Admission(build_review_app(self), settings, self, self.metrics, REVIEW_FILES)
        self.metrics.watch({}, lambda: self.admission.in_flight)

    @property
    def is_draining(self) -> bool:
        """True if the service is shutting down."""
        return self.lifecycle.is_draining

    def estimate_wait(self, path: str) -> float:  # noqa: ARG002 - of the protocol
        """Return 0: requests for a desk are short."""
        return 0.0

    async def run(self, act: Callable[..., T], *values: Any) -> T:
        """Call a function in the thread of the desk."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(act, *values))

    async def open(self) -> None:
        """Do nothing: the desk is open."""

    def schedule_reload(self) -> None:
        """Do nothing: a desk does not change but by decisions."""

    async def close(self) -> None:
        """Wait for the request under way; the caller closes the desk."""
        self._thread.shutdown()


def build_review_app(service: ReviewService) -> FastAPI:
    """Build the application of a review server."""
    app = FastAPI(title="Onym review", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(page_router(REVIEW_FILES))
    app.include_router(_read_routes(service))
    app.include_router(_decision_route(service))
    add_handlers(app, service.metrics.note_disconnect)
    return app


def _account(service: ReviewService, request: Request, route: str) -> Account:
    note_route(request.scope, route)
    return service.settings.account_of(request.headers.get("authorization", ""))


def _read_routes(service: ReviewService) -> APIRouter:
    router, view = APIRouter(prefix="/v1/review"), service.view

    @router.get("/desk")
    async def show(request: Request) -> Response:
        account = _account(service, request, "/v1/review/desk")
        facts = view.desk.facts
        can_decide = account.role == "reviewer"
        shown = {"title": facts.title, "are_terms": facts.are_terms, "is_blind": service.settings.blind}
        own = {"reviewer": account.name, "role": account.role, "csrf": service.csrf if can_decide else ""}
        missing = {"missing": len(facts.missing), "same_kb": facts.kb == view.kb.digest}
        recent = await service.run(view.recent, account.name) if can_decide else []
        progress = await service.run(view.progress, account.name)
        return JSONResponse({**shown, **own, **missing, "recent": recent, "progress": progress})

    @router.get("/next")
    async def show_next(request: Request, skipped: str = "") -> Response:
        account = _account(service, request, "/v1/review/next")
        clusters = [int(number) for number in skipped.split(",")[:1000] if _NUMBER.fullmatch(number)]
        return JSONResponse(await service.run(view.next, account.name, clusters))

    @router.get("/links/{number}")
    async def show_link(request: Request, number: Number) -> Response:
        account = _account(service, request, "/v1/review/links/{id}")
        return JSONResponse(await service.run(view.item, number, account.name))

    @router.get("/documents/{number}")
    async def show_document(request: Request, number: Number) -> Response:
        account = _account(service, request, "/v1/review/documents/{id}")
        return JSONResponse(await service.run(view.document, number, account.name))

    @router.get("/search")
    async def find(request: Request, q: str = "") -> Response:
        _account(service, request, "/v1/review/search")
        return JSONResponse(await asyncio.to_thread(view.search, q[:MAX_TERM]))

    return router


def _decision_route(service: ReviewService) -> APIRouter:
    router, settings = APIRouter(prefix="/v1/review"), service.settings

    @router.post("/decisions")
    async def decide(request: Request) -> Response:
        account = _account(service, request, "/v1/review/decisions")
        require_media_type(request, "application/json")
        if account.role != "reviewer":
            raise ConfigError("serve-role", "readers cannot decide", fix="ask for a token of a reviewer")
        if not hmac.compare_digest(request.headers.get(CSRF, "").encode(), service.csrf.encode()):
            fix = f"send the token of /v1/review/desk in the header {CSRF}"
            raise ConfigError("serve-csrf", "the CSRF token is missing or wrong", fix=fix)
        body = await read_body(request.receive, settings.max_body, settings.body_timeout)
        return JSONResponse(await service.run(service.view.decide, parse(DecisionRequest, body), account.name))

    return router


def run_review(desk: Path, kb: KnowledgeBase, settings: ReviewSettings) -> None:
    """Serve a desk until a signal stops the server. No other process may serve it."""
    from onym.serve.server import serve_one

    with open_desk(desk, exclusive=True) as opened:
        serve_one(settings, lambda: ReviewService(opened, kb, settings))
