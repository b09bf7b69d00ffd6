"""What `onym evaluate` and `onym compare` share: from words to figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from onym.cli.console import write_json
from onym.errors import ConfigError

if TYPE_CHECKING:
    from onym.datasets import Prepared
    from onym.evaluate.evaluation import Evaluation
    from onym.kb import KnowledgeBase
    from onym.linkers.base import LinkerConfig
    from onym.predictions.file import Predictions
    from onym.store.parts import OpenContext
    from onym.text.similarity import NameSimilarity

BENCHMARK = typer.Option("--benchmark", "-b", help="The name of a benchmark, or the folder of a prepared one.")
DATA = typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the corpora; by default $ONYM_DATA.")
KB = typer.Option("--kb", help="The knowledge base; by default the benchmark's own dictionary.")
SPLIT = typer.Option(help="train, dev or test.")
PROTOCOL = typer.Option(
    help="strict, one-id, any-id or biosyn; end to end: bhowmik-strict, bhowmik-partial or neleval-overlap-maxmax."
)
REPLACED = typer.Option(help="For scoring alone, a table of retired ids: two columns, the old id and the new one.")


@dataclass
class Question:
    """A split of a benchmark, the knowledge base and the protocol by which answers are judged."""

    benchmark: Prepared
    split: str
    kb: KnowledgeBase
    protocol: str
    replaced: dict[str, str]
    _similarity: NameSimilarity | None = field(default=None, repr=False)

    @classmethod
    def open(
        cls, benchmark: str, data: Path | None, split: str, kb: Path | None, protocol: str, replaced: Path | None
    ) -> Question:
        """Open everything that was named; a benchmark that was never prepared is prepared."""
        from onym.datasets.cached import open_benchmark

        prepared = open_benchmark(benchmark, data)
        return cls(prepared, split, _opened_kb(prepared, kb), protocol, _replaced_ids(replaced))

    def evaluation(
        self,
        path: Path | None,
        linker: LinkerConfig | None = None,
        save: Path | None = None,
        *,
        force: bool = False,
        context: OpenContext | None = None,
    ) -> Evaluation:
        """Judge the predictions in a file, or those that a linker makes now."""
        from onym.evaluate.evaluation import evaluate
        from onym.predictions.file import read_predictions

        predictions = read_predictions(path or Path()) if linker is None else self._predicted(linker, save, force, context)
        return evaluate(
            self.benchmark,
            self.split,
            predictions,
            self.kb,
            name=self.protocol,
            replaced=self.replaced,
            similarity=self._names(),
        )

    def end_to_end(self, path: Path | None) -> dict[str, Any]:
        """Judge the mentions and concepts of a corpus."""
        from onym.corpora.base import documents_of
        from onym.corpora.corpus import read_corpus
        from onym.evaluate.cases import Known
        from onym.evaluate.end_to_end import score_end_to_end

        if path is None:
            what = "an end-to-end protocol judges mentions that were found, and a linker is given them"
            raise ConfigError("config-invalid", what, fix="name a corpus with predicted mentions")
        predicted = documents_of(read_corpus(path))
        known = Known(self.kb, self.replaced)
        found = score_end_to_end(self.benchmark.documents(self.split), predicted, self.protocol, known.same)
        shares = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        counts = {"gold": found.gold, "predicted": found.predicted, "right": found.right, "found": found.found}
        return {"protocol": self.protocol, **shares, **counts, **found.left_out}

    def show(self, evaluation: Evaluation, report: Path | None, *, json: bool, force: bool) -> None:
        """Print an evaluation, and write its page."""
        from rich.console import Console

        from onym.evaluate.report import html_report, report_tables
        from onym.evaluate.shown import content_of
        from onym.store.output import whole_file

        content = content_of(evaluation, self.kb)
        if report:
            page = html_report(content).encode()
            with whole_file(report, force=force) as file:
                file.write(page)
        if json:
            write_json(evaluation.as_dict())
            return
        console = Console()
        for table in report_tables(content):
            console.print(table)

    def _predicted(
        self,
        linker: LinkerConfig,
        save: Path | None,
        force: bool,
        context: OpenContext | None,
    ) -> Predictions:
        from onym.evaluate.run import predict
        from onym.linkers import open_linker
        from onym.predictions.file import write_predictions
        from onym.store.output import whole_file

        named = open_linker(linker, self.kb, context)
        if context:
            context.progress("evaluating", 0)
        self._similarity = getattr(named, "similarity", None)
        predictions = predict(self.benchmark, self.split, named)
        if save:
            with whole_file(save, force=force) as file:
                write_predictions(predictions, predictions.source, file)
        return predictions

    def _names(self) -> NameSimilarity:
        from onym.text.similarity import NameSimilarity

        if self._similarity is None:
            self._similarity = NameSimilarity.of(self.kb.names)
        return self._similarity


def _opened_kb(benchmark: Prepared, kb: Path | None) -> KnowledgeBase:
    from onym.kb import KnowledgeBase

    folder = kb or benchmark.kb_folder
    if folder is None:
        what = f"{benchmark.name} has no dictionary of its own; it is meant for {benchmark.report['kb']['meant']}"
        raise ConfigError("kb-needed", what, fix="build a knowledge base and name it with --kb")
    return KnowledgeBase.open(folder)


def _replaced_ids(path: Path | None) -> dict[str, str]:
    """Read a table of retired ids; an id with several successors is left out, for none of them is the answer."""
    if path is None:
        return {}
    from onym.kb.replacements import read_replacements

    return dict(read_replacements(path).unique("concept", keep="none").iter_rows())
