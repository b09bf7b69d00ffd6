"""Components: steps of users, before or after linking.

A component is a class with a `Config`, or a plain function, that takes a batch of documents and returns as many. It is
decorated with its place, and registered as an entry point of the group `onym.components`:

    @before_link        gets `Prepared` documents, and may drop, add or change the mentions that were found
    @after_link         gets linked documents with confidences and corrected answers, before thresholds are applied

A recipe or `--component NAME` adds it to a pipeline; components run in the order given, after those that are built in. If a
batch fails, each document is tried alone, and a document that fails has a problem. What a component says about a link goes into
`Link.extra`, under the name of the component.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import SerializeAsAny

from onym.corpora.problems import isolate
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.parts import PartConfig, of_kind
from onym.pipeline.prepare import Prepared
from onym.registry import COMPONENTS
from onym.types import LinkedDocument, Problem

Place = Literal["before_link", "after_link"]
BeforeLink = Callable[[Sequence[Prepared]], Sequence[Prepared]]
AfterLink = Callable[[Sequence[LinkedDocument]], Sequence[LinkedDocument]]
MAX_EXTRA = 4096
"""Maximum size of what a component adds to a link, in bytes of JSON."""
T = TypeVar("T", Prepared, LinkedDocument)
C = TypeVar("C", bound=Callable[..., Any])


class ComponentConfig(PartConfig):
    """The configuration of a component. A component without options has none of its own."""


def component_config(name: str, **options: Any) -> ComponentConfig:
    """Return the configuration of a component by its short name; options that are None are ignored."""
    given = {key: value for key, value in options.items() if value is not None}
    config: ComponentConfig = COMPONENTS.load(name).Config.of({"kind": name, **given})
    return config


AnyComponent = Annotated[SerializeAsAny[ComponentConfig], of_kind(COMPONENTS)]
"""A field for the configuration of any component, of the class that its `kind` names."""


def before_link(component: C) -> C:
    """Mark a function or class as a component that changes the mentions to link."""
    return _mark(component, "before_link")


def after_link(component: C) -> C:
    """Mark a function or class as a component that changes links."""
    return _mark(component, "after_link")


def _mark(component: C, place: Place) -> C:
    component.place = place  # type: ignore[attr-defined]
    if not hasattr(component, "Config"):
        component.Config = ComponentConfig  # type: ignore[attr-defined]
    return component


@dataclass(frozen=True)
class Component:
    """A component that was opened for a pipeline: its place, its function, and its configuration for the record of a run."""

    name: str
    place: Place
    run: BeforeLink | AfterLink
    config: dict[str, Any]

    @classmethod
    def open(cls, config: ComponentConfig, kb: KnowledgeBase) -> Component:
        """Open a component by its configuration."""
        found = COMPONENTS.load(config.kind)
        run = found(config, kb) if isinstance(found, type) else found
        return cls(config.kind, found.place, run, config.model_dump(mode="json"))


def run_before(components: Sequence[Component], batch: list[Prepared], done: Callable[[str], None]) -> list[Prepared]:
    """Run the components that come before linking, and call `done` with the name of each."""
    for component in components:
        if component.place == "before_link":
            batch = _run(component, batch, Prepared, _fail_prepared, _with_same_mentions)
            done(component.name)
    return batch


def run_after(
    components: Sequence[Component], batch: list[LinkedDocument], done: Callable[[str], None]
) -> list[LinkedDocument]:
    """Run the components that come after linking, and call `done` with the name of each."""
    for component in components:
        if component.place == "after_link":
            batch = _run(component, batch, LinkedDocument, _fail_linked, _require_valid_links)
            done(component.name)
    return batch


def _run(
    component: Component,
    batch: list[T],
    kind: type[T],
    fail: Callable[[T, Problem], T],
    check: Callable[[list[T], str], list[T]],
) -> list[T]:
    run, name = cast("Callable[[Sequence[T]], Sequence[T]]", component.run), component.name

    def act(documents: Sequence[T]) -> list[T]:
        results = list(run(documents))
        if len(results) != len(documents) or not all(isinstance(each, kind) for each in results):
            what = f"the component {name!r} returned {len(results)} results for {len(documents)} documents"
            raise ConfigError("component-invalid", what, fix=f"return one {kind.__name__} for each")
        if not all(map(_are_of_same_text, results, documents)):
            what = f"the component {name!r} returned other documents than it was given"
            raise ConfigError("component-invalid", what, fix="return the documents in order, and do not change their text")
        return check(results, name)

    whole = [document for document in batch if not document.problems]
    results = iter(isolate(whole, act, fail, batch=max(1, len(whole)), kind=kind))
    return [document if document.problems else next(results) for document in batch]


def _with_same_mentions(batch: list[Prepared], _name: str) -> list[Prepared]:
    """Return the documents with the mentions of `found` as their mentions."""
    return [prepared.with_found(prepared.found) for prepared in batch]


def _are_of_same_text(one: T, other: T) -> bool:
    return one.id == other.id and one.document.text == other.document.text


def _require_valid_links(batch: list[LinkedDocument], name: str) -> list[LinkedDocument]:
    for text, link in ((linked.document.text, link) for linked in batch for link in linked.links):
        mention = link.mention
        if text[mention.start : mention.end] != mention.surface:
            what = f"the component {name!r} returned a link whose mention is not in the text"
            raise ConfigError("component-invalid", what, fix="keep the mentions of links, or drop links")
        for value in link.extra.values():
            try:
                size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
            except (TypeError, ValueError):
                raise InputError("component-extra", f"what {name!r} adds to a link is not JSON") from None
            if size > MAX_EXTRA:
                raise InputError("component-extra", f"{name!r} adds {size:,} bytes to a link; the limit is {MAX_EXTRA:,}")
    return batch


def _fail_prepared(prepared: Prepared, problem: Problem) -> Prepared:
    return prepared.with_found((), (problem,))


def _fail_linked(linked: LinkedDocument, problem: Problem) -> LinkedDocument:
    return replace(linked, links=(), problems=(problem,))
