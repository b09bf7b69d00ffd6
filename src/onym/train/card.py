"""The model card of a trained model."""

from __future__ import annotations

from typing import Any, NamedTuple


class _Kind(NamedTuple):
    """A kind of model, and the linker that opens it."""

    title: str
    does: str
    module: str
    linker: str


_GENERATIVE = _Kind(
    "A generative entity linker",
    "For a mention in its context, it generates a name of the concept, constrained to the names of a knowledge base.",
    "generative",
    "GenerativeLinker",
)
_ENCODER = _Kind(
    "An encoder of names",
    "It embeds mentions and names; a mention is linked to the concept of the nearest name of a knowledge base.",
    "dense",
    "DenseLinker",
)
_COLLECTIVE = _Kind(
    "A collective entity linker",
    "It encodes a document once, to detect its mentions, to link them to the nearest names of a knowledge base, or both.",
    "collective",
    "CollectiveLinker",
)
_DETECTOR = _Kind(
    "A detector of mentions",
    "It encodes a document once, and tells where its mentions are and of which type.",
    "",
    "",
)
_KINDS = {"align": _ENCODER, "match": _ENCODER, "collective": _COLLECTIVE, "detect": _DETECTOR}


def card(record: dict[str, Any]) -> str:
    """Return the card of a model by the record of its training, as Markdown.

    Its kind follows from its last stage.

    >>> record = {"first_start": "bart", "stages": ["finetune"], "parameters": 1000, "hours_in_all": 0.5, "machine": "2 cores",
    ...           "kb": {"digest": "ab", "concepts": 1, "names": 2}, "corpus": {}, "metrics": {"dev_r1": 50.0}, "steps": 3}
    >>> print(card(record).splitlines()[4])
    # A generative entity linker, from bart
    """
    kind = _KINDS.get(record["stages"][-1], _GENERATIVE)
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
        *_origin(record),
        f"- Trained: {record['steps']:,} steps, {record['hours_in_all']} hours in total, on {record['machine']}",
        "",
        f"| on dev{'' if kind is _DETECTOR else ', any-id'}{_of_mentions(record)} | % |",
        "|---|---|",
        *(f"| {name} | {value:.1f} |" for name, value in record["metrics"].items() if "_threshold" not in name),
        "",
        *_usage(kind),
        "",
        "The configuration, and the digests of everything it was made of, are in training.json.",
    ]
    return "\n".join(lines) + "\n"


def _of_mentions(record: dict[str, Any]) -> str:
    """Return how many mentions the figures rest on; records of older versions do not say it."""
    return f", {record['dev_mentions']:,} mentions" if record.get("dev_mentions") else ""


def _origin(record: dict[str, Any]) -> list[str]:
    """Return the lines about the knowledge base and the corpora."""
    if "corpora" in record:
        return [line for each in record["corpora"] for line in (_corpus(each), *overlap_lines(each.get("overlap", {})))]
    kb, corpus = record["kb"], record["corpus"]
    return [
        f"- Knowledge base: {kb['digest']} ({kb['concepts']:,} concepts, {kb['names']:,} names)",
        f"- Dataset: {corpus['name']} ({corpus['digest']})" if corpus else "- Dataset: none",
        *overlap_lines(corpus.get("overlap", {})),
    ]


def _corpus(each: dict[str, Any]) -> str:
    left_out = sum(each["left_out"].values()) if "left_out" in each else 0
    note = f"; {left_out:,} left out, since a dev or test split has them" if left_out else ""
    return f"- Corpus: {each['name']}, {each['documents']:,} documents ({each['licence']}){note}"


def overlap_lines(overlap: dict[str, Any]) -> list[str]:
    """Return what dev and test share with train, as lines of a card.

    >>> overlap_lines({"dev in train": {"mentions": 8, "same_span": 0, "same_surface_and_ids": 4}})
    ['- dev in train: 4 of 8 mentions have a surface and ids that train has; 0 are the same mention']
    """
    return [
        f"- {splits}: {each['same_surface_and_ids']:,} of {each['mentions']:,} mentions have a surface and ids that train has; "
        f"{each['same_span']:,} are the same mention"
        for splits, each in overlap.items()
        if "same_span" in each
    ]


def _usage(kind: _Kind) -> list[str]:
    if kind is _DETECTOR:
        lines = ["onym link TEXT --kb KB_FOLDER --detector model --detector-model THIS_FOLDER -o links.jsonl"]
        return ["```console", *lines, "```"]
    return [
        "```python",
        "from onym.kb import KnowledgeBase",
        f"from onym.linkers.{kind.module} import {kind.linker}",
        "",
        f'linker = {kind.linker}.from_pretrained("THIS_FOLDER", KnowledgeBase.open("KB_FOLDER"))',
        "```",
    ]
