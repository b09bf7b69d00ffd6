"""An open pipeline: texts in, links with confidences out; and the check that confidences still fit the data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onym.calibrate import Answers, PrecisionCurve, ScoredAnswer, require_coverage
from onym.calibrate.estimators import MAX_INDEX
from onym.corpora.problems import require_complete
from onym.detect.base import Detected, Detector
from onym.errors import ConfigError
from onym.kb.ranking import ConceptMask, select_concepts
from onym.linkers.base import Linker, describe_filter, link_among, source_of, without_confidence
from onym.pipeline.config import FittedCalibration, PipelineOptions, digest_of
from onym.text.analysis import AnalysedDocument, analyse, plain
from onym.types import Candidate, Document, Link, LinkedDocument, iter_checked, require_text

if TYPE_CHECKING:
    from onym.pipeline.explanation import Explanations


class Confidence:
    """Gives links the probability that their best candidate is right.

    With `precision`, answers that are not confident enough are left unlinked; with `coverage`, the candidates are cut to the
    fewest that hold the right one that often.
    """

    def __init__(self, fitted: FittedCalibration, precision: float | None = None, coverage: float | None = None) -> None:
        self._calibration = fitted.calibration
        self._least = None if precision is None else _threshold(fitted.calibration.curve, precision)
        self._coverage = None if coverage is None else require_coverage(coverage)

    def of(self, links: Sequence[Link]) -> list[Link]:
        """Return the links with their confidence; those without candidates have none."""
        answers = Answers.of(ScoredAnswer.of_link(link) for link in links if link.candidates)
        confidences = iter(self._calibration.confidences(answers).tolist() if len(answers) else ())
        return [self._above_threshold(link, next(confidences)) if link.candidates else link for link in links]

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
    fitted: FittedCalibration | None, precision: float | None = None, coverage: float | None = None
) -> Confidence | None:
    """Return the confidence of a calibration; None without one, where nothing was asked for."""
    if fitted is not None:
        return Confidence(fitted, precision, coverage)
    if precision is None and coverage is None:
        return None
    what = "a precision and a coverage need confidences, and the pipeline is not calibrated"
    raise ConfigError("pipeline-uncalibrated", what, fix="calibrate it with onym calibrate; for terms, with --mentions terms")


def _threshold(curve: PrecisionCurve, precision: float) -> float:
    reached = curve.at(precision)
    if not reached.is_reached:
        best = f"{reached.precision:.3f}, for {100 * reached.coverage:.1f} % of the answers"
        what = f"a precision of {precision} is not reached; the highest is {best}"
        raise ConfigError("precision-unreachable", what, fix="ask for less, or calibrate a better linker")
    return reached.threshold


_BATCH = 64  # documents that a detector sees together
_DESCRIBED = {"types", "concepts", "restrict", "prefer", "top_k"}  # by `describe_filter` and `source_of`


class Pipeline:
    """A detector and a linker over one knowledge base. Without a detector, mentions must be annotated.

    `options` are the fields of `PipelineOptions`; `prefer` takes effect when the knowledge base is opened. `only` replaces
    the concepts that the options `types` and `concepts` select: answers are among these, and a mention whose best concept is
    another one is left unlinked (NIL). With the option `restrict`, the other concepts do not compete.

    With a `calibration`, links have a confidence; `for_terms` uses the `term_calibration`. With `precision`, answers that are
    not confident enough for it are left unlinked; with `coverage`, candidate sets are the smallest that contain the right
    concept with this probability.

    Threads may share a pipeline.

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
        **options: Any,
    ) -> None:
        self.kb = linker.kb
        self.linker, self.detector, self.calibration = linker, detector, calibration
        self.term_calibration = term_calibration
        self.options = PipelineOptions.of(options)
        self._only = select_concepts(self.kb, self.options.types, self.options.concepts) if only is None else only
        self._precision, self._coverage = precision, coverage
        self._confidence = confidence_of(calibration, precision, coverage)
        self._answering = without_confidence(linker) if self._confidence else linker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the block; memory maps are closed when nothing refers to them any more."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration in use, component by component; of the options, those that differ from their defaults."""
        detector = {"detector": "none"} if self.detector is None else self.detector.config
        wanted = {"precision": self._precision, "coverage": self._coverage}
        said: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        said |= {name: value for name, value in self.options.non_default_options().items() if name not in _DESCRIBED}
        said |= {"calibration": digest_of(self.calibration)} if self.calibration else {}
        limited = describe_filter(self._only, restrict=self.options.restrict)
        return {"detector": detector, "linker": self.linker.config, "threshold": self.options.threshold, **said, **limited}

    def source(self) -> dict[str, Any]:
        """Return what the answers depend on, for the first line of a file of predictions."""
        own = {name: value for name, value in self.config.items() if name != "linker"}
        return source_of(self.linker, self.options.top_k, **own)

    def with_threshold(self, threshold: float | None) -> Pipeline:
        """Return a copy with another minimum score."""
        return self._change(threshold=threshold)

    def with_precision(self, precision: float | None) -> Pipeline:
        """Return a copy whose answers have this precision; less confident ones are left unlinked, with their candidates.

        The precision holds for texts like those that the pipeline was calibrated on.
        """
        return self._change(precision=precision)

    def with_coverage(self, coverage: float | None) -> Pipeline:
        """Return a copy whose candidate sets contain the right concept with probability >= coverage (conformal sets)."""
        return self._change(coverage=coverage)

    def with_assertion(self, assertion: bool = True) -> Pipeline:
        """Return a copy whose links say what the text asserts of their mentions.

        >>> from onym.detect.dictionary import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).with_assertion()
        >>> [(link.mention.surface, link.assertion) for link in pipeline.link("High fever, no heart attack.").links]
        [('fever', ()), ('heart attack', ('negated',))]
        """
        return self._change(assertion=assertion)

    def with_types(self, types: Sequence[str]) -> Pipeline:
        """Return a copy that answers with these semantic groups or types only, among those that it has.

        The detector finds the same mentions: one whose best concept is of another type is left unlinked.

        >>> from onym.detect.dictionary import DictionaryDetector
        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).with_types(["C14"])
        >>> [(link.concept_id, link.nil_reason) for link in pipeline.link("High fever, no heart attack.").links]
        [(None, 'no-candidate'), ('mesh:D009203', None)]
        """
        wanted = select_concepts(self.kb, types)
        masks = [mask for mask in (self._only, wanted) if mask is not None]
        return self._change(only=np.logical_and.reduce(masks) if masks else None)

    def without_detector(self) -> Pipeline:
        """Return a copy that links annotated mentions only: a text without any has no links."""
        return self._change(detector=None)

    def for_terms(self) -> Pipeline:
        """Return the pipeline for terms without a text, such as the cells of a column: each is one mention.

        Its confidences are those of terms. A calibration of mentions that were found in texts says nothing of terms: the
        detector did not look at them, and most values of a column would be no mention to it. Nor does a threshold, where terms
        have a calibration of their own.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))).for_terms().calibration is None
        True
        """
        annotated = self.calibration if self.calibration and self.calibration.mentions != "found" else None
        threshold = None if self.term_calibration else self.options.threshold
        return self._change(detector=None, threshold=threshold, calibration=self.term_calibration or annotated)

    def _change(self, **changes: Any) -> Pipeline:
        own: dict[str, Any] = {
            "detector": self.detector,
            "only": self._only,
            "calibration": self.calibration,
            "term_calibration": self.term_calibration,
            "precision": self._precision,
            "coverage": self._coverage,
            **self.options.option_values(),
        }
        return Pipeline(self.linker, **own | changes)

    def link(self, text: str | Document) -> LinkedDocument:
        """Link one text, or one document: its annotated mentions are kept, and looked for where it has none."""
        return next(self.link_many([text]))

    def explain(self, text: str | Document) -> Explanations:
        """Link one text or document, and explain each link, and each name in the text that is not a mention.

        A notebook shows the text with the reasons in its marks.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> from onym.types import Mention
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [explanation] = pipeline.explain(Document("1", "Pyrexia", (Mention(0, 7, "Pyrexia"),)))
        >>> print("\\n".join(explanation.lines()[:3]))
        concept: MESH:D005334 Fever
        matched name: 'pyrexia' (exact, tiny)
        score 1.000
        """
        from onym.pipeline.explanation import explain_linked

        (linked,) = require_complete([self.link(text)])
        return explain_linked(linked, self.linker, self.detector, self.source())

    def link_many(self, texts: Iterable[str | Document] | Document) -> Iterator[LinkedDocument]:
        """Yield texts or documents with their links, in order. They are read as they are needed, some hundred at a time.

        A single one is taken as one of one. A text has its number as its document's id. A document that cannot be linked has
        problems instead of links.

        >>> from onym.kb import KnowledgeBase
        >>> from onym.linkers.exact import ExactLinker
        >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
        >>> [linked.document.id for linked in pipeline.link_many(["fever", "cough"])]
        ['1', '2']
        """
        detected: deque[Detected] = deque()
        documents = self._detect(_documents(texts), detected)
        top_k, restrict = self.options.top_k, self.options.restrict
        for linked in link_among(self._answering, documents, top_k=top_k, only=self._only, restrict=restrict):
            yield self._finish(linked, detected.popleft())

    def _detect(self, documents: Iterable[Document], detected: deque[Detected]) -> Iterator[Document]:
        """Yield documents with their mentions; `detected` keeps what the detector said of each, in order.

        They carry the analysis of their text, so that the linker finds what the detector found.
        """
        rest = iter(documents)
        earlier: list[AnalysedDocument] = []
        while batch := [analyse(doc) for doc in islice(rest, _BATCH)]:
            for done in earlier:  # a linker that reads documents has read these: free the memory
                done.analysis.readings.clear()
            earlier = batch
            bare = [doc for doc in batch if not doc.mentions]
            found = iter(() if self.detector is None else self.detector.detect(bare))
            for doc in batch:
                each = Detected(doc) if doc.mentions or self.detector is None else next(found)
                detected.append(each)
                yield replace(doc, mentions=each.document.mentions)

    def _finish(self, linked: LinkedDocument, detected: Detected) -> LinkedDocument:
        """Return a document with all that is known of its links."""
        scores = detected.scores if linked.links and detected.scores else (None,) * len(linked.links)
        links = [self._finish_link(link, score) for link, score in zip(linked.links, scores, strict=True)]
        links = self._confidence.of(links) if self._confidence else links
        finished = replace(linked, links=tuple(links), problems=(*detected.problems, *linked.problems))
        if self.options.assertion:
            from onym.detect.assertion import with_assertion  # its patterns are compiled only where they are used

            finished = with_assertion(finished)
        return replace(finished, document=plain(linked.document))

    def _finish_link(self, link: Link, score: float | None) -> Link:
        """Return a link with the detector's score, and with the reason why there is no answer."""
        is_below = self.options.threshold is not None and link.candidates and link.candidates[0].score < self.options.threshold
        reason = link.nil_reason or ("below-threshold" if is_below else None)
        return replace(link, detection_score=score, nil_reason=reason)


def _documents(texts: Iterable[object] | Document) -> Iterator[Document]:
    several: Iterable[object] = [texts] if isinstance(texts, str | Document) else texts
    for number, text in enumerate(iter_checked(several, object, of="texts"), 1):
        if isinstance(text, Document):
            yield text
        else:
            require_text(text, where=f"text {number}")
            yield Document(str(number), str(text))


MIN_ANSWERS = 200
"""Fewer say nothing."""
_KEPT = 100_000  # the confidences of the first so many answers


class DriftWatch:
    """Looks at links on their way.

    >>> watch = DriftWatch(None)
    >>> list(watch.watch([])), watch.warning
    ([], None)
    """

    def __init__(self, fitted: FittedCalibration | None) -> None:
        self._fitted = fitted
        self._seen: list[float] = []

    def watch(self, linked: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
        """Yield documents as they are."""
        for each in linked:
            if self._fitted and len(self._seen) < _KEPT:
                self._seen += (link.confidence for link in each.links if link.confidence is not None)
            yield each

    @property
    def warning(self) -> str | None:
        """What to tell a person: that confidences, precision and coverage may not hold for these documents."""
        if self._fitted is None or len(self._seen) < MIN_ANSWERS:
            return None
        index = self._fitted.calibration.spread.index(np.array(self._seen))
        if index <= MAX_INDEX:
            return None
        return (
            f"the confidence distribution differs from the calibration data, {self._fitted.dataset} ({self._fitted.split}): "
            f"confidences may be wrong here (population stability index {index:.2f}, limit {MAX_INDEX})"
        )
