"""t-SNE plots of the name embeddings of some concepts, one panel per encoder, e.g. before and after training.

Modelled on figure 1 of the SapBERT paper. Concepts and names are sampled from the knowledge base without using an encoder, so
that the sample favours none of the encoders. All vectors are compared by cosine similarity, whatever measure their model uses,
so that the panels are comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, missing_extra
from onym.evaluate.names_plot import Format, Panel, Points, names_plot
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.store.models import folder_of
from onym.text.similarity import NameSimilarity
from onym.types import Progress, silent

if TYPE_CHECKING:
    from onym.models.torch_encoder import Encoder

Vectors = npt.NDArray[np.float32]

MIN_NAMES = 5
"""The minimum number of names of a sampled concept."""
MAX_CONCEPTS = 40
MAX_NAMES = 20
"""The maximum number of names shown per concept."""
_FAMILY = 4  # concepts sampled together: a random concept and its 3 most similar concepts
_POOL = 4_000  # maximum number of concepts among which similar concepts are searched
_PERPLEXITY = 30.0  # default perplexity of t-SNE
MAX_MODELS = 3
FORMATS: dict[str, Format] = {".png": "png", ".svg": "svg"}


@dataclass(frozen=True, slots=True)
class NameChoice:
    """The names to plot. `owners` holds for each name the index of its concept in `concepts`.

    `labels` are the preferred names of the concepts. `shared` counts names left out because several of these concepts have
    them; `over` counts names left out because their concept has more than `MAX_NAMES` names.
    """

    concepts: tuple[int, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...]
    owners: npt.NDArray[np.int64]
    shared: int = 0
    over: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """A note for the plot: the numbers of concepts and names shown, and of names left out."""
        shown = {"concepts": len(self.concepts), "names": len(self.names)}
        return {**shown, "names_of_several_concepts": self.shared, "names_over_the_limit": self.over}


def sample_concepts(kb: KnowledgeBase, count: int, *, seed: int = 0, only: ConceptMask | None = None) -> list[int]:
    """Sample up to `count` concepts with at least `MIN_NAMES` names: random concepts, each with its most similar concepts.

    Similar concepts are included because even a bad encoder can separate unrelated concepts.
    """
    kb.require_intact()
    numbers = np.diff(kb.concept_terms.astype(np.int64))
    is_rich = numbers >= MIN_NAMES if only is None else (numbers >= MIN_NAMES) & only
    rich = np.flatnonzero(is_rich)
    if len(rich) < 2:
        what = f"a plot needs 2 concepts with at least {MIN_NAMES} names, found {len(rich):,}"
        raise ConfigError(
            "names-too-few", what, where=str(kb.folder), fix="list the concepts to plot in a file with --concepts"
        )
    pool = np.random.default_rng(seed).permutation(rich)[:_POOL].tolist()
    texts = [" ".join(kb.names[int(name)] for name in kb.names_of(concept)) for concept in pool]
    return [pool[row] for row in _families(texts, min(count, len(pool)))]


def _families(texts: list[str], count: int) -> list[int]:
    """Return the rows of `count` texts: the first text with its most similar texts, then the next unused text, and so on."""
    similarity = NameSimilarity(texts)
    taken: dict[int, None] = {}
    for row, text in enumerate(texts):
        if len(taken) >= count:
            break
        if row not in taken:
            near = similarity.top([text], count + _FAMILY)[0][0].tolist()
            family = [row, *(other for other in near if other != row and other not in taken)]
            taken |= dict.fromkeys(family[:_FAMILY])
    return list(taken)[:count]


def choose_names(kb: KnowledgeBase, concepts: Iterable[int], *, seed: int = 0) -> NameChoice:
    """Return the names of these concepts; names shared by several of them are skipped.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> choice = choose_names(kb, range(3))
    >>> choice.labels, choice.shared
    (('Fever', 'Hypertension', 'Myocardial Infarction'), 1)
    >>> choice.names[:3], choice.owners.tolist()
    (('fever', 'pyrexia', 'hyperthermia'), [0, 0, 0, 1, 1, 2, 2, 2])
    """
    concepts = tuple(concepts)
    if len(concepts) > MAX_CONCEPTS:
        what = f"cannot plot {len(concepts):,} concepts; the maximum is {MAX_CONCEPTS}"
        raise ConfigError("config-invalid", what, fix="list fewer concepts")
    of_each = [list(dict.fromkeys(kb.names_of(concept).tolist())) for concept in concepts]
    is_of = np.bincount(np.array([name for names in of_each for name in names], dtype=np.int64), minlength=1)
    random = np.random.default_rng(seed)
    own = [[name for name in names if is_of[name] == 1] for names in of_each]
    shown = [_some(names, random) for names in own]
    owners = np.repeat(np.arange(len(concepts)), [len(names) for names in shown])
    if len(owners) < MIN_NAMES or len(np.unique(owners)) < 2:
        what = f"too few names to plot: {len(owners):,} names of {len(np.unique(owners)):,} concepts"
        raise ConfigError("names-too-few", what, where=str(kb.folder), fix="list more concepts, or concepts with more names")
    return NameChoice(
        concepts=concepts,
        labels=tuple(kb.preferred_form(concept) for concept in concepts),
        names=tuple(kb.names[name] for names in shown for name in names),
        owners=owners,
        shared=int((is_of > 1).sum()),
        over=sum(map(len, own)) - len(owners),
    )


def _some(names: list[int], random: np.random.Generator) -> list[int]:
    """Return at most `MAX_NAMES` names: the first name, and a random sample of the other names in their order."""
    if len(names) <= MAX_NAMES:
        return names
    rest = random.choice(len(names) - 1, MAX_NAMES - 1, replace=False) + 1
    return [names[0], *(names[row] for row in sorted(rest.tolist()))]


def share_together(vectors: Vectors, owners: npt.NDArray[np.int64]) -> float:
    """Return the share of names whose nearest other name belongs to the same concept; ties do not count.

    A tie means that a name of another concept is equally near. Concepts with a single name are ignored.

    >>> vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.8, 0.2]], dtype=np.float32)
    >>> share_together(vectors, np.array([0, 0, 1, 1]))
    0.75
    """
    unit = unit_vectors(vectors)
    similarity = np.round(unit @ unit.T, 6)  # rounded, so that identical vectors have exactly the same similarity
    np.fill_diagonal(similarity, -np.inf)
    is_same = owners[:, None] == owners[None, :]
    best_same = np.where(is_same, similarity, -np.inf).max(1)
    best_other = np.where(is_same, -np.inf, similarity).max(1)
    counts = np.isfinite(best_same)
    return float((best_same > best_other)[counts].mean()) if counts.any() else 0.0


def points_of(vectors: Vectors, seed: int = 0) -> Points:
    """Project vectors to two dimensions with t-SNE: (names, dim) -> (names, 2).

    Deterministic for a seed: t-SNE runs in one thread, because it amplifies the rounding differences of parallel sums.
    """
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError as e:
        raise missing_extra("plotting names", "train") from e
    unit = unit_vectors(vectors)
    if np.allclose(unit, unit[0]):
        return np.zeros((len(unit), 2))  # t-SNE fails if all vectors are equal
    tsne: Any = TSNE(perplexity=perplexity(len(unit)), init="pca", random_state=seed, n_jobs=1)
    with threadpool_limits(limits=1):
        return np.asarray(tsne.fit_transform(unit), dtype=np.float64)


def perplexity(names: int) -> float:
    """Return the t-SNE perplexity: 30 by default, less for fewer than 91 names.

    >>> perplexity(200), perplexity(10)
    (30.0, 3.0)
    """
    return min(_PERPLEXITY, (names - 1) / 3)


def unit_vectors(vectors: Vectors) -> Vectors:
    """Normalise vectors to length 1; zero vectors are left unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot as the bytes of its file, and the configuration and `share_together` of each encoder."""

    data: bytes
    shares: tuple[tuple[dict[str, Any], float], ...]


def format_of(path: Path) -> Format:
    """Return the image format for a file name.

    >>> format_of(Path("names.PNG"))
    'png'
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        what = f"unsupported image format {path.suffix!r}"
        raise ConfigError("config-invalid", what, where=str(path), fix=f"use a file name ending in {' or '.join(FORMATS)}")
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
    """Encode the names with each model and draw one panel per model.

    A model is a folder or, with `download`, a name on the Hugging Face hub. Vectors are computed in fp32, so that the plot
    depends on the machine as little as possible.
    """
    if not 1 <= len(models) <= MAX_MODELS:
        what = f"cannot plot {len(models):,} models side by side"
        raise ConfigError("config-invalid", what, fix=f"give one to {MAX_MODELS} models")
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
    """Return a panel title per model: the folder name, with as many parent folders as are needed for different titles.

    Models that are not folders are hub names, and are returned unchanged.

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
        raise missing_extra("an encoder", "models") from e
    return Encoder.open(folder_of(model, download=download), precision="fp32", device=device, name=name)
