"""Tests of the conversion from .bin to safetensors: same weights, and no code is run."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from onym.errors import ConfigError, InputError
from onym.methods.generative.decoding.convert import convert_weights
from onym.methods.generative.decoding.session import open_model
from tests.support.models import save_model, tiny_bart


@pytest.fixture(scope="module")
def pickle_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model in the format of older checkpoints: one pickled dict of tensors, in which tied tensors are repeated."""
    folder = save_model(tmp_path_factory.mktemp("convert") / "old")
    (folder / "model.safetensors").unlink()
    torch.save(tiny_bart().state_dict(), folder / "pytorch_model.bin")
    return folder


@pytest.fixture
def old(tmp_path: Path, pickle_folder: Path) -> Path:
    """Return a copy of the old model that a test may modify."""
    return shutil.copytree(pickle_folder, tmp_path / "old")


def shard_weights(folder: Path) -> None:
    (folder / "pytorch_model.bin").unlink()
    names: dict[str, str] = {}
    for number, (name, tensor) in enumerate(tiny_bart().state_dict().items()):
        names[name] = f"pytorch_model-{number % 2}.bin"
        path = folder / names[name]
        part = torch.load(path, weights_only=True) if path.exists() else {}
        torch.save(part | {name: tensor.clone()}, path)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))


def ancient(folder: Path) -> None:
    torch.save(tiny_bart().state_dict(), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("change", [lambda folder: None, shard_weights, ancient])
def test_the_weights_are_the_same(tmp_path: Path, old: Path, change: Callable[[Path], None]) -> None:
    change(old)
    wanted = tiny_bart().state_dict()
    with pytest.raises(ConfigError, match="model-unsafe"):
        open_model(old)
    assert convert_weights(old, tmp_path / "new") == len(wanted)
    found = open_model(tmp_path / "new", "fp32").state_dict()
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_contents_of_the_new_folder(tmp_path: Path, old: Path) -> None:
    (old / "modeling.py").write_text("raise ValueError\n")
    (old / "merges.txt").write_text("#version: 0.2\n")
    shard_weights(old)
    convert_weights(old, tmp_path / "new")
    kept = ["config.json", "generation_config.json", "merges.txt", "model.safetensors", "tokenizer.json"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == kept
    assert (tmp_path / "new" / "tokenizer.json").read_bytes() == (old / "tokenizer.json").read_bytes()


def test_rejects_existing_folder_without_force(tmp_path: Path, old: Path) -> None:
    convert_weights(old, tmp_path / "new")
    with pytest.raises(ConfigError, match="output-exists"):
        convert_weights(old, tmp_path / "new")
    convert_weights(old, tmp_path / "new", force=True)
    with pytest.raises(ConfigError, match="output-exists"):
        convert_weights(old, old, force=True)  # even with `force`, a folder is not converted in place
    assert (old / "pytorch_model.bin").is_file()


# Tests of files that contain code, which must not be run.


class Evil:
    """Creates a marker folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


class EvilState(Evil):
    """Creates the marker folder when its state is set."""

    def __reduce__(self) -> tuple[Any, ...]:
        return OrderedDict, (), {"a": Evil(self.mark)}


def plain_pickle(evil: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps({"weight": evil}))


def bare_pickle(evil: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(evil, protocol=2))


def among_tensors(evil: Any, path: Path) -> None:
    torch.save({"weight": torch.ones(2), "more": [evil]}, path)


def as_key(evil: Any, path: Path) -> None:
    torch.save(OrderedDict([("weight", torch.ones(2)), (evil, torch.ones(2))]), path)


def in_an_old_file(evil: Any, path: Path) -> None:
    torch.save({"weight": torch.ones(2), "more": evil}, path, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("kind", [Evil, EvilState])
@pytest.mark.parametrize("write", [plain_pickle, bare_pickle, among_tensors, as_key, in_an_old_file])
def test_rejects_files_with_code_without_running_it(
    tmp_path: Path, old: Path, kind: type[Evil], write: Callable[[Any, Path], None]
) -> None:
    mark = tmp_path / "was-run"
    write(kind(mark), old / "pytorch_model.bin")
    with pytest.raises(InputError, match="model-malformed"):
        convert_weights(old, tmp_path / "new")
    assert not mark.exists()
    assert not (tmp_path / "new").exists()


def test_marker_appears_with_plain_unpickling(tmp_path: Path) -> None:
    """Shows that the test above can fail: plain unpickling does run the code."""
    plain_pickle(Evil(tmp_path / "was-run"), tmp_path / "file")
    pickle.loads((tmp_path / "file").read_bytes())
    assert (tmp_path / "was-run").exists()


# Tests of rejecting damaged files, and files of other formats.


def content(value: Any) -> Callable[[Path], None]:
    return lambda folder: torch.save(value, folder / "pytorch_model.bin")


def index(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "pytorch_model.bin.index.json").write_text(text)


def data(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / "pytorch_model.bin"
        path.write_bytes(change(path.read_bytes()))

    return write


@pytest.mark.parametrize(
    "spoil",
    [
        data(lambda whole: whole[: len(whole) // 2]),
        data(lambda whole: b""),
        data(lambda whole: b"version https://git-lfs.github.com/spec/v1\n"),
        content([torch.ones(2)]),
        content({"weight": 1}),
        content({"weight": {"inner": torch.ones(2)}}),
        content({"weight": torch.ones(2).to_sparse()}),
        content({"weight": torch.ones(2), 3: "three"}),
        index("{"),
        index("[]"),
        index('{"weight_map": []}'),
        index('{"weight_map": {"weight": 1}}'),
        index('{"weight_map": {"weight": null}}'),
        index('{"weight_map": {"weight": "../other.bin"}}'),
        index('{"weight_map": {"weight": "/etc/passwd"}}'),
    ],
)
def test_rejects_other_files(tmp_path: Path, old: Path, spoil: Callable[[Path], object]) -> None:
    spoil(old)
    with pytest.raises(InputError, match="model-malformed"):
        convert_weights(old, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_rejects_folder_without_bin_files(tmp_path: Path, old: Path) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        convert_weights(tmp_path / "none", tmp_path / "new")
    index('{"weight_map": {"weight": "pytorch_model-1.bin"}}')(old)
    with pytest.raises(ConfigError, match="pytorch_model-1.bin"):
        convert_weights(old, tmp_path / "new")


def test_without_torch(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        convert_weights(old, tmp_path / "new")


# Tests of rejecting folders with links that point outside the folder.


@pytest.mark.parametrize("name", ["vocab.txt", "pytorch_model.bin", "pytorch_model.bin.index.json", "names/config.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_only_regular_files_of_the_folder_are_read(tmp_path: Path, old: Path, name: str, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")
    (old / name).unlink(missing_ok=True)
    (old / name).parent.mkdir(exist_ok=True)
    if kind == "link":
        (old / name).symlink_to(secret)
    else:
        os.mkfifo(old / name)
    with pytest.raises(InputError, match="model-outside"):
        convert_weights(old, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_rejects_expanded_tensors(tmp_path: Path, old: Path) -> None:
    """The file of an expanded tensor is small, but a copy of the tensor could take any amount of memory."""
    torch.save({"weight": torch.ones(1).expand(10**6, 10**6)}, old / "pytorch_model.bin")
    with pytest.raises(InputError, match="model-malformed"):
        convert_weights(old, tmp_path / "new")
