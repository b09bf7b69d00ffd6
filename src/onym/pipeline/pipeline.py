"""The pipeline: texts in, links out, in four steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from onym._version import __version__
from onym.corpora.problems import require_complete
from onym.corrections.corrections import Corrections
from onym.corrections.file import read_corrections
from onym.corrections.rules import CASE_SENSITIVE_BELOW, Rule
from onym.errors import ConfigError, InputError
from onym.kb.ranking import ConceptFilter, ConceptMask, combine_masks, describe_mask, select_concepts
from onym.methods.base import Linker
from onym.methods.detector import Detector
from onym.pipeline.component import Component, ComponentConfig, component_config, run_before
from onym.pipeline.config import FittedCalibration, PipelineOptions, digest_of
from onym.pipeline.detect import detect
from onym.pipeline.finish import Finishing, confidence_of
from onym.pipeline.link import IdleLinkings, Linking, LinkOptions
from onym.pipeline.prepare import Prepared, prepare
from onym.types import Document, LinkedDocument, iter_checked, require_text

if TYPE_CHECKING:
    from onym.pipeline.explanation import Explanations

_BATCH, _BATCH_OF_TERMS = 64, 256  # documents that are read at a time
_TERM = 100  # mean length up to which documents are taken for terms, in characters
_DESCRIBED = {*ConceptFilter.model_fields, "restrict", "prefer", "top_k", "threshold"}  # options with other keys in `source`
DECIDED = "decided"
"""Value of `order.ties` in a source: candidates with equal scores are in a meaningful order."""


class Pipeline:
    """A detector and a linker over one knowledge base. Without a detector, mentions must be annotated.

    Each batch of documents takes four steps, and each is a module of this package:

        prepare    plain characters, and one analysis of the text
        detect     annotated mentions, or those of the detector; corrections remove and add mentions
        link       the linker ranks concepts; concept filters
        finish     confidence, corrected answers, thresholds, the original text

    Components of users run before `link`, and in `finish` before thresholds.

    Args:
        linker: ranks concepts for mentions.
        detector: finds mentions in documents that have none.
        options: concept filter, thresholds and all else that a user may choose. `prefer` takes effect when the knowledge base
            is opened.
        components: further steps, in order.
        only: a mask of the allowed concepts, which replaces the concept filter of the options.
        calibration: makes confidences; needed for the options `precision` and `coverage`.
        term_calibration: the calibration of `for_terms`.
        corrections: rules of people, which answers follow.
        bare: rank as the papers do: names do not decide, typographic characters stay as they are, and there are no assertion
            marks.

    Pipelines are thread-safe.

    >>> from onym.methods.dictionary.detector import DictionaryDetector
    >>> from onym.kb import KnowledgeBase
    >>> from onym.methods.exact import ExactLinker
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> with Pipeline(ExactLinker(kb), DictionaryDetector(kb)) as pipeline:
    ...     [(link.mention.surface, link.concept_id) for link in pipeline.link("High fever, no heart attack.").links]
    [('fever', 'mesh:D005334'), ('heart attack', 'mesh:D009203')]

    """

    def __init__(
        self,
        linker: Linker,
        detector: Detector | None = None,
        options: PipelineOptions | None = None,
        *,
        components: Sequence[Component] = (),
        only: ConceptMask | None = None,
        calibration: FittedCalibration | None = None,
        term_calibration: FittedCalibration | None = None,
        corrections: Corrections | None = None,
        bare: bool = False,
    ) -> None:
        self.kb, self.linker, self.detector = linker.kb, linker, detector
        self.options = options or PipelineOptions()
        self.components = tuple(components)
        self.calibration, self.term_calibration = calibration, term_calibration
        self.corrections, self.bare = corrections, bare
        self.only = select_concepts(self.kb, self.options) if only is None else only
        """A mask of the concepts that are allowed as answers; None allows all."""
        self.reopen: Callable[[], Pipeline] | None = None
        """Opens the same pipeline in another process; None if the pipeline was made in memory."""
        self._linkings = IdleLinkings()
        self._set_steps()

    def _set_steps(self) -> None:
        """Derive the settings of the steps from the attributes."""
        options = self.options
        confidence = confidence_of(self.calibration, options.precision, options.coverage, self.kb.is_name_of)
        self._link_options = LinkOptions(
            options.top_k, self.only, options.restrict, options.expand_abbreviations, names=not self.bare
        )
        after = self.components
        if options.assertion and not self.bare:
            from onym.pipeline.assertion import ASSERTION  # lazy, because the import compiles many patterns

            after = (ASSERTION, *self.components)
        self._finishing = Finishing(confidence, self.corrections, self.only, after, options.threshold)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Do nothing, because memory maps are closed when the last reference to them is deleted."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of detector and linker, and the non-default options."""
        config: dict[str, Any] = {
            "detector": {"detector": "none"} if self.detector is None else self.detector.config,
            "linker": self.linker.config,
            "threshold": self.options.threshold,
        }
        config |= {name: value for name, value in self.options.non_default_options().items() if name not in _DESCRIBED}
        if self.components:
            config["components"] = [component.config for component in self.components]
        if self.calibration:
            config["calibration"] = digest_of(self.calibration)
        if self.corrections:
            config["corrections"] = self.corrections.describe()
        if self.bare:
            config["bare"] = True
        if self.only is not None:
            config |= {**describe_mask(self.only), "others_compete": not self.options.restrict}
        return config

    def source(self) -> dict[str, Any]:
        """Return everything that links depend on, for the header of a predictions file."""
        kb = {"digest": self.kb.digest, "concepts": len(self.kb), "names": len(self.kb.names)}
        order = {"ties": DECIDED, "vocabularies": list(self.kb.order.vocabularies)}
        config = self.config
        linker = config.pop("linker")
        return {"onym": __version__, "linker": linker, "kb": kb, "order": order, "top_k": self.options.top_k, **config}

    def with_options(self, options: PipelineOptions) -> Pipeline:
        """Return a copy with those options that were given to `options`; the others stay as they are.

        Fields of the concept filter narrow the present filter. `prefer` has no effect: it is for opening a knowledge base.
        """
        given = {name: getattr(options, name) for name in options.model_fields_set - {"prefer", "restrict"}}
        wanted = {name: given.pop(name) for name in ConceptFilter.model_fields if name in given}
        if options.restrict or any(wanted.values()):
            return self._copy(given).with_filter(restrict=options.restrict, **wanted)
        return self._copy(given) if given else self

    def with_threshold(self, threshold: float | None) -> Pipeline:
        """Return a copy with another minimum score."""
        return self._copy({"threshold": threshold})

    def with_precision(self, precision: float | None) -> Pipeline:
        """Return a copy whose links have this precision. Less confident links are left unlinked, but keep their candidates.

        The precision holds for texts that are similar to the calibration data.
        """
        return self._copy({"precision": precision})

    def with_coverage(self, coverage: float | None) -> Pipeline:
        """Return a copy whose candidate sets contain the right concept with probability >= coverage (conformal sets)."""
        return self._copy({"coverage": coverage})

    def with_assertion(self, assertion: bool | None = True) -> Pipeline:
        """Return a copy that marks assertions, as by default, or not: whether a mention is negated, possible, and so on.

        None leaves the option unchanged.

        >>> from onym.methods.dictionary.detector import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
        >>> [(link.mention.surface, link.assertion) for link in pipeline.link("High fever, no heart attack.").links]
        [('fever', ()), ('heart attack', ('negated',))]
        >>> [link.assertion for link in pipeline.with_assertion(False).link("High fever, no heart attack.").links]
        [None, None]
        """
        return self if assertion is None else self._copy({"assertion": assertion})

    def with_types(self, types: Sequence[str]) -> Pipeline:
        """Return a copy that only links to concepts of these semantic groups or types. Its existing filter still applies.

        The detector finds the same mentions. Mentions whose best concept has another type are left unlinked.

        >>> from onym.methods.dictionary.detector import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).with_types(["C14"])
        >>> [(link.concept_id, link.nil_reason) for link in pipeline.link("High fever, no heart attack.").links]
        [(None, 'no-candidate'), ('mesh:D009203', None)]
        """
        return self.with_filter(types=types)

    def with_filter(self, *, restrict: bool = False, **wanted: Any) -> Pipeline:
        """Return a copy that only links to the concepts that a filter allows. Its existing filter still applies.

        `wanted` are the fields of `ConceptFilter`: `types`, `concepts`, `under`, `not_under` and `mapped`. The detector finds
        the same mentions. Mentions whose best concept is not allowed are left unlinked; with `restrict`, concepts that are not
        allowed are ignored instead.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> pipeline.with_filter(concepts=["D005334"]).config["concepts_allowed"]
        1
        """
        only = combine_masks(self.only, select_concepts(self.kb, ConceptFilter.of(wanted)))
        return self._copy({"restrict": restrict or self.options.restrict}, only=only)

    def with_corrections(self, corrections: Corrections | Path | str | None) -> Pipeline:
        """Return a copy whose answers follow the rules of people, given as a file or as `onym.corrections.Corrections`.

        A corrected link has the stage `correction` and no confidence. None removes the corrections.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> from onym.types import Mention
        >>> path = getfixture("tmp_path") / "mine.onymc"
        >>> _ = path.write_text("surface\\tmeaning\\nMI\\tmesh:D006973\\n")
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))).with_corrections(path)
        >>> [link] = pipeline.link(Document("1", "No MI.", (Mention(3, 5, "MI"),))).links
        >>> link.concept_id, link.stage
        ('mesh:D006973', 'correction')
        """
        if corrections is None or isinstance(corrections, Corrections):
            return self._copy(corrections=corrections)
        limit = find_case_limit({} if self.detector is None else self.detector.config)
        return self._copy(corrections=read_corrections(corrections, self.kb, case_sensitive_below=limit))

    def with_components(self, *components: Component | ComponentConfig | str) -> Pipeline:
        """Return a copy with further components, given opened, by configuration or by name; they run after those it has."""
        opened = []
        for component in components:
            config = component_config(component) if isinstance(component, str) else component
            opened.append(config if isinstance(config, Component) else Component.open(config, self.kb))
        return self._copy(components=(*self.components, *opened)) if opened else self

    def without_detector(self) -> Pipeline:
        """Return a copy without a detector, which links only annotated mentions."""
        return self._copy(detector=None)

    def for_terms(self) -> Pipeline:
        """Return a copy for terms without context, such as the cells of a column. Each term is one mention.

        The copy uses the calibration for terms, and then has no threshold. Without one, it uses a calibration on annotated
        mentions. A calibration on detected mentions is not used, because terms do not pass through the detector. A term has no
        context, so it gets no assertion marks.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))).for_terms().calibration is None
        True
        """
        annotated = self.calibration if self.calibration and self.calibration.mentions != "found" else None
        threshold = None if self.term_calibration else self.options.threshold
        calibration = self.term_calibration or annotated
        return self._copy({"threshold": threshold, "assertion": False}, detector=None, calibration=calibration)

    def link(self, text: str | Document) -> LinkedDocument:
        """Link a text or document. Annotated mentions are used; if there are none, mentions are detected."""
        given: object = text
        if isinstance(given, list | tuple):
            what = f"link takes a text or a Document, not a {type(given).__name__}"
            raise InputError("type-text", what, fix="link several texts with link_many")
        return next(self.link_many([text]))

    def explain(self, text: str | Document) -> Explanations:
        """Link a text or document, and explain each link and each name in the text that was not taken as a mention.

        In a notebook, the text is shown with each explanation as a tooltip.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> from onym.types import Mention
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [explanation] = pipeline.explain(Document("1", "Pyrexia", (Mention(0, 7, "Pyrexia"),)))
        >>> print("\\n".join(explanation.lines()[:3]))
        concept: MESH:D005334 Fever
        matched name: 'Pyrexia' (exact, tiny)
        score 1.000, decided by the name
        """
        ((prepared, linked),) = self.run_steps(_documents([text]))
        (linked,) = require_complete([linked])
        return self.explain_linked(prepared, linked)

    def explain_linked(self, prepared: Prepared, linked: LinkedDocument) -> Explanations:
        """Explain the links of a document, given both results of `run_steps`."""
        from onym.pipeline.explanation import Explaining

        explaining = Explaining(self.linker, self.detector, self.corrections, self._link_options, self.source())
        return explaining.explain(prepared, linked)

    def link_many(self, texts: Iterable[str | Document]) -> Iterator[LinkedDocument]:
        """Link texts or documents, and yield the results in order. The input is consumed lazily, in batches.

        The document id of a text is its number, starting at 1. A document that cannot be linked has problems instead of links.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.methods.exact import ExactLinker
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [linked.document.id for linked in pipeline.link_many(["fever", "cough"])]
        ['1', '2']
        """
        if isinstance(texts, str | Document):
            what = f"link_many takes several texts or documents, not a {type(texts).__name__}"
            raise InputError("type-text", what, fix="link a single one with link")
        return (linked for _, linked in self.run_steps(_documents(texts)))

    def run_steps(
        self, documents: Iterable[Document], done: Callable[[str], None] = lambda _: None
    ) -> Iterator[tuple[Prepared, LinkedDocument]]:
        """Yield for each document what the linker got, which `explain_linked` needs, and the finished links.

        `done` is called with the name of each step of each batch when it is done.
        """
        with self._linkings.borrow(self.linker, self._link_options) as linking:
            for batch in _batches(documents):
                done("read")
                yield from self._run_batch(batch, linking, done)

    def _run_batch(
        self, documents: Sequence[Document], linking: Linking, done: Callable[[str], None]
    ) -> Iterable[tuple[Prepared, LinkedDocument]]:
        prepared = prepare(documents, fold=not self.bare)
        done("prepare")
        prepared = detect(prepared, self.detector, self.corrections)
        done("detect")
        prepared = run_before(self.components, prepared, done)
        linked = linking.link([each.document for each in prepared])
        done("link")
        return zip(prepared, self._finishing.finish(prepared, linked, done), strict=True)

    def __copy__(self) -> Pipeline:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, _memo: object) -> Pipeline:
        """Return the pipeline itself, because it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a reference to the folder or name, and what differs from it: opened models and memory maps are not sent."""
        if self.reopen is None:
            what = "a pipeline that was made in memory cannot be pickled"
            raise ConfigError("pipeline-in-memory", what, fix="write it with onym.build_pipeline, and open it with onym.load")
        attributes = {name: getattr(self, name) for name in ("options", "only", "calibration", "term_calibration", "bare")}
        corrections = self.corrections and (self.corrections.rules, self.corrections.case_sensitive_below)
        return _restore, (self.reopen, attributes, self.components, corrections, self.detector is not None)

    def _copy(self, changes: Mapping[str, Any] | None = None, /, **attributes: Any) -> Pipeline:
        """Return a copy with changes of the options, and other attributes; it shares everything that was opened."""
        copied = copy(self)
        if changes:
            copied.options = PipelineOptions.of(self.options.option_values() | dict(changes))
        copied.__dict__.update(attributes)
        copied._set_steps()  # noqa: SLF001 - of the same class
        return copied


def _restore(
    reopen: Callable[[], Pipeline],
    attributes: dict[str, Any],
    components: tuple[Component, ...],
    corrections: tuple[tuple[Rule, ...], int] | None,
    has_detector: bool,
) -> Pipeline:
    """Return a pickled pipeline."""
    pipeline = reopen()
    rules = corrections and Corrections(corrections[0], pipeline.kb, case_sensitive_below=corrections[1])
    detector = pipeline.detector if has_detector else None
    return pipeline._copy(  # noqa: SLF001 - of the same module
        **attributes, components=components, corrections=rules, detector=detector
    )


def find_case_limit(config: Mapping[str, Any]) -> int:
    """Return the length up to which a detector compares abbreviations case-sensitively; the longest of several detectors.

    >>> find_case_limit({"detector": "several", "parts": [{"case_sensitive_below": 5}, {"detector": "student"}]})
    5
    """
    parts = [part for part in config.get("parts", ()) if isinstance(part, Mapping)]
    own = config.get("case_sensitive_below")
    return max([own] if isinstance(own, int) else [find_case_limit(part) for part in parts] or [CASE_SENSITIVE_BELOW])


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield documents in batches; terms, which are short, in larger ones."""
    rest = iter(documents)
    while batch := list(islice(rest, _BATCH)):
        if sum(len(document.text) for document in batch) < _BATCH * _TERM:
            batch += islice(rest, _BATCH_OF_TERMS - _BATCH)
        yield batch


def _documents(texts: Iterable[object]) -> Iterator[Document]:
    for number, text in enumerate(iter_checked(texts, object, of="texts"), 1):
        if isinstance(text, Document):
            yield text
        else:
            require_text(text, where=f"text {number}")
            yield Document(str(number), str(text))
