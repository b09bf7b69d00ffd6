"""Fixtures shared by the tests and by the examples in docstrings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import pytest_randomly
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase

settings.register_profile("onym", deadline=None, database=InMemoryExampleDatabase(), print_blob=True)
settings.register_profile("gate", settings.get_profile("onym"), derandomize=True, database=None)
settings.register_profile("few", settings.get_profile("gate"), max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "onym"))
pytest_randomly.entrypoint_reseeds = []  # that of thinc asks for torch, which some tests take away


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by its nature: each test that needs a browser."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.slow)


TINY = """id\tname\tsynonyms\tdefinition\ttypes\txrefs
mesh:D009203\tMyocardial Infarction\tHeart attack|Infarct, myocardial|MI\tNecrosis of the myocardium.\tC14\tomim:608446
mesh:D005334\tFever\tPyrexia|Hyperthermia\t\tC23\t
mesh:D006973\tHypertension\tHigh blood pressure|MI\t\tC14\t
"""


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the cache of the tests out of the user's home; real models are shared with whoever set `ONYM_CACHE`."""
    folder = tmp_path_factory.mktemp("cache")
    if shared := os.environ.get("ONYM_CACHE"):
        models = Path(shared) / "models"
        models.mkdir(parents=True, exist_ok=True)
        (folder / "models").symlink_to(models.resolve())
    os.environ["ONYM_CACHE"] = str(folder)


@pytest.fixture(scope="session")
def tiny_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a knowledge base of three concepts."""
    from onym.kb.build import build_kb
    from onym.kb.recipe import Recipe, SourceConfig

    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.tsv").write_text(TINY)
    build_kb(Recipe(sources=(SourceConfig(path="tiny.tsv", name="tiny"),)), folder / "kb", root=folder)
    return folder / "kb"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real data; where it is absent the test is skipped, except in CI."""
    default = Path(__file__).parent / ".." / "shared" / "data"
    folder = Path(os.environ.get("ONYM_DATA") or default).resolve()
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the real data, and {folder} is not there")
        pytest.skip(f"the real data is not there: {folder}")
    return folder


@pytest.fixture(scope="session")
def real_models() -> Path:
    """Return the folder of real models and of the script that fetches more; absent ones are as absent data."""
    default = Path(__file__).parent / ".." / "shared" / "models"
    folder = Path(os.environ.get("ONYM_MODELS") or default).resolve()
    if not (folder / "get").is_file():
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the real models, and {folder} is not there")
        pytest.skip(f"the real models are not there: {folder}")
    return folder
