"""When the bytes of artefacts and models are hashed that this machine has hashed before."""

from typing import Literal

Verify = Literal["once", "full"]
"""`once`: on each machine once, and again where a file was touched. `full`: again at each opening, whatever is remembered."""
