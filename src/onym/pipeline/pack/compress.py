"""A pipeline whose dense parts are small: encoders in int8, for ONNX Runtime, and indexes that are codes alone.

The names are encoded by the encoder as it was, before their vectors become codes: only mentions are read by the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onym.encoders.opening import open_encoder
from onym.encoders.quantize import write_quantized
from onym.encoders.tensors import is_quantized
from onym.errors import ConfigError
from onym.index.derived import open_derived_index_artefact
from onym.index.kinds import compact_kind
from onym.kb import KnowledgeBase
from onym.linkers import dense
from onym.pipeline.config import PipelineConfig
from onym.store.models import folder_digest
from onym.store.parts import ModelReference, OpenContext, PartConfig
from onym.store.scratch import scratch_folder


@contextmanager
def compressed(config: PipelineConfig, base: Path, context: OpenContext) -> Iterator[PipelineConfig]:
    """Give the configuration of a pipeline in the folder `base` with smaller parts, which are there until the block ends."""
    kb = KnowledgeBase.open(base / config.kb.path, verify=context.verify, prefer=config.prefer)
    with scratch_folder() as folder:

        def smaller(part: PartConfig) -> PartConfig:
            return _smaller(part, base, folder, kb, context) if isinstance(part, dense.Config) else part

        found = config.model_copy(update={"linker": config.linker.with_parts(smaller)})
        if found == config:
            what = "there is nothing to compress: the pipeline has no dense part"
            raise ConfigError("config-invalid", what, where=str(base), fix="leave --compress out")
        yield found


def _smaller(part: dense.Config, base: Path, folder: Path, kb: KnowledgeBase, context: OpenContext) -> dense.Config:
    """Write the encoder of a dense part, build its index, and return the part with both."""
    if part.model is None:
        return part
    source = Path(part.model.resolved(base).path)
    small = source if is_quantized(source) else folder / f"{source.name}-int8"
    if not small.exists():
        write_quantized(source, small)
    names_by = open_encoder(source, precision=part.dtype, device=part.device)
    index = compact_kind(len(kb.names))
    open_derived_index_artefact(kb, open_encoder(small), index, names_by=names_by, progress=context.progress)
    reference = ModelReference(path=str(small), digest=folder_digest(small))
    return part.model_copy(update={"model": reference, "index": index, "dtype": "auto", "device": "auto"})
