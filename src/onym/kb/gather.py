"""The first half of a build: reads all sources, normalises and filters names, and decides which concepts to join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb import readers
from onym.kb.curie import prefix_of
from onym.kb.groups import groups_of_type
from onym.kb.identity import Identity, identify
from onym.kb.ignored import IgnoredFile, find_ignored
from onym.kb.recipe import JoinConfig, Recipe, SourceConfig
from onym.kb.schema import count_skipped
from onym.store.artefact import InputEntry
from onym.store.files.source import Source
from onym.text.normal import normal_names
from onym.types import NameKind, ParentKind, Progress, SuccessorKind
from onym.vocabularies import vocabularies

_GENERATIONS = 20  # mappings from heading to heading that groups are inherited through; more than any vocabulary has

_COMPACT = pl.CompatLevel.oldest()  # strings as contiguous bytes, not as views
_NO_NAMES = pl.DataFrame(
    schema={
        "id": pl.UInt32,
        "name": pl.String,
        "form": pl.String,
        "kind": pl.UInt8,
        "language": pl.UInt16,
        "source": pl.UInt16,
    }
)


class Codes:
    """Integer codes for the distinct values of a column, in order of first appearance.

    >>> codes = Codes()
    >>> codes.of(pl.Series(["en", "de", "en"])).to_list(), codes.labels
    ([0, 1, 0], ['en', 'de'])
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def labels(self) -> list[str]:
        """The values, indexed by code."""
        return list(self._codes)

    def of(self, column: pl.Series) -> pl.Series:
        """Return the column as codes."""
        for value in column.unique(maintain_order=True).to_list():
            self._codes.setdefault(value, len(self._codes))
        return column.replace_strict(self._codes, return_dtype=pl.UInt16)


class Batches:
    """Data frames collected as Arrow tables, to save memory: a polars string column keeps its whole source batch alive."""

    def __init__(self, empty: pl.DataFrame) -> None:
        self._tables = [empty.to_arrow(compat_level=_COMPACT)]

    def add(self, frame: pl.DataFrame) -> None:
        """Add a frame with the same columns, unless it is empty."""
        if frame.height:
            self._tables.append(frame.to_arrow(compat_level=_COMPACT))

    def column(self, name: str) -> pl.Series:
        """Return a column of all frames, concatenated."""
        return pl.Series(name, pa.chunked_array([chunk for table in self._tables for chunk in table.column(name).chunks]))

    def frame(self) -> pl.DataFrame:
        """Return all frames, concatenated."""
        return pl.DataFrame(pa.concat_tables(self._tables))

    def take(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the frames concatenated to parts of at least `rows` rows, except the last, and drop them, to free memory."""
        while self._tables:
            part = [self._tables.pop(0)]
            while self._tables and sum(table.num_rows for table in part) < rows:
                part.append(self._tables.pop(0))
            yield pl.DataFrame(pa.concat_tables(part))

    def drop(self, name: str) -> None:
        """Drop a column, to free its memory."""
        self._tables = [table.drop_columns([name]) for table in self._tables]


class Ids:
    """Numbers for the concept ids of name rows. An id gets a new number in each batch that it occurs in.

    >>> ids = Ids()
    >>> ids.of(pl.Series(["a:2", "a:1", "a:2"])).to_list(), ids.of(pl.Series(["a:1"])).to_list(), ids.column().to_list()
    ([0, 1, 0], [2], ['a:2', 'a:1', 'a:1'])
    """

    def __init__(self) -> None:
        self._batches = Batches(pl.DataFrame(schema={"id": pl.String}))
        self._count = 0

    def of(self, column: pl.Series) -> pl.Series:
        """Return the numbers of the ids of a batch."""
        table = column.alias("id").unique(maintain_order=True).to_frame().with_row_index("number", offset=self._count)
        self._batches.add(table.select("id"))
        self._count += table.height
        return column.alias("id").to_frame().join(table, on="id", how="left", maintain_order="left")["number"]

    def column(self) -> pl.Series:
        """Return the ids, indexed by number."""
        return self._batches.column("id")


def _facts(column: str, **others: type[pl.DataType]) -> Batches:
    return Batches(pl.DataFrame(schema={"concept": pl.String, column: pl.String, **others}))


@dataclass
class Gathered:
    """The content of all sources, with names filtered and normalised."""

    ids: Ids = field(default_factory=Ids)
    names: Batches = field(default_factory=lambda: Batches(_NO_NAMES))
    types: Batches = field(default_factory=lambda: _facts("type"))
    definitions: Batches = field(default_factory=lambda: _facts("definition"))
    xrefs: Batches = field(default_factory=lambda: _facts("xref"))
    alternatives: Batches = field(default_factory=lambda: _facts("alternative"))
    successors: Batches = field(default_factory=lambda: _facts("successor", kind=pl.UInt8, source=pl.UInt16, release=pl.String))
    parents: Batches = field(default_factory=lambda: _facts("parent", kind=pl.UInt8, source=pl.UInt16))
    groups: Batches = field(default_factory=lambda: _facts("group"))
    lent: Batches = field(default_factory=lambda: Batches(pl.DataFrame(schema={"concept": pl.String, "is_lent": pl.Boolean})))
    languages: Codes = field(default_factory=Codes)
    sources: Codes = field(default_factory=Codes)
    dropped: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)
    inputs: list[InputEntry] = field(default_factory=list)
    ignored: list[IgnoredFile] = field(default_factory=list)
    loops: dict[str, Any] = field(default_factory=dict)  # parents that close a cycle, for the build report
    rows: int = 0


def gather(recipe: Recipe, root: Path, progress: Progress, sources: Mapping[str, Source] = MappingProxyType({})) -> Gathered:
    """Read all sources of a recipe. Paths are relative to `root`; `sources` holds those that are already open."""
    found = Gathered()
    for config in recipe.sources:
        source = sources.get(config.path) or Source.open(root / config.path).require_whole()
        label = config.name or source.name.split(".")[0]
        format_name = config.format or readers.detect(source)
        for batch in readers.read(source, format_name, config.columns, config.prefix, config.species):
            reason, skipped = count_skipped(batch)
            found.dropped[reason] += skipped
            _take(found, pl.DataFrame(batch), recipe, config, label)
            found.rows += batch.num_rows
            progress(f"reading {label}", found.rows)
        found.inputs += _require_inputs(source, config, format_name)
        found.ignored += _find_ignored(source, config, format_name)
    return found


def portable(path: str) -> str:
    """Return a path as recorded in artefacts: unchanged if relative, else only its last component.

    >>> portable("/home/me/umls/META/"), portable("mesh/desc.xml")
    ('META', 'mesh/desc.xml')
    """
    return Path(path).name if Path(path).is_absolute() else path.rstrip("/")


def _require_inputs(source: Source, config: SourceConfig, format_name: str) -> list[InputEntry]:
    """Return the files of a release that were read, with names relative to the recipe; raise InputError if there are none."""
    base = portable(config.path)
    inputs = [
        InputEntry(name=base if len(source.files) == 1 else f"{base}/{file.name}", bytes=file.size, sha256=file.digest())
        for file in source.files
        if file.was_read
    ]
    if not inputs:
        fix = "drop --format to detect it, or give another format"
        raise InputError("input-missing", f"no file in the format {format_name}", where=source.name, fix=fix)
    return inputs


def _find_ignored(source: Source, config: SourceConfig, format_name: str) -> list[IgnoredFile]:
    """Return the files of a release that were not read, with names relative to the recipe."""
    base = portable(config.path)
    return [replace(file, name=f"{base}/{file.name}") for file in find_ignored(source, format_name)]


def _take(found: Gathered, frame: pl.DataFrame, recipe: Recipe, config: SourceConfig, label: str) -> None:
    frame = frame.filter(
        _count_dropped(found.dropped, frame, "empty concept id", ~pl.col("concept_id").str.contains(r"^[^:]+:[^\s].*$"))
    )
    found.types.add(_explode(frame, "semantic_types", "type"))
    found.xrefs.add(_xrefs(found, frame, config))
    found.parents.add(_parents(found, frame, label))
    found.groups.add(_groups(frame, config))
    found.alternatives.add(_explode(frame, "alternative_ids", "alternative"))
    defined = frame.filter(pl.col("definition").is_not_null() & (pl.col("definition") != ""))
    found.definitions.add(defined.select(concept="concept_id", definition="definition"))
    found.successors.add(_successors(found, frame, label))
    named = frame.filter(pl.col("name").is_not_null())
    if any(source.only_joined for source in recipe.sources):
        found.lent.add(named.select(concept="concept_id", is_lent=pl.lit(config.only_joined)).unique(maintain_order=True))
    if config.as_synonyms:
        is_preferred = pl.col("kind") == int(NameKind.PREFERRED)
        named = named.with_columns(kind=pl.when(is_preferred).then(pl.lit(int(NameKind.EXACT), pl.UInt8)).otherwise("kind"))
    found.names.add(_names(found, named, recipe, label))


def _xrefs(found: Gathered, frame: pl.DataFrame, config: SourceConfig) -> pl.DataFrame:
    rows = _explode(frame, "xrefs", "xref")
    if not config.xrefs:
        return rows
    other = ~prefix_of("xref").is_in(config.xrefs)
    return rows.filter(_count_dropped(found.dropped, rows, "cross-reference to another vocabulary", other))


def _parents(found: Gathered, frame: pl.DataFrame, label: str) -> pl.DataFrame:
    stated = frame.filter(pl.col("parents").list.len() > 0)
    rows = stated.select(
        concept="concept_id",
        parent="parents",
        kind=pl.col("parent_kind").fill_null(int(ParentKind.IS_A)),
        source=found.sources.of(stated["source"].fill_null(label)),
    )
    return rows.explode("parent").unique(maintain_order=True)


def _successors(found: Gathered, frame: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return the retired ids with their successors; an id without any has one row whose successor is null."""
    retired = frame.filter(pl.col("kind").eq_missing(int(NameKind.RETIRED)) | (pl.col("successors").list.len() > 0))
    rows = retired.select(
        concept="concept_id",
        successor=pl.when(pl.col("successors").list.len() > 0).then("successors"),
        kind=pl.col("successor_kind").fill_null(int(SuccessorKind.REPLACED_BY)),
        source=found.sources.of(retired["source"].fill_null(label)),
        release=pl.col("release").fill_null(""),
    )
    return rows.explode("successor")


def _groups(frame: pl.DataFrame, config: SourceConfig) -> pl.DataFrame:
    """Return the groups stated by the source, and those that the recipe assigns to all of its concepts."""
    stated = _explode(frame, "groups", "group")
    common = [frame.select(concept="concept_id", group=pl.lit(group)).unique(maintain_order=True) for group in config.groups]
    return pl.concat([stated, *common])


def _explode(frame: pl.DataFrame, column: str, alias: str) -> pl.DataFrame:
    rows = frame.select(pl.col("concept_id").alias("concept"), pl.col(column).alias(alias))
    return rows.filter(pl.col(alias).list.len() > 0).explode(alias).filter(pl.col(alias).is_not_null() & (pl.col(alias) != ""))


def _names(found: Gathered, frame: pl.DataFrame, recipe: Recipe, label: str) -> pl.DataFrame:
    frame = frame.with_columns(pl.col("kind").fill_null(int(NameKind.EXACT)), pl.col("source").fill_null(label))
    for kind in recipe.kinds_to_drop:
        frame = frame.filter(_count_dropped(found.dropped, frame, f"kind: {NameKind(kind).label}", pl.col("kind") == kind))
    if recipe.languages:
        other = pl.col("language").is_not_null() & ~pl.col("language").is_in(recipe.languages)
        frame = frame.filter(_count_dropped(found.dropped, frame, "language", other))
    if recipe.vocabularies:
        frame = frame.filter(_count_dropped(found.dropped, frame, "vocabulary", ~pl.col("source").is_in(recipe.vocabularies)))
    too_long = pl.col("name").str.len_chars() > recipe.max_name_length
    frame = frame.filter(_count_dropped(found.dropped, frame, "name too long", too_long))
    frame = frame.with_columns(normal=normal_names(pl.col("name")))
    frame = frame.filter(_count_dropped(found.dropped, frame, "name empty", pl.col("normal") == ""))
    return frame.select(
        id=found.ids.of(frame["concept_id"]),
        name="normal",
        form=pl.col("name").str.strip_chars(),
        kind="kind",
        language=found.languages.of(frame["language"].fill_null("")),
        source=found.sources.of(frame["source"]),
    )


def _count_dropped(dropped: Counter[str], frame: pl.DataFrame, reason: str, unwanted: pl.Expr) -> pl.Expr:
    """Count the unwanted rows under a reason, and return the filter that drops them."""
    count = int(frame.select(unwanted.sum()).item() or 0)
    if count:
        dropped[reason] += count
    return ~unwanted


_DEFAULT = JoinConfig()


@dataclass(frozen=True)
class Decisions:
    """Which concepts are joined, grouped and left out; the rest of the build applies this."""

    identity: Identity
    groups: pl.DataFrame | None  # concept, group; None unless the recipe asks for groups
    left_out: pl.DataFrame  # concept; concepts of an `only_joined` source that were joined with no other
    has_rules: bool  # True if the artefact stores by which rule each concept was joined


def decide(found: Gathered, recipe: Recipe, successors: pl.DataFrame, xrefs: pl.DataFrame | None = None) -> Decisions:
    """Decide joins and groups by the recipe. `xrefs` replaces the cross-references of the sources, if some are held out."""
    xrefs = found.xrefs.frame() if xrefs is None else xrefs
    active = found.ids.column().unique(maintain_order=True)
    has_groups = recipe.groups or bool(recipe.only_groups)
    has_rules = bool(recipe.joins.by_name or recipe.joins.same_name)
    names = _names_of_concepts(found) if has_groups or has_rules else None
    groups = None if names is None else _groups_of_concepts(found, active, xrefs, names)
    if groups is not None and recipe.only_groups:
        groups = groups.filter(pl.col("group").is_in(recipe.only_groups))
    evidence = {} if names is None or groups is None else {"names": names, "groups": groups}
    identity = identify(
        active,
        xrefs,
        successors,
        found.alternatives.frame(),
        merge=recipe.merge,
        counts=found.decided,
        joins=recipe.joins,
        **evidence,
    )
    left_out = _find_unjoined(found, identity)
    found.dropped["concepts of a lending source that joined nothing"] += left_out.height
    return Decisions(identity, groups if has_groups else None, left_out, recipe.joins != _DEFAULT)


def _names_of_concepts(found: Gathered) -> pl.DataFrame:
    names = found.names.frame().select("id", "name", is_preferred=pl.col("kind") == int(NameKind.PREFERRED))
    return names.select(found.ids.column().gather(names["id"]).alias("concept"), "name", "is_preferred")


def _groups_of_concepts(found: Gathered, active: pl.Series, xrefs: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    return assign_groups(
        active.to_frame("concept"),
        stated=found.groups.frame(),
        types=found.types.frame(),
        xrefs=xrefs,
        headings=_find_headings(found),
        names=names.select("concept", "name"),
    )


def _find_headings(found: Gathered) -> pl.DataFrame:
    """Return the headings that supplementary records are mapped to, as (concept, heading)."""
    return found.parents.frame().filter(pl.col("kind") == int(ParentKind.MAPPED_TO)).select("concept", heading="parent")


def _find_unjoined(found: Gathered, identity: Identity) -> pl.DataFrame:
    """Return the concepts that occur only in `only_joined` sources and were not joined with another concept."""
    lent = found.lent.frame().group_by("concept").agg(pl.col("is_lent").all()).filter("is_lent").select("concept")
    for end in ("concept", "final"):
        lent = lent.join(identity.joins, left_on="concept", right_on=end, how="anti")
    return lent.sort("concept")


def assign_groups(
    ids: pl.DataFrame,
    *,
    stated: pl.DataFrame,
    types: pl.DataFrame,
    xrefs: pl.DataFrame,
    headings: pl.DataFrame,
    names: pl.DataFrame,
) -> pl.DataFrame:
    """Return the semantic groups of concepts, as (concept, group).

    Groups come from the sources, semantic types, vocabularies and cross-references; concepts without one inherit the groups of
    the headings that they are mapped to, or else of concepts with the same name.

    >>> none = {column: pl.DataFrame(schema={"concept": pl.String, column: pl.String}) for column in ("group", "xref", "name")}
    >>> types = pl.DataFrame({"concept": ["mesh:D1"], "type": ["D03"]})
    >>> mapped = pl.DataFrame({"concept": ["mesh:C1"], "heading": ["mesh:D1"]})
    >>> ids = pl.DataFrame({"concept": ["mesh:C1", "mesh:D1"]})
    >>> assign_groups(ids, stated=none["group"], types=types, xrefs=none["xref"], headings=mapped, names=none["name"]).rows()
    [('mesh:C1', 'Chemical'), ('mesh:D1', 'Chemical')]
    """
    own = pl.concat(
        [stated, _groups_of_types(types), _groups_of_vocabulary(ids, "concept"), _groups_of_vocabulary(xrefs, "xref")]
    )
    found = own.join(ids, on="concept", how="semi").unique()
    found = _groups_of_headings(found, headings.join(ids, on="concept", how="semi"))
    return _groups_of_names(found, ids, names).sort("concept", "group")


def _groups_of_types(types: pl.DataFrame) -> pl.DataFrame:
    known = types.select("type").unique()
    groups = [groups_of_type(name) for name in known["type"]]
    table = known.with_columns(group=pl.Series(groups, dtype=pl.List(pl.String))).explode("group").drop_nulls()
    return types.join(table, on="type").select("concept", "group")


def _groups_of_vocabulary(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    groups = {prefix: list(each.groups) for prefix, each in vocabularies().items() if each.groups}
    table = pl.DataFrame({"prefix": list(groups), "group": list(groups.values())}).explode("group")
    return rows.select("concept", prefix=prefix_of(column)).join(table, on="prefix").select("concept", "group")


def _groups_of_headings(found: pl.DataFrame, headings: pl.DataFrame) -> pl.DataFrame:
    """Assign concepts without a group the most common groups of their headings, which may be mapped to others themselves."""
    for _ in range(_GENERATIONS):
        waiting = headings.unique().join(found, on="concept", how="anti")
        above = waiting.join(found.rename({"concept": "heading"}), on="heading").group_by("concept", "group").len()
        if above.is_empty():
            break
        commonest = above.filter(pl.col("len") == pl.col("len").max().over("concept"))
        found = pl.concat([found, commonest.select("concept", "group")])
    return found


def _groups_of_names(found: pl.DataFrame, ids: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Assign concepts without a group those of concepts of the same vocabulary that share a name with them."""
    without = names.join(ids.join(found, on="concept", how="anti"), on="concept", how="semi")
    sharing = names.join(without, on="name", how="semi").rename({"concept": "other"})
    pairs = without.join(sharing, on="name").filter(prefix_of("concept") == prefix_of("other"))
    taken = pairs.join(found.rename({"concept": "other"}), on="other").select("concept", "group")
    return pl.concat([found, taken.unique()])
