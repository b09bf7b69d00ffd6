"""Random folders of terminology files, and random tables. Their known content is compared with what `onym` reports.

Every file of a folder must be an input of the knowledge base or be listed as ignored. Every row of a table must be counted,
or the table rejected because of an unclosed quote.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from onym.cli.kb import app
from onym.errors import InputError
from onym.kb import readers
from onym.outputs.mapping import count_rows
from onym.registry import READERS
from onym.store.files.source import InputFile, Source
from tests.support.releases import SAMPLES

_WITHOUT_NAMES = "mesh_mappings"
_ASIDE = {"README.md": b"# free", ".DS_Store": b"\x00\x01", "empty.txt": b"", "samples.nt": b"<a> <b> <c> .\n"}
_TABLE_ASIDE = {"counts.csv": b"Year;Total\n2026;3\n"}
_CELLS = ("fever", "pain, chest", 'a "quoted" word', "two\nlines", "x;y|z", "", "caf\u00e9")


def read_samples() -> None:
    """Read a sample of each format, so that all modules are imported."""
    for name, releases in SAMPLES.items():
        for release in releases:
            files = [InputFile.from_bytes(file, data) for file, data in release.items()]
            list(readers.read(Source.of_files("made", files), name))


def judge_release(folder: Path, seed: int) -> tuple[int, list[str]]:
    """Build a knowledge base from a random folder; return the number of files, and the errors in what `onym` reports."""
    tree = folder / "release"
    formats = _make_release(tree, random.Random(seed))
    wanted = min(formats.values(), key=lambda name: _rank(name))
    done = CliRunner().invoke(app, ["build", str(tree), "-o", str(folder / "kb"), "--language", "all"])
    if done.exit_code:
        return len(formats), [f"unaccounted: kb build failed: {done.exception!r}"]
    report = json.loads(CliRunner().invoke(app, ["info", str(folder / "kb"), "--json"]).stdout)
    read = {entry["name"].removeprefix("release/") for entry in report["inputs"]}
    # The input of a folder with one file has the folder's name.
    read = set(formats) if read == {"release"} and len(formats) == 1 else read
    ignored = {entry["name"].removeprefix("release/"): entry for entry in report.get("ignored", [])}
    return len(formats), list(_compare(formats, wanted, read, ignored))


def _rank(name: str) -> int:
    return READERS.built_in.index(name) if name else len(READERS.built_in)


def _compare(formats: dict[str, str], wanted: str, read: set[str], ignored: dict[str, dict[str, str]]) -> Iterator[str]:
    for name in (read | ignored.keys()) - formats.keys():
        yield f"unaccounted: {name} is not in the folder"
    for name, own in formats.items():
        if (name in read, name in ignored) != (own == wanted, own != wanted):
            yield f"unaccounted: {name} is {own}, the release {wanted}: read {name in read}, ignored {name in ignored}"
    for other in set(formats.values()) - {"", wanted}:
        if not any(f"--format {other} " in entry["fix"] for entry in ignored.values()):
            yield f"unaccounted: no advice for files in the format {other}"


def _make_release(folder: Path, choice: random.Random) -> dict[str, str]:
    """Write files of some formats and other files; return the format of each file, or an empty string."""
    first = choice.choice([name for name in SAMPLES if name != _WITHOUT_NAMES])
    others = [name for name in SAMPLES if name != first and (name != _WITHOUT_NAMES or _rank(first) < _rank(name))]
    found: dict[str, str] = {}
    for number, name in enumerate([first, *choice.sample(others, choice.randint(0, 3))]):
        for file, data in choice.choice(SAMPLES[name]).items():
            found[_write(folder, f"d{number}/{file}", data, choice)] = name
    aside = _ASIDE if set(found.values()) == {"table"} else {**_ASIDE, **_TABLE_ASIDE}
    for file in choice.sample(sorted(aside), choice.randint(0, len(aside))):
        found[_write(folder, file, aside[file], choice)] = ""
    return found


def _write(folder: Path, name: str, data: bytes, choice: random.Random) -> str:
    if data and choice.random() < 0.2:
        name, data = f"{name}.gz", gzip.compress(data)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return name


def judge_table(folder: Path, seed: int) -> list[str]:
    """Count the rows of a random table. Return what is wrong with the count, or with the error if the table is truncated."""
    choice = random.Random(seed)
    rows, is_torn = choice.randint(1, 30), choice.random() < 0.3
    path = folder / choice.choice(["t.csv", "t.tsv"])
    delimiter = choice.choice(",;\t|")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["n", "term", "note"])
    torn, line = choice.randrange(rows) if is_torn else -1, 0
    for number in range(rows):
        if number == torn:
            line = out.getvalue().count("\n") + 1
            out.write(f'{number}{delimiter}"open{delimiter}x\n')
        else:
            writer.writerow([number, *choice.choices(_CELLS, k=2)])
    path.write_text(out.getvalue(), "utf-8")
    return list(_compare_rows(path, rows, line))


def _compare_rows(path: Path, rows: int, line: int) -> Iterator[str]:
    try:
        counted = count_rows(path, "term")
    except InputError as e:
        if not line or e.code != "table-quote" or not e.where.endswith(f":{line}"):
            yield f"lost: a table with an open quote in line {line} is refused with {e.code} at {e.where}"
    else:
        if line or counted != rows:
            yield f"lost: a table of {rows} rows with an open quote in line {line} has {counted}"
