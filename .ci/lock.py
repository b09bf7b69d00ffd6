"""Print what pip would install as requirements with hashes, from its reports, which are the arguments.

torch is left out: its builds differ from machine to machine, so `.ci/run` names its version alone.
"""

import json
import sys
from pathlib import Path

OWN = ("onym", "torch")

rows = {
    each["metadata"]["name"].lower().replace("_", "-"): (
        each["metadata"]["version"],
        each["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256"),
    )
    for report in sys.argv[1:]
    for each in json.loads(Path(report).read_text())["install"]
}
for name, (version, digest) in sorted(rows.items()):
    if name not in OWN:
        print(f"{name}=={version} --hash=sha256:{digest}")
