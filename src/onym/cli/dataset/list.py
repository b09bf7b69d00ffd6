"""`onym benchmark list`."""

from __future__ import annotations

from typing import Annotated

from onym.cli.console import JSON, write_json, write_lines


def command(json: Annotated[bool, JSON] = False) -> None:
    """List the benchmarks that can be prepared: name, splits, what it is, which knowledge base it is meant for.

    Example: onym benchmark list
    """
    from onym.datasets import catalogue

    if json:
        write_json(
            [
                {
                    "name": benchmark.name,
                    "title": benchmark.title,
                    "splits": benchmark.splits,
                    "files": [need.path for need in benchmark.needs],
                    "kb": benchmark.kb,
                    "protocol": benchmark.protocol,
                    "dropped": benchmark.dropped,
                    "licence": benchmark.licence,
                }
                for benchmark in catalogue()
            ]
        )
        return
    write_lines([(each.name, " ".join(each.splits), each.title, each.kb) for each in catalogue()])
