"""Check what a stranger reads in the first hour: the help, the extras, the README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.robustness.stumbles.rows import Scene, stumble

_ROOT = Path(__file__).parents[3]
_GROUPS = ("Link", "Set up", "Train, score", "Scale", "Curate")
_PAPERS = ("2204.05164", "2408.16493", "2010.11784", "2103.05028")


@stumble("onym --help: a flat list of 28 commands")
def help_has_five_groups_in_twenty_lines(scene: Scene) -> str:
    lines = scene.onym("--help", COLUMNS="80").stdout.splitlines()
    assert len(lines) <= 20, lines
    assert [group for group in _GROUPS if any(line.startswith(f"{group}  ") for line in lines)] == list(_GROUPS)
    assert "onym corpus" in scene.onym("advanced").stdout
    assert scene.onym("corpus", "--help").status == 0
    return f"five groups in {len(lines)} lines; onym advanced lists the rest"


@stumble("onym link --help")
def help_of_link_has_twenty_options(scene: Scene) -> str:
    shown, full = (scene.onym("link", option, COLUMNS="80").stdout for option in ("--help", "--help-all"))
    options = re.findall(r"^│ (--[a-z-]+)", shown, re.MULTILINE)
    assert 10 <= len(options) <= 20, options
    assert len(re.findall(r"^│ (?:\*  )?--[a-z-]+", full, re.MULTILINE)) > len(options)
    return f"{len(options)} options, and --help-all shows the others"


@stumble("pip install 'onym[generative,dense]': twelve extras")
def there_are_at_most_eight_extras(_scene: Scene) -> str:
    extras = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert len(extras) <= 8, sorted(extras)
    assert extras["all"] == [f"onym[{','.join(name for name in extras if name != 'all')}]"]
    return ", ".join(extras)


@stumble("README.md and the home page: a knowledge base to build, and no paper named")
def first_screen_begins_with_the_starter_and_names_four_papers(scene: Scene) -> str:
    for page in ("README.md", "docs/index.md"):
        text = (_ROOT / page).read_text("utf-8")
        assert len(text.splitlines()) <= 75
        assert [paper for paper in _PAPERS if f"https://arxiv.org/abs/{paper}" not in text] == []
        install, link = re.findall(r"^\$ (.+)$", text, re.MULTILINE)[:2]
        assert install == "pip install onym"
        (words,) = re.findall(r'^onym link "(.+)"$', link)
        (table, *_) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        assert [line.split() for line in table.splitlines()] == [line.split() for line in _table(scene, words)]
        assert text.index("$ pip install onym") < text.index('onym.load("starter")') < text.index("| linker | paper |")
    return "pip install, a command with the table that it prints on a terminal, Python, four papers"


def _table(scene: Scene, text: str) -> list[str]:
    """Return the table that `onym link` prints on a terminal for a text, without notices and progress."""
    lines = scene.terminal("link", text).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("text "))
    return lines[first:]
