"""A pack as a folder for Hugging Face's hub: the pack, its licences, and a model card with measured figures.

Nothing leaves this machine unless a person asks for the upload.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from onym.errors import InputError
from onym.pipeline.config import PipelineConfig
from onym.pipeline.pack.card import card
from onym.pipeline.pack.publishing import require_publishable
from onym.pipeline.pack.reading import Pack, open_pack
from onym.pipeline.pack.record import CARD, LICENCES, PackRecord
from onym.pipeline.packs import FILE as PIPELINE
from onym.pipeline.packs import PACK_ENDING
from onym.store.archive import Written
from onym.store.files.input_file import InputFile
from onym.store.limits import DEFAULT_LIMITS
from onym.store.output import whole_folder
from onym.store.output_path import require_folder
from onym.store.unpacking import read_member, unpack


def write_hub_folder(
    path: Path | str, folder: Path | str, *, results: Sequence[dict[str, Any]] = (), force: bool = False
) -> PackRecord:
    """Write the folder of a pack for the hub; `results` are entries of its `model-index`. What is private is refused."""
    require_folder(Path(folder), force=force)
    pack = open_pack(path)
    require_publishable(pack.record)
    page = card(pack.record, _config(pack), results).encode()
    whole = InputFile.from_path(pack.path)
    with whole_folder(Path(folder), force=force) as new:
        with new.file(CARD) as file:
            file.write(page)
        unpack(pack.members, {LICENCES: pack.record.listed[LICENCES]}, new.path)
        unpack({_name(pack): whole}, {_name(pack): Written(whole.size, whole.digest())}, new.path)
    return pack.record


def _name(pack: Pack) -> str:
    return f"{pack.record.name}{PACK_ENDING}"


def _config(pack: Pack) -> PipelineConfig:
    data = read_member(pack.members[PIPELINE], DEFAULT_LIMITS.model_json_bytes)
    try:
        return PipelineConfig.model_validate_json(data)
    except ValidationError as e:
        raise InputError("pipeline-malformed", "the pipeline of the pack cannot be read", where=str(pack.path)) from e
