"""Which mentions a trained detector finds: types, as all corpora that it learnt from annotate them, or as one does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onym.encoders.collective import CollectiveSettings, Label
from onym.errors import ConfigError


@dataclass(frozen=True, slots=True)
class WantedType:
    """A type of mentions: the columns whose mean is its probability, and the least that makes a mention."""

    type: str
    columns: tuple[int, ...]
    threshold: float


def wanted_types(
    settings: CollectiveSettings, types: Collection[str] = (), convention: str = "", threshold: float | None = None
) -> tuple[WantedType, ...]:
    """Return what a model is to find; no types are all that it knows. A corpus may lack a type: then the others answer.

    >>> labels = (Label(type="Disease", corpus="a"), Label(type="Disease", corpus="b", threshold=0.3), Label(type="Gene"))
    >>> settings = CollectiveSettings(labels=labels)
    >>> [(each.type, each.columns, each.threshold) for each in wanted_types(settings)]
    [('Disease', (0, 1), 0.4), ('Gene', (2,), 0.5)]
    >>> [(each.type, each.columns) for each in wanted_types(settings, ["Disease"], "b")]
    [('Disease', (1,))]
    """
    labels = settings.labels or (Label(threshold=settings.threshold),)
    known = tuple(dict.fromkeys(label.type for label in labels))
    corpora = tuple(dict.fromkeys(label.corpus for label in labels if label.corpus))
    if unknown := sorted(set(types) - set(known)):
        raise ConfigError(
            "config-invalid", f"the detector finds no {unknown[0]!r}", fix=f"it finds {', '.join(known) or 'no types'}"
        )
    if convention and convention not in corpora:
        what = f"the detector did not learn from {convention!r}"
        raise ConfigError("config-invalid", what, fix=f"it learnt from {', '.join(corpora) or 'one corpus'}")
    return tuple(_wanted(name, labels, convention, threshold) for name in known if not types or name in types)


def _wanted(name: str, labels: Sequence[Label], convention: str, threshold: float | None) -> WantedType:
    same_type = [at for at, label in enumerate(labels) if label.type == name]
    columns = [at for at in same_type if labels[at].corpus == convention] or same_type
    least = sum(labels[at].threshold for at in columns) / len(columns) if threshold is None else threshold
    return WantedType(name, tuple(columns), least)
