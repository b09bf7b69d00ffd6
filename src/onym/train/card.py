"""The model card: what a person should know before using a model."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from onym.train.config import EncoderStage


class _Kind(NamedTuple):
    """What a model is, and the linker that opens it."""

    title: str
    does: str
    module: str
    linker: str


_WRITING = _Kind(
    "A linker that writes names",
    "Given a mention in its context, it writes a name of the concept that is meant, under the names of a knowledge base.",
    "generative",
    "GenerativeLinker",
)
_NEAREST = _Kind(
    "An encoder of names",
    "It makes a vector of a mention or a name; a mention means the concept of the nearest name of a knowledge base.",
    "dense",
    "DenseLinker",
)


def card(record: dict[str, Any]) -> str:
    """Return the card of a model by the record of its training, as Markdown.

    What it is follows from the stage that was its last.

    >>> record = {"first_start": "bart", "stages": ["finetune"], "parameters": 1000, "hours_in_all": 0.5, "machine": "2 cores",
    ...           "kb": {"digest": "ab", "concepts": 1, "names": 2}, "corpus": {}, "metrics": {"dev_r1": 50.0}, "steps": 3}
    >>> print(card(record).splitlines()[4])
    # A linker that writes names, from bart
    """
    corpus, kind = record["corpus"], _NEAREST if record["stages"][-1] in get_args(EncoderStage) else _WRITING
    lines = [
        "---",
        "library_name: onym",
        "tags: [entity-linking, biomedical]",
        "---",
        f"# {kind.title}, from {record['first_start']}",
        "",
        kind.does,
        "",
        f"- Started from: {record['first_start']}; stages: {', '.join(record['stages'])}",
        f"- Parameters: {record['parameters']:,}",
        f"- Knowledge base: {record['kb']['digest']} ({record['kb']['concepts']:,} concepts, {record['kb']['names']:,} names)",
        f"- Corpus: {corpus['name']} ({corpus['digest']})" if corpus else "- Corpus: none",
        f"- Trained: {record['steps']:,} steps, {record['hours_in_all']} hours in all, on {record['machine']}",
        "",
        "| on dev, any-id | % |",
        "|---|---|",
        *(f"| {name} | {value:.1f} |" for name, value in record["metrics"].items()),
        "",
        "```python",
        "from onym.kb import KnowledgeBase",
        f"from onym.linkers.{kind.module} import {kind.linker}",
        "",
        f'linker = {kind.linker}.from_pretrained("THIS_FOLDER", KnowledgeBase.open("KB_FOLDER"))',
        "```",
        "",
        "The configuration it was trained with, and the digests of all it was made of, are in training.json.",
    ]
    return "\n".join(lines) + "\n"
