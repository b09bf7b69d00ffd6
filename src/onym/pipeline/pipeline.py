"""The pipeline class, which links texts and adds confidences, and a check for drift from the calibration data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onym.calibrate import Answers, PrecisionCurve, ScoredAnswer, require_coverage
from onym.calibrate.estimators import MAX_INDEX
from onym.corpora.problems import require_complete
from onym.corrections.corrections import CorrectedMentions, Corrections
from onym.corrections.file import read_corrections
from onym.corrections.rules import CASE_SENSITIVE_BELOW
from onym.detect.base import Detected, Detector
from onym.errors import ConfigError, InputError
from onym.kb.ranking import ConceptFilter, ConceptMask, combine_masks, select_concepts
from onym.linkers.base import Linker, describe_filter, link_among, source_of, without_confidence
from onym.pipeline.config import FittedCalibration, PipelineOptions, digest_of
from onym.text.analysis import AnalysedDocument, analyse, plain
from onym.text.typography import fold_document, restore_text, with_text
from onym.types import Candidate, Document, Link, LinkedDocument, iter_checked, require_text

if TYPE_CHECKING:
    from onym.pipeline.explanation import Explanations


class Confidence:
    """Adds confidences to links: the probability that the best candidate is right.

    With `precision`, links whose confidence is too low for this precision are left unlinked (NIL). With `coverage`, candidates
    are cut to the smallest set that contains the right concept with this probability. `is_name_of` says whether a concept,
    given by its id, has a name.
    """

    def __init__(
        self,
        fitted: FittedCalibration,
        precision: float | None = None,
        coverage: float | None = None,
        is_name_of: Callable[[str, str], bool] = lambda _concept_id, _surface: False,
    ) -> None:
        self._calibration, self._by_type, self._is_name_of = fitted.calibration, fitted.by_type, is_name_of
        self._uses_names = any(each.uses_names for each in (fitted.calibration, *fitted.by_type.values()))
        self._least = None if precision is None else _threshold(fitted.calibration.curve, precision)
        self._coverage = None if coverage is None else require_coverage(coverage)

    def of(self, links: Sequence[Link]) -> list[Link]:
        """Return the links with confidences. Links without candidates are unchanged."""
        confidences = iter(self._estimate([link for link in links if link.candidates]))
        return [self._above_threshold(link, next(confidences)) if link.candidates else link for link in links]

    def _estimate(self, links: Sequence[Link]) -> list[float]:
        """Return the confidences of links with candidates, by the calibration of the mention's type if there is one."""
        if not links:
            return []
        answers = Answers.of(ScoredAnswer.of_link(link, is_named=self._is_named(link)) for link in links)
        found = np.array(self._calibration.confidences(answers))
        for kind, calibration in self._by_type.items():
            rows = np.flatnonzero([link.mention.type == kind for link in links])
            if len(rows):
                found[rows] = calibration.confidences(answers.part(rows))
        return [float(each) for each in found]

    def _is_named(self, link: Link) -> bool:
        return self._uses_names and self._is_name_of(link.candidates[0].concept_id, link.mention.surface)

    def _above_threshold(self, link: Link, confidence: float) -> Link:
        is_below = self._least is not None and confidence < self._least
        nil_reason = link.nil_reason or ("below-precision" if is_below else None)
        return replace(link, confidence=confidence, nil_reason=nil_reason, candidates=self._select_candidates(link, confidence))

    def _select_candidates(self, link: Link, confidence: float) -> tuple[Candidate, ...]:
        if self._coverage is None:
            return link.candidates
        count, sets = len(link.candidates), self._calibration.sets
        return link.candidates[: sets.size(self._coverage, confidence=confidence, candidates=count, of_type=link.mention.type)]


def confidence_of(
    fitted: FittedCalibration | None, precision: float | None = None, coverage: float | None = None, **more: Any
) -> Confidence | None:
    """Return the confidence estimator, or None if there is no calibration. `more` are further arguments of `Confidence`.

    Raise ConfigError if precision or coverage is given without a calibration.
    """
    if fitted is not None:
        return Confidence(fitted, precision, coverage, **more)
    if precision is None and coverage is None:
        return None
    what = "precision and coverage need confidences, but the pipeline is not calibrated"
    fix = "calibrate it with `onym calibrate`; for terms, add --mentions terms"
    raise ConfigError("pipeline-uncalibrated", what, fix=fix)


def _threshold(curve: PrecisionCurve, precision: float) -> float:
    reached = curve.at(precision)
    if not reached.is_reached:
        best = f"{reached.precision:.3f}, for {100 * reached.coverage:.1f} % of the answers"
        what = f"a precision of {precision} cannot be reached; the highest is {best}"
        raise ConfigError("precision-unreachable", what, fix="choose a lower precision, or calibrate a better linker")
    return reached.threshold


_BATCH = 64  # number of documents per call of the detector
_DESCRIBED = {*ConceptFilter.model_fields, "restrict", "prefer", "top_k"}  # options that `describe_filter` and `source_of` add


class Pipeline:
    """A detector and a linker over one knowledge base. Without a detector, mentions must be annotated.

    `options` are the fields of `PipelineOptions`; `prefer` takes effect when the knowledge base is opened. `only` is a mask of
    the allowed concepts, which replaces the options of `ConceptFilter`: a mention whose best concept is not allowed is left
    unlinked (NIL). With the option `restrict`, concepts that are not allowed are ignored instead.

    With a `calibration`, links have a confidence; `for_terms` uses the `term_calibration`. With `precision`, links whose
    confidence is too low for this precision are left unlinked. With `coverage`, candidates are cut to the smallest set that
    contains the right concept with this probability.

    With `corrections`, answers follow the rules of people.

    Pipelines are thread-safe.

    >>> from onym.detect.dictionary import DictionaryDetector
    >>> from onym.kb import KnowledgeBase
    >>> from onym.linkers.exact import ExactLinker
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> with Pipeline(ExactLinker(kb), DictionaryDetector(kb)) as pipeline:
    ...     [(link.mention.surface, link.concept_id) for link in pipeline.link("High fever, no heart attack.").links]
    [('fever', 'mesh:D005334'), ('heart attack', 'mesh:D009203')]
    """

    def __init__(
        self,
        linker: Linker,
        detector: Detector | None = None,
        *,
        only: ConceptMask | None = None,
        calibration: FittedCalibration | None = None,
        term_calibration: FittedCalibration | None = None,
        precision: float | None = None,
        coverage: float | None = None,
        corrections: Corrections | None = None,
        **options: Any,
    ) -> None:
        self.kb, self.corrections = linker.kb, corrections
        self.linker, self.detector, self.calibration = linker, detector, calibration
        self.term_calibration = term_calibration
        self.options = PipelineOptions.of(options)
        self._only = select_concepts(self.kb, self.options) if only is None else only
        self._precision, self._coverage = precision, coverage
        self._confidence = confidence_of(calibration, precision, coverage, is_name_of=self.kb.is_name_of)
        self._answering = without_confidence(linker) if self._confidence else linker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Do nothing, because memory maps are closed when the last reference to them is deleted."""

    @property
    def only(self) -> ConceptMask | None:
        """A mask of the concepts that are allowed as answers; None allows all."""
        return self._only

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of detector and linker, and the non-default options."""
        detector = {"detector": "none"} if self.detector is None else self.detector.config
        wanted = {"precision": self._precision, "coverage": self._coverage}
        said: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        said |= {name: value for name, value in self.options.non_default_options().items() if name not in _DESCRIBED}
        said |= {"calibration": digest_of(self.calibration)} if self.calibration else {}
        said |= {"corrections": self.corrections.describe()} if self.corrections else {}
        limited = describe_filter(self._only, restrict=self.options.restrict)
        return {"detector": detector, "linker": self.linker.config, "threshold": self.options.threshold, **said, **limited}

    def source(self) -> dict[str, Any]:
        """Return everything that links depend on, for the header of a predictions file."""
        own = {name: value for name, value in self.config.items() if name != "linker"}
        return source_of(self.linker, self.options.top_k, **own)

    def with_threshold(self, threshold: float | None) -> Pipeline:
        """Return a copy with another minimum score."""
        return self._change(threshold=threshold)

    def with_precision(self, precision: float | None) -> Pipeline:
        """Return a copy whose links have this precision. Less confident links are left unlinked, but keep their candidates.

        The precision holds for texts that are similar to the calibration data.
        """
        return self._change(precision=precision)

    def with_coverage(self, coverage: float | None) -> Pipeline:
        """Return a copy whose candidate sets contain the right concept with probability >= coverage (conformal sets)."""
        return self._change(coverage=coverage)

    def with_assertion(self, assertion: bool | None = True) -> Pipeline:
        """Return a copy that marks assertions, as by default, or not: whether a mention is negated, possible, and so on.

        None leaves the option unchanged.

        >>> from onym.detect.dictionary import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
        >>> [(link.mention.surface, link.assertion) for link in pipeline.link("High fever, no heart attack.").links]
        [('fever', ()), ('heart attack', ('negated',))]
        >>> [link.assertion for link in pipeline.with_assertion(False).link("High fever, no heart attack.").links]
        [None, None]
        """
        return self if assertion is None else self._change(assertion=assertion)

    def with_types(self, types: Sequence[str]) -> Pipeline:
        """Return a copy that only links to concepts of these semantic groups or types. Its existing filter still applies.

        The detector finds the same mentions. Mentions whose best concept has another type are left unlinked.

        >>> from onym.detect.dictionary import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
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
        >>> from onym.linkers.exact import ExactLinker
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> pipeline.with_filter(concepts=["D005334"]).config["concepts_allowed"]
        1
        """
        only = combine_masks(self._only, select_concepts(self.kb, ConceptFilter.of(wanted)))
        return self._change(only=only, restrict=restrict or self.options.restrict)

    def with_corrections(self, corrections: Corrections | Path | str | None) -> Pipeline:
        """Return a copy whose answers follow the rules of people, given as a file or as `onym.corrections.Corrections`.

        A corrected link has the stage `correction` and no confidence. None removes the corrections.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> from onym.types import Mention
        >>> path = getfixture("tmp_path") / "mine.onymc"
        >>> _ = path.write_text("surface\\tmeaning\\nMI\\tmesh:D006973\\n")
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))).with_corrections(path)
        >>> [link] = pipeline.link(Document("1", "No MI.", (Mention(3, 5, "MI"),))).links
        >>> link.concept_id, link.stage
        ('mesh:D006973', 'correction')
        """
        if corrections is None or isinstance(corrections, Corrections):
            return self._change(corrections=corrections)
        limit = find_case_limit({} if self.detector is None else self.detector.config)
        return self._change(corrections=read_corrections(corrections, self.kb, case_sensitive_below=limit))

    def without_detector(self) -> Pipeline:
        """Return a copy without a detector, which links only annotated mentions."""
        return self._change(detector=None)

    def for_terms(self) -> Pipeline:
        """Return a copy for terms without context, such as the cells of a column. Each term is one mention.

        The copy uses the calibration for terms, and then has no threshold. Without one, it uses a calibration on annotated
        mentions. A calibration on detected mentions is not used, because terms do not pass through the detector. A term has no
        context, so it gets no assertion marks.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))).for_terms().calibration is None
        True
        """
        annotated = self.calibration if self.calibration and self.calibration.mentions != "found" else None
        threshold = None if self.term_calibration else self.options.threshold
        calibration = self.term_calibration or annotated
        return self._change(detector=None, threshold=threshold, calibration=calibration, assertion=False)

    def _change(self, **changes: Any) -> Pipeline:
        own: dict[str, Any] = {
            "detector": self.detector,
            "only": self._only,
            "calibration": self.calibration,
            "term_calibration": self.term_calibration,
            "precision": self._precision,
            "coverage": self._coverage,
            "corrections": self.corrections,
            **self.options.option_values(),
        }
        return Pipeline(self.linker, **own | changes)

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
        >>> from onym.linkers.exact import ExactLinker
        >>> from onym.types import Mention
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [explanation] = pipeline.explain(Document("1", "Pyrexia", (Mention(0, 7, "Pyrexia"),)))
        >>> print("\\n".join(explanation.lines()[:3]))
        concept: MESH:D005334 Fever
        matched name: 'Pyrexia' (exact, tiny)
        score 1.000
        """
        from onym.pipeline.explanation import explain_linked

        [doc] = map(fold_document, _documents([text]))  # as the linker sees it
        (linked,) = require_complete([self.link(doc)])
        return explain_linked(linked, self.linker, self.detector, self.source(), self.corrections)

    def link_many(self, texts: Iterable[str | Document]) -> Iterator[LinkedDocument]:
        """Link texts or documents, and yield the results in order. The input is consumed lazily, in batches.

        The document id of a text is its number, starting at 1. A document that cannot be linked has problems instead of links.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [linked.document.id for linked in pipeline.link_many(["fever", "cough"])]
        ['1', '2']
        """
        if isinstance(texts, str | Document):
            what = f"link_many takes several texts or documents, not a {type(texts).__name__}"
            raise InputError("type-text", what, fix="link a single one with link")
        return self._link_many(texts)

    def _link_many(self, texts: Iterable[str | Document]) -> Iterator[LinkedDocument]:
        detected: deque[CorrectedMentions] = deque()
        documents = self._detect(_documents(texts), detected)
        top_k, restrict = self.options.top_k, self.options.restrict
        for linked in link_among(self._answering, documents, top_k=top_k, only=self._only, restrict=restrict):
            yield self._finish(linked, detected.popleft())

    def _detect(self, documents: Iterable[Document], detected: deque[CorrectedMentions]) -> Iterator[Document]:
        """Yield documents with their mentions, and append the corrected results to `detected`, in the same order.

        The documents carry the analysis of their text, so that the linker reuses the detector's work.
        """
        rest = iter(documents)
        earlier: list[AnalysedDocument] = []
        while originals := list(islice(rest, _BATCH)):
            batch = [analyse(fold_document(doc)) for doc in originals]
            for done in earlier:  # the linker no longer needs their analysis: free the memory
                done.analysis.readings.clear()
            earlier = batch
            bare = [doc for doc in batch if not doc.mentions]
            found = iter(() if self.detector is None else self.detector.detect(bare))
            for original, doc in zip(originals, batch, strict=True):
                is_detected = not doc.mentions and self.detector is not None
                own = next(found) if is_detected else Detected(doc)
                own = replace(own, document=with_text(own.document, original.text))
                each = self._correct_mentions(own, is_detected=is_detected)
                detected.append(each)
                yield replace(doc, mentions=with_text(each.document, doc.text).mentions)

    def _correct_mentions(self, detected: Detected, *, is_detected: bool) -> CorrectedMentions:
        if self.corrections is not None:
            return self.corrections.correct_mentions(detected, is_detected=is_detected)
        count = len(detected.document.mentions)
        return CorrectedMentions(detected.document, detected.scores or (None,) * count, (), detected.problems)

    def _finish(self, linked: LinkedDocument, detected: CorrectedMentions) -> LinkedDocument:
        """Add detection scores, confidences, corrections and assertions to a linked document."""
        scores = detected.scores if linked.links else ()
        links = [self._finish_link(link, score) for link, score in zip(linked.links, scores, strict=True)]
        links = self._confidence.of(links) if self._confidence else links
        if self.corrections is not None and links:
            pairs = zip(links, detected.rules, strict=True)
            links = [self.corrections.correct_link(link, rule, self._only) if rule else link for link, rule in pairs]
        finished = replace(linked, links=tuple(links), problems=(*detected.problems, *linked.problems))
        if self.options.assertion:
            from onym.detect.assertion import with_assertion  # lazy, because the import compiles its patterns

            finished = with_assertion(finished)
        return restore_text(replace(finished, document=plain(linked.document)), detected.document.text)

    def _finish_link(self, link: Link, score: float | None) -> Link:
        """Add the detection score, and leave the mention unlinked if its best candidate scores below the threshold."""
        is_below = self.options.threshold is not None and link.candidates and link.candidates[0].score < self.options.threshold
        reason = link.nil_reason or ("below-threshold" if is_below else None)
        return replace(link, detection_score=score, nil_reason=reason)


def find_case_limit(config: Mapping[str, Any]) -> int:
    """Return the length up to which a detector compares abbreviations case-sensitively; the longest of several detectors.

    >>> find_case_limit({"detector": "several", "parts": [{"case_sensitive_below": 5}, {"detector": "student"}]})
    5
    """
    parts = [part for part in config.get("parts", ()) if isinstance(part, Mapping)]
    own = config.get("case_sensitive_below")
    return max([own] if isinstance(own, int) else [find_case_limit(part) for part in parts] or [CASE_SENSITIVE_BELOW])


def _documents(texts: Iterable[object]) -> Iterator[Document]:
    for number, text in enumerate(iter_checked(texts, object, of="texts"), 1):
        if isinstance(text, Document):
            yield text
        else:
            require_text(text, where=f"text {number}")
            yield Document(str(number), str(text))


MIN_ANSWERS = 200
"""Minimum number of links for a drift warning."""
_KEPT = 100_000  # maximum number of confidences to collect


class DriftWatch:
    """Detects drift: compares the confidences of links with the calibration data.

    >>> watch = DriftWatch(None)
    >>> list(watch.watch([])), watch.warning
    ([], None)
    """

    def __init__(self, fitted: FittedCalibration | None) -> None:
        self._fitted = fitted
        self._seen: list[float] = []

    def watch(self, linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
        """Yield the documents unchanged, and collect their confidences."""
        for each in linked:
            if self._fitted and len(self._seen) < _KEPT:
                self._seen += (link.confidence for link in each.links if link.confidence is not None)
            yield each

    @property
    def warning(self) -> str | None:
        """A warning if the distribution of confidences differs from the calibration data; else None."""
        if self._fitted is None or len(self._seen) < MIN_ANSWERS:
            return None
        index = self._fitted.calibration.spread.index(np.array(self._seen))
        if index <= MAX_INDEX:
            return None
        return (
            f"the confidence distribution differs from the calibration data, {self._fitted.dataset} ({self._fitted.split}): "
            f"confidences may be wrong here (population stability index {index:.2f}, limit {MAX_INDEX})"
        )
