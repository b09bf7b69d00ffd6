"""From a knowledge base and encoders to a picture of names: before and after a training, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onym.errors import ConfigError, missing_extra
from onym.evaluate.names.choice import NameChoice
from onym.evaluate.names.nearness import perplexity, points_of, share_together
from onym.evaluate.names.plot import Format, Panel, names_plot
from onym.store.models import folder_of
from onym.types import Progress, silent

if TYPE_CHECKING:
    from onym.models.torch_encoder import Encoder

MAX_MODELS = 3
FORMATS: dict[str, Format] = {".png": "png", ".svg": "svg"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, as the bytes of its file, and the figures in it: a share for each model, with what the vectors depend on."""

    data: bytes
    shares: tuple[tuple[dict[str, Any], float], ...]


def format_of(path: Path) -> Format:
    """Return the format that a file's name asks for.

    >>> format_of(Path("names.PNG"))
    'png'
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        what = f"a picture is written as {' or '.join(FORMATS)}"
        raise ConfigError("config-invalid", what, where=str(path), fix="give the file one of these endings")
    return kind


def draw_names(
    choice: NameChoice,
    models: Sequence[str],
    kind: Format = "png",
    *,
    seed: int = 0,
    download: bool = False,
    device: str = "auto",
    progress: Progress = silent,
) -> Picture:
    """Encode the names with each model, and draw a panel for each. A model is a folder, or with `download` a name on the hub.

    Vectors are computed in full precision, so that the picture does not depend on the machine more than it must.
    """
    if not 1 <= len(models) <= MAX_MODELS:
        what = f"{len(models):,} models do not fit side by side"
        raise ConfigError("config-invalid", what, fix=f"name one to {MAX_MODELS} models")
    panels, shares = [], []
    for model, title in zip(models, titles(models), strict=True):
        encoder = _open_encoder(model, title, download=download, device=device)
        vectors = encoder.encode(choice.names, progress=partial(progress, title))
        panels.append(Panel(title, points_of(vectors, seed), share_together(vectors, choice.owners)))
        shares.append((encoder.config, panels[-1].share))
    note = (
        f"{len(choice.names):,} names of {len(choice.concepts):,} concepts, by cosine; "
        f"t-SNE, perplexity {perplexity(len(choice.names)):.0f}, seed {seed}"
    )
    return Picture(names_plot(panels, choice.labels, choice.owners, note, kind), tuple(shares))


def titles(models: Sequence[str]) -> list[str]:
    """Return what to call the models: a folder by its name, with as much of its path as makes the names differ.

    What is no folder is a name on the hub, and stays what it is.

    >>> titles(["cambridgeltl/SapBERT", str(getfixture("tmp_path"))])[0]
    'cambridgeltl/SapBERT'
    """
    parts = [Path(model).resolve().parts if Path(model).exists() else (model,) for model in models]
    different = len(set(parts))
    for length in range(1, max(map(len, parts)) + 1):
        found = ["/".join(each[-length:]) for each in parts]
        if len(set(found)) == different:
            break
    return found


def _open_encoder(model: str, name: str, *, download: bool, device: str) -> Encoder:
    try:
        from onym.models.torch_encoder import Encoder
    except ImportError as e:
        raise missing_extra("an encoder", "dense") from e
    return Encoder.open(folder_of(model, download=download), precision="fp32", device=device, name=name)
