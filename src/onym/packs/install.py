"""Installs a recipe or a pack as a pipeline: a self-contained folder in the cache directory.

    pipelines/.NAME.<16 hex digits>/    work in progress, named by a digest of its inputs; kept if the process is killed
    pipelines/NAME/<16 hex digits>/     a complete version of the pipeline
    pipelines/NAME/CURRENT              the name of the current version

A loaded pipeline uses the same version until it is closed, even if another version is installed meanwhile.
The steps are: files, knowledge base, models, trained components, pipeline. Finished steps are not repeated.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from onym.errors import ConfigError, OnymError
from onym.kb import build_kb
from onym.models.tokens import VOCABULARY, wordpiece_tokenizer
from onym.packs.archive import EXTRA_MISSING, PackRecord, open_pack
from onym.packs.archive import FILE as PACK_RECORD
from onym.packs.locate import (
    KB,
    NAME,
    STARTER,
    STARTER_TITLE,
    find_install_folder,
    installed_root,
    list_installed,
    load,
    open_folder,
    pack_folder,
    pipeline_names,
    read_pipeline,
    recipe_names,
)
from onym.packs.recipe import (
    RECORD,
    FileRecord,
    FileSources,
    InstallRecord,
    PipelineRecipe,
    RecipeInput,
    RecipeInputs,
    default_pipeline,
    gather_inputs,
    identity_of,
    read_recipe,
    read_record,
    require_origin,
    write_record,
)
from onym.parts import ModelReference, OpenContext
from onym.pipeline.config import FILE as PIPELINE
from onym.pipeline.config import PipelineOptions
from onym.pipeline.folder import build_pipeline, store_calibration
from onym.store.artefact import POINTER
from onym.store.download import Patience
from onym.store.files.source import Source
from onym.store.models import read_model_json, read_small
from onym.store.output import copy_file, copy_folder, move_folder, remove_folder, whole_file
from onym.store.stage import exclusive_at
from onym.store.versions import current_folder, new_version, switch_version
from onym.types import Progress, silent

# The packages that a pipeline with an encoder needs: either set is enough.
_ENCODERS = (("torch", "transformers", "faiss"), ("onnxruntime", "onnx", "faiss"))
_TOKENIZER, _SETTINGS = "tokenizer.json", "tokenizer_config.json"
_log = logging.getLogger("onym.pipeline")


@dataclass(frozen=True, slots=True)
class Installation:
    """An installed pipeline: its folder, its input files, and whether it was newly installed."""

    folder: Path
    files: tuple[FileRecord, ...]
    is_new: bool


@dataclass(frozen=True, slots=True)
class ListedPipeline:
    """An available pipeline: its contents and licences, its download size, and the optional packages it needs."""

    name: str
    title: str
    licences: dict[str, str]
    megabytes: float = 0.0
    extra: str = ""
    installed: bool = True

    @property
    def is_default(self) -> bool:
        """True for the pipeline that commands use without --pipeline."""
        return self.name == default_pipeline()


def list_pipelines() -> list[ListedPipeline]:
    """Return all available pipelines: the starter, the catalogue, installed packs, and packs in Python packages.

    >>> [each.name for each in list_pipelines() if each.is_default]
    ['starter']
    """
    return [_describe_recipe(name) if name in recipe_names() else _describe_installed(name) for name in pipeline_names()]


def _describe_recipe(name: str) -> ListedPipeline:
    recipe = read_recipe(name)
    licences = {each.title: each.licence for each in (*recipe.releases, *recipe.models)}
    return ListedPipeline(name, recipe.title, licences, recipe.megabytes, recipe.extra, is_installed(recipe))


def _describe_installed(name: str) -> ListedPipeline:
    """Describe the starter, or a pipeline installed from a pack or a folder."""
    if name == STARTER:
        return ListedPipeline(name, f"{STARTER_TITLE}; built in", _describe_recipe("mondo-diseases").licences)
    with open_folder(name) as folder:
        if not (folder / PACK_RECORD).is_file():
            return ListedPipeline(name, str(folder), {})
        record = PackRecord.from_bytes(read_small(folder / PACK_RECORD), str(folder))
    licences = {each.name: each.licence for each in record.sources}
    return ListedPipeline(name, f"Pack {record.name} {record.version}, {record.kb.concepts:,} concepts", licences)


def is_installed(recipe: PipelineRecipe) -> bool:
    """Return whether the recipe is installed in its current version."""
    record = read_record(find_install_folder(recipe.name))
    return record is not None and record.recipe_digest == identity_of(recipe)


def install(
    recipe: PipelineRecipe,
    origin: FileSources | None = None,
    *,
    force: bool = False,
    progress: Progress = silent,
    patience: Patience | None = None,
) -> Installation:
    """Install the pipeline of a recipe, or resume an interrupted installation.

    If the pipeline is already installed, nothing is downloaded. `force` rebuilds it from the same downloads.
    """
    origin, root = origin or FileSources(), installed_root(recipe.name)
    if not force and not origin.is_local and is_installed(recipe):
        return _installation(recipe.name, is_new=False)
    _require_extra(recipe)
    require_origin(recipe, origin)
    with _writing(root):
        inputs = gather_inputs(recipe, origin, progress=progress, patience=patience)
        record = InstallRecord.of_inputs(recipe, inputs)
        if not force and (found := read_record(current_folder(root))) is not None and found.key == record.key:
            return _installation(recipe.name, is_new=False)
        work = root.with_name(f".{recipe.name}.{record.key}")
        if not (work / RECORD).is_file():
            _make(recipe, inputs, record, work, progress, share=not force)
        _publish(work, root)
        _remove_earlier(root)
    done = _installation(recipe.name, is_new=True)
    _log.info("installed %s at %s", recipe.name, done.folder)
    return done


def _writing(root: Path) -> AbstractContextManager[None]:
    """Lock out other installations of the same name."""
    return exclusive_at(root.with_name(f".{root.name}.lock"))


def _publish(work: Path, root: Path) -> None:
    """Make a finished folder the current version of a pipeline."""
    version = new_version(root)
    move_folder(work, version)
    switch_version(version)


def _installation(name: str, *, is_new: bool) -> Installation:
    folder = find_install_folder(name)
    record = read_record(folder)
    return Installation(folder, record.files if record else (), is_new)


def _require_extra(recipe: PipelineRecipe) -> None:
    """Before downloading, raise ConfigError if packages that the pipeline needs are missing."""
    if recipe.extra and not any(all(map(find_spec, packages)) for packages in _ENCODERS):
        what = f"the pipeline {recipe.name} needs packages that are not installed"
        raise ConfigError(
            "extra-missing", what, fix="pip install 'onym[onnx]', or pip install 'onym[models]' for torch and GPUs"
        )


def _make(
    recipe: PipelineRecipe, inputs: RecipeInputs, record: InstallRecord, work: Path, progress: Progress, *, share: bool
) -> None:
    """Run the remaining steps; the record is written last."""
    _make_kb(recipe, inputs, record, work / KB, progress, share=share)
    for folder, files in inputs.models.items():
        _make_model(files, work / folder)
    trained = recipe.trained
    for part in trained.parts if trained else ():
        if not (work / part).exists():
            copy_folder(pack_folder(trained.pack) / part, work / part)  # type: ignore[union-attr]
    progress("building the pipeline", 0)
    _make_pipeline(recipe, work, progress)
    write_record(recipe, record, work)


def _make_kb(
    recipe: PipelineRecipe, inputs: RecipeInputs, record: InstallRecord, dest: Path, progress: Progress, *, share: bool
) -> None:
    """Build the knowledge base, or copy it from an installed pipeline with the same inputs and recipe."""
    if (dest / POINTER).is_file():
        return
    with _hold_twin(record) if share else nullcontext() as twin:
        if twin is not None and not dest.exists():
            progress("copying the knowledge base of another pipeline", 0)
            copy_folder(twin / KB, dest)
            return
    sources = {each.name: Source.open(each.stored.path) for each in inputs.releases}
    build_kb(recipe.kb, dest, sources=sources, progress=progress)


@contextmanager
def _hold_twin(record: InstallRecord) -> Iterator[Path | None]:
    """Yield the folder of an installed pipeline whose knowledge base has the same inputs and recipe, or None."""
    for name in list_installed():
        with open_folder(name) as folder:
            found = read_record(folder)
            if found is not None and found.kb_digest == record.kb_digest and (folder / KB / POINTER).is_file():
                yield folder
                return
    yield None


def _make_model(files: tuple[RecipeInput, ...], folder: Path) -> None:
    """Copy the files of a model; create tokenizer.json if the model has only a vocabulary file."""
    for each in files:
        if not (folder / each.name).is_file():
            copy_file(each.stored.path, folder / each.name)
    vocabulary = folder / VOCABULARY
    if vocabulary.is_file() and not (folder / _TOKENIZER).is_file():
        settings = read_model_json(folder / _SETTINGS) if (folder / _SETTINGS).is_file() else {}
        lowercase = settings.get("do_lower_case", True) if isinstance(settings, dict) else True
        made = wordpiece_tokenizer(vocabulary.read_bytes(), lowercase=bool(lowercase), where=str(vocabulary))
        with whole_file(folder / _TOKENIZER) as file:
            file.write(made)


def _make_pipeline(recipe: PipelineRecipe, work: Path, progress: Progress) -> None:
    """Write pipeline.json. An existing file is replaced, because an interrupted run may have left out the calibration."""

    def inside(reference: ModelReference) -> ModelReference:
        return reference.model_copy(update={"path": str(work / reference.path)})

    design = recipe.pipeline.with_references(inside)
    build_pipeline(
        work / KB,
        work,
        linker=design.linker,
        detector=design.detector,
        options=PipelineOptions.of(design.option_values()),
        components=design.components,
        force=True,
        context=OpenContext(progress=progress),
    )
    if recipe.trained is not None and recipe.trained.calibration:
        trained = read_pipeline(pack_folder(recipe.trained.pack))
        for fitted in filter(None, (trained.calibration, trained.term_calibration)):
            store_calibration(work, fitted)


def _remove_earlier(root: Path) -> None:
    """Remove work folders of interrupted installations of this pipeline."""
    own = re.compile(rf"\.{re.escape(root.name)}\.[0-9a-f]{{16}}")
    for path in root.parent.iterdir():
        if own.fullmatch(path.name):
            remove_folder(path)


def install_pack(path: Path | str, name: str = "", *, force: bool = False) -> tuple[PackRecord, Path]:
    """Install a pack under its own name or `name`, and return its record and folder.

    The pack is opened once as a test. If that fails, it is not installed; missing optional packages are not a failure.
    """
    pack = open_pack(path)
    name = name or pack.record.name
    if not NAME.fullmatch(name) or name == STARTER:
        fix = f"use lower-case letters, digits, - and _; the name {STARTER} is reserved"
        raise ConfigError("config-invalid", f"a pipeline cannot be installed as {name!r}", fix=fix)
    root = installed_root(name)
    with _writing(root):
        folder = current_folder(root)
        if pack.is_unpacked(folder) and not force:
            return pack.record, folder
        if (folder / PIPELINE).exists() and not force:
            what, fix = "another pipeline of that name is installed", "choose another --name, or add --force to replace it"
            raise ConfigError("output-exists", what, where=str(root), fix=fix)
        version = new_version(root)
        pack.unpack(version)
        _require_sound(version)
        switch_version(version)
    return pack.record, version


def _require_sound(folder: Path) -> None:
    try:
        load(folder)
    except OnymError as e:
        if e.code != EXTRA_MISSING:
            remove_folder(folder)
            raise
