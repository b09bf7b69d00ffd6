"""Whether a pipeline answers the same from several threads as from one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onym
from benchmarks.house.pipelines import build_pipeline, save_encoder, save_seq2seq, texts

THREADS = 8
Answers = list[tuple[int, int, tuple[tuple[str, float], ...]]]


def thread_answers_changed(kb: Path, folder: Path, count: int) -> int:
    """Return how many texts get other answers when 8 threads share one pipeline, over three kinds of linker."""
    pipelines = (
        build_pipeline(kb, folder / "exact"),
        build_pipeline(kb, folder / "dense", "--linker", "dense", "--model", str(save_encoder(folder / "encoder"))),
        build_pipeline(kb, folder / "written", "--linker", "generative", "--model", str(save_seq2seq(folder / "seq2seq"))),
    )
    return sum(changed_answers(onym.load(path), texts(count)) for path in pipelines)


def changed_answers(pipeline: onym.Pipeline, documents: list[str]) -> int:
    """Link texts one by one, then in threads, each of which begins elsewhere; return how many answers differ."""
    alone = [_answers(pipeline, text) for text in documents]

    def link_from(thread: int) -> int:
        first = thread * len(documents) // THREADS
        order = [*range(first, len(documents)), *range(first)]
        return sum(_answers(pipeline, documents[number]) != alone[number] for number in order)

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(link_from, range(THREADS)))


def _answers(pipeline: onym.Pipeline, text: str) -> Answers:
    return [
        (link.mention.start, link.mention.end, tuple((each.concept_id, round(each.score, 4)) for each in link.candidates))
        for link in pipeline.link(text).links
    ]
