"""Running a linker over a benchmark."""

from __future__ import annotations

from onym.datasets import Prepared
from onym.evaluate.run import predict
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker


def test_every_mention_is_answered_and_the_source_is_said(benchmark: Prepared) -> None:
    assert benchmark.kb_folder
    linker = ExactLinker(KnowledgeBase.open(benchmark.kb_folder))
    found = predict(benchmark, "test", linker)
    mentions = [(doc.id, mention.start, mention.end) for doc in benchmark.documents("test") for mention in doc.mentions]
    assert list(found.answers) == mentions
    assert found.source["benchmark"] == {"name": "ncbi-disease-biosyn", "digest": benchmark.digest, "split": "test"}
    assert found.source["linker"] == linker.config
