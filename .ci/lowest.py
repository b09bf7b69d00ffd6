"""Print the lower bound of every runtime dependency as a pin, to test these versions."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
optional = [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
for requirement in [*project["dependencies"], *optional]:
    if not requirement.startswith("onym["):  # an extra that has others in it
        print(requirement.replace(">=", "=="))
