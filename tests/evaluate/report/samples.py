"""Sample reports that use every section, optionally with hostile text."""

from __future__ import annotations

from onym.evaluate.content import ExampleRow, Headline, MistakeRow, NeighbourRow, RecallPoint, ReportContent, SliceRow
from onym.evaluate.coverage import Coverage
from onym.evaluate.end_to_end import END_TO_END, EndToEndEvaluation, EndToEndScores, ScoresWithIntervals, TypeScore
from onym.evaluate.evaluation import ConfidenceFigures
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.mistakes import KINDS, EndToEndMistake, EndToEndMistakes, NamedConcepts
from onym.evaluate.near_misses import NearMisses, Nearness

HOSTILE = (
    "</td></table><script>alert('x')</script><img src=http://evil.example/x onerror=\"x\">\x1b[31m\u202e&amp;$\\frac{1}{2}$"
)


NEAR = NearMisses.of([Nearness("parent")] * 1234 + [Nearness("farther", 3), Nearness("apart")])


def linking_sample(text: str = "fever") -> ReportContent:
    """Return the content of a linking report; if `text` is given, it replaces all text that comes from users."""
    return ReportContent(
        linker=text,
        dataset=text,
        split=text,
        protocol="strict",
        kb=text,
        headline=tuple(Headline(name, 1234, 0.901, 0.95, 0.92, 1200, 0.921, 0.971, 0.88, 0.92) for name in PROTOCOLS),
        left_out=((text, 1055),),
        slices=(
            SliceRow("Overall", "All cases.", 1234, 0.901, 0.88, 0.92),
            SliceRow(text, text, 20, 0.5, 0.3, 0.7),
            SliceRow("Composites", "Several concepts.", 0, 0.0, 0.0, 1.0),
        ),
        without_slices=((text, text),),
        recall_curve=tuple(RecallPoint(k, 0.9 + k / 200, 0.92 + k / 200) for k in range(1, 11)),
        confidence=ConfidenceFigures.of([0.2, 0.4, 0.6, 0.8, 0.95, 0.99] * 20, [False, False, True, True, True, True] * 20),
        near_misses=NEAR,
        mistakes=(
            MistakeRow(7, text, text, text, text, text, text, text, 5, 3, "farther, 3 steps"),
            MistakeRow(2, text, "Fever", "mesh:D005334", "", "", "", "", 0, None, "no answer"),
        ),
        examples=(
            ExampleRow(text, text, text, True, 1, (NeighbourRow(1, text, text, 0.91234, True),)),
            ExampleRow(
                text,
                "Fever",
                "mesh:D005334",
                True,
                7,
                (NeighbourRow(1, "Gout", "mesh:D006073", -0.5, False), NeighbourRow(7, "Fever", "mesh:D005334", -2.0, True)),
            ),
            ExampleRow(text, text, text, False, None, (NeighbourRow(1, "Gout", "mesh:D006073", 0.25, False),)),
        ),
        manifest=((text, text),),
    )


def end_to_end_sample(text: str = "fever", covered: int = 500) -> EndToEndEvaluation:
    """Return an end-to-end evaluation; `text` replaces all text that comes from users."""
    concepts = NamedConcepts((text,), (text,))
    results = {
        name: ScoresWithIntervals(EndToEndScores(name, 2000, 1000, 800, 1000), (0.75, 0.85), (0.45, 0.55), (0.6, 0.65))
        for name in END_TO_END
    }
    nearness = {"wrong concept": Nearness("sibling")}
    mistakes = [EndToEndMistake(kind, 1234, text, concepts, text, concepts, nearness.get(kind)) for kind in KINDS]
    return EndToEndEvaluation(
        system=text,
        protocol="bhowmik-strict",
        results=results,
        by_type=(TypeScore(text, 1500, 0.6, 0.55, 0.65), TypeScore("", 500, 0.2, 0.1, 0.3)),
        mistakes=EndToEndMistakes(dict.fromkeys(KINDS, 7), tuple(mistakes), NEAR),
        documents=500,
        mentions=1900,
        in_kb=1800,
        coverage=Coverage("documents", 500, covered),
        left_out={text: 3},
        manifest={"dataset": {"name": text, "digest": "ab", "split": "test"}, "kb": {"concepts": 9000, "names": 70000}},
    )
