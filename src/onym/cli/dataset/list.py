"""`onym dataset list`."""

from __future__ import annotations

from typing import Annotated

from onym.cli.console import JSON, write_json, write_lines


def command(json: Annotated[bool, JSON] = False) -> None:
    """List the datasets that can be prepared: name, splits, title, intended knowledge base.

    Example: onym dataset list
    """
    from onym.datasets import catalogue

    if json:
        write_json(
            [
                {
                    "name": dataset.name,
                    "title": dataset.title,
                    "splits": dataset.splits,
                    "files": [file.path for file in dataset.files],
                    "kb": dataset.kb,
                    "protocol": dataset.protocol,
                    "dropped": dataset.dropped,
                    "licence": dataset.licence,
                }
                for dataset in catalogue()
            ]
        )
        return
    write_lines([(dataset.name, " ".join(dataset.splits), dataset.title, dataset.kb) for dataset in catalogue()])
