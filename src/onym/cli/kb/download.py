"""`onym kb download`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, stderr, write_json, write_lines
from onym.vocabularies import downloads

_FREE = ", ".join(name for name, each in downloads().items() if each.download)
_LICENSED = ", ".join(name for name, each in downloads().items() if not each.download)


def command(
    name: Annotated[str, typer.Argument(help=f"{_FREE}; {_LICENSED} explain how to get them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path(),
    mirror: Annotated[str, typer.Option(help="Download the same file names from this address instead.")] = "",
    sha256: Annotated[str, typer.Option(help="Expected SHA-256 of the file.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Download a terminology from its official address; an interrupted download resumes.

    Example: onym kb download hpo -o releases
    """
    from onym.errors import ConfigError
    from onym.store.download import download
    from onym.store.output import require_file

    known = downloads()
    if name not in known:
        raise ConfigError("release-unknown", f"no release named {name!r}", fix=f"known are {', '.join(known)}")
    release, title = known[name], known[name].full_title or known[name].title
    if not release.download:
        raise ConfigError("release-licensed", f"{title} needs a licence of your own", fix=release.how)
    for url in release.download:
        require_file(output / url.rpartition("/")[2])
    stderr().print(f"{title}. Licence: {release.licence}", soft_wrap=True)
    records = []
    for url in release.download:
        file = url.rpartition("/")[2]
        address = f"{mirror.rstrip('/')}/{file}" if mirror else url
        with progress(file) as bar:
            record = download(
                address,
                output / file,
                sha256=sha256,
                advance=lambda got, total, bar=bar: bar.update(bar.task_ids[0], completed=got, total=total),  # type: ignore[misc]
            )
        records.append({"file": str(output / file), "url": record.url, "bytes": record.bytes, "sha256": record.sha256})
    if json:
        write_json(records)
    else:
        write_lines([(str(r["file"]), f"{r['bytes']:,} bytes", f"sha256 {r['sha256']}") for r in records])
