"""Print requirements with hashes from the pip reports given as arguments.

torch is left out: its builds differ between machines, so `.ci/environment` pins only its version.
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
