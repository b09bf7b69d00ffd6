"""Print the lower bound of every runtime dependency as a pin, to prove that the bounds hold."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    print(requirement.replace(">=", "=="))
