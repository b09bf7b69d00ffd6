"""What a training is told: frozen, strict, read from TOML, with presets for the rows of the papers' tables.

A configuration may build on a preset (`preset = "genbioel-ncbi"`); its own keys, then those given as `key=value`, win.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args, overload

from pydantic import Field

from onym.errors import ConfigError
from onym.store.config import Strict, parse_toml, read_toml

WritingStage = Literal["pretrain", "finetune", "prefer"]
"""Stages of a model that writes names."""
EncoderStage = Literal["align", "match"]
"""Stages of a model that makes vectors of names."""
DocumentStage = Literal["collective"]
"""The stage of a model that reads whole documents."""
Stage = WritingStage | EncoderStage | DocumentStage


class ModelConfig(Strict):
    """The model to begin with, as any stage is told of it."""

    model: str = Field(min_length=1)
    tokenizer: str = ""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    freeze_embeddings: bool = False


class StartConfig(ModelConfig):
    """The model to begin with: a folder, and how it reads and writes."""

    template: str = "genbioel"
    window: int = Field(default=128, ge=8)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)


class EncoderStartConfig(ModelConfig):
    """The encoder to begin with. Where pooling, similarity or length are not given, the folder's own count."""

    pooling: Literal["", "cls", "mean", "mean-all"] = ""
    similarity: Literal["", "dot", "cosine"] = ""
    length: int = Field(default=0, ge=0)


class ReaderStartConfig(ModelConfig):
    """The encoder of documents to begin with, and `names`, that of names, the same one by default; how documents are read.

    `represent` is a mention's vector: of its two ends, or the mean of its tokens. `detect` says how mentions are found, of at
    most `longest` tokens. With `freeze_names` the encoder of names stays as it is, and an index made with it.
    """

    names: str = ""
    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    represent: Literal["ends", "mean"] = "ends"
    detect: Literal["none", "spans", "tags"] = "none"
    longest: int = Field(default=20, ge=1, le=200)
    freeze_names: bool = False


class CorpusConfig(Strict):
    """What is learnt from. A benchmark is a name or a folder; a knowledge base a folder, or nothing for the benchmark's own.

    `without` are splits whose mentions are taken out of train, where a preparation put them in.
    """

    benchmark: str = ""
    splits: tuple[str, ...] = ("train",)
    without: tuple[str, ...] = ()
    kb: str = ""


class DataConfig(CorpusConfig):
    """What is learnt from, and which names are written."""

    target: Literal["similar", "shortest", "sampled"] = "similar"
    names: int = Field(default=1, ge=1, le=50)
    mention: Literal["random", "similar"] = "random"


class PairsConfig(CorpusConfig):
    """What is learnt from, and which strings make a pair.

    Of a concept no more than `most` pairs of names are taken. A mention goes with its most similar name in a share `similar` of
    all cases, else with any of its names. In `match`, `mix` is the share of pairs of names, and `hard` the number of wrong
    concepts that are put beside each mention.
    """

    most: int = Field(default=50, ge=1)
    similar: float = Field(default=0.5, ge=0, le=1)
    mix: float = Field(default=0.0, ge=0, lt=1)
    hard: int = Field(default=0, ge=0, le=100)


class RivalsConfig(CorpusConfig):
    """What is learnt from, and which names stand beside the right one: `hard` that are near and wrong, and `random` ones.

    The right name is the most similar one in a share `similar` of all cases. Near names are looked for among all names at the
    start, and anew after every epoch among the `pool` that were nearest to a mention then.
    """

    similar: float = Field(default=0.5, ge=0, le=1)
    hard: int = Field(default=4, ge=0, le=100)
    random: int = Field(default=2, ge=0, le=100)
    pool: int = Field(default=256, ge=1, le=2000)


class ScoreConfig(Strict):
    """The score that a training is watched by: recall@1, any-id, of the real linker on some mentions of a split.

    The best model by it is kept. After `patience` scores that are no better the training stops; 0 never stops it.
    """

    split: str = "dev"
    kb: str = ""
    mentions: int = Field(default=300, ge=0)
    patience: int = Field(default=0, ge=0)


class DevConfig(ScoreConfig):
    """The score of a model that writes names, and how it searches for them."""

    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"


class NearestConfig(ScoreConfig):
    """The score of an encoder. All names of the mentions' concepts are looked among, and `names` others, or all with 0."""

    names: int = Field(default=20_000, ge=0)


class StepsConfig(Strict):
    """How the weights are moved. `steps` count updates of the weights; `batch` samples are seen by each on one device.

    After `every` so many steps there is a score on dev and a checkpoint. `precision`: `bf16` casts at every operation;
    `bf16-weights` keeps the weights so, with a copy in fp32 that is moved: faster on a CPU, and not for FSDP.
    """

    steps: int = Field(default=1000, ge=1)
    batch: int = Field(default=8, ge=1)
    accumulation: int = Field(default=1, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0)
    warmup: int = Field(default=0, ge=0)
    schedule: Literal["linear", "polynomial", "cosine", "constant", "constant_with_warmup"] = "polynomial"
    weight_decay: float = Field(default=0.01, ge=0)
    epsilon: float = Field(default=1e-8, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    clip: float = Field(default=0.1, ge=0)
    precision: Literal["fp32", "bf16", "bf16-weights"] = "bf16"
    seed: int = 0
    every: int = Field(default=500, ge=1)


class OptimConfig(StepsConfig):
    """How the weights of a model that writes names are moved."""

    smoothing: float = Field(default=0.1, ge=0, lt=1)


class EncoderOptimConfig(StepsConfig):
    """How the weights of an encoder are moved. With `epochs`, the steps are counted from the number of pairs."""

    epochs: float = Field(default=0.0, ge=0)
    batch: int = Field(default=256, ge=2)
    learning_rate: float = Field(default=2e-5, gt=0)
    schedule: Literal["linear", "polynomial", "cosine", "constant", "constant_with_warmup"] = "constant"
    clip: float = Field(default=0.0, ge=0)


class PreferConfig(Strict):
    """Learning from mistakes: where the wrong names come from, which pairs are kept, and the loss.

    In each of `rounds` the mentions of one part of the corpus are decoded with the model as it then is, which is also the
    reference of that round.
    """

    loss: Literal["dpo", "cpo", "simpo", "pairwise"] = "dpo"
    beta: float = Field(default=0.1, gt=0)
    gamma: float = Field(default=0.5, ge=0)
    alpha: float = Field(default=1.0, ge=0)
    score: Literal["", "sum", "mean"] = ""
    negatives: Literal["predictions", "similar"] = "predictions"
    rule: Literal["violating", "all"] = "violating"
    top: int = Field(default=5, ge=2, le=100)
    width: int = Field(default=10, ge=2, le=100)
    rounds: int = Field(default=1, ge=1)
    epochs: float = Field(default=1.0, gt=0)


class AlignLossConfig(Strict):
    """The miner's margin, and alpha, beta and base of the multi-similarity loss; as in SapBERT's code.

    Of the contrastive loss, over all pairs of a batch, `scale` is what similarities are multiplied by.
    """

    kind: Literal["multi-similarity", "contrastive"] = "multi-similarity"
    scale: float = Field(default=20.0, gt=0)
    margin: float = Field(default=0.2, ge=0)
    alpha: float = Field(default=1.0, gt=0)
    beta: float = Field(default=60.0, gt=0)
    base: float = 0.5


class CollectiveLossConfig(Strict):
    """The weights of finding and of linking, of which 0 leaves one out, and what similarities are multiplied by."""

    detect: float = Field(default=1.0, ge=0)
    link: float = Field(default=1.0, ge=0)
    scale: float = Field(default=20.0, gt=0)


class TrainConfig(Strict):
    """A whole training of a model that writes names.

    >>> TrainConfig.of({"stage": "finetune", "start": {"model": "m"}}).optim.batch
    8
    """

    stage: WritingStage
    start: StartConfig
    data: DataConfig = DataConfig()
    dev: DevConfig = DevConfig()
    optim: OptimConfig = OptimConfig()
    prefer: PreferConfig = PreferConfig()


class AlignConfig(Strict):
    """A whole training of an encoder.

    >>> AlignConfig.of({"stage": "align", "start": {"model": "m"}}).loss.margin
    0.2
    """

    stage: EncoderStage
    start: EncoderStartConfig
    data: PairsConfig = PairsConfig()
    dev: NearestConfig = NearestConfig()
    optim: EncoderOptimConfig = EncoderOptimConfig()
    loss: AlignLossConfig = AlignLossConfig()


class CollectiveConfig(Strict):
    """A whole training of a model that reads documents.

    >>> CollectiveConfig.of({"stage": "collective", "start": {"model": "m"}}).data.pool
    256
    """

    stage: DocumentStage = "collective"
    start: ReaderStartConfig
    data: RivalsConfig = RivalsConfig()
    dev: NearestConfig = NearestConfig()
    optim: EncoderOptimConfig = EncoderOptimConfig(batch=8)
    loss: CollectiveLossConfig = CollectiveLossConfig()


AnyConfig = TrainConfig | AlignConfig | CollectiveConfig


@overload
def read_config(
    stage: WritingStage, path: Path | None, preset: str = "", settings: Sequence[str] = ()
) -> TrainConfig: ...  # pragma: no cover


@overload
def read_config(
    stage: EncoderStage, path: Path | None, preset: str = "", settings: Sequence[str] = ()
) -> AlignConfig: ...  # pragma: no cover


@overload
def read_config(
    stage: DocumentStage, path: Path | None, preset: str = "", settings: Sequence[str] = ()
) -> CollectiveConfig: ...  # pragma: no cover


def read_config(stage: Stage, path: Path | None, preset: str = "", settings: Sequence[str] = ()) -> AnyConfig:
    """Return the configuration of a stage: a preset, over it a file, over both settings such as `optim.steps=100`.

    >>> read_config("finetune", None, "genbioel-ncbi", ["start.model=here", "optim.steps=5"]).optim.learning_rate
    3e-07
    """
    own = read_toml(path) if path else {}
    named = str(own.pop("preset", preset) or preset)
    values = merged(preset_named(named) if named else {}, own)
    for setting in settings:
        values = merged(values, _setting(setting))
    if values.setdefault("stage", stage) != stage:
        what = f"the configuration is for `onym train {values['stage']}`, not for {stage}"
        raise ConfigError("config-invalid", what, where=str(path or named), fix=f"onym train {values['stage']}")
    return config_of(stage).of(values, str(path or named), fix="docs/reference/training.md lists every key")


def config_of(stage: str) -> type[AnyConfig]:
    """Return the kind of configuration that a stage has.

    >>> config_of("align").__name__
    'AlignConfig'
    """
    if stage in get_args(EncoderStage):
        return AlignConfig
    return CollectiveConfig if stage in get_args(DocumentStage) else TrainConfig


def presets() -> list[str]:
    """Return the names of all presets.

    >>> "angel-bc5cdr-negative" in presets()
    True
    """
    return sorted(file.name.removesuffix(".toml") for file in _PRESETS.iterdir() if file.name.endswith(".toml"))


def preset_named(name: str) -> dict[str, Any]:
    """Return the values of a preset."""
    return parse_toml(preset_text(name).encode(), name)


def preset_text(name: str) -> str:
    """Return a preset as it is written."""
    if name not in presets():
        raise ConfigError("config-invalid", f"no preset is named {name!r}", fix=f"known are {', '.join(presets())}")
    return (_PRESETS / f"{name}.toml").read_text("utf-8")


_PRESETS = files("onym.train") / "presets"


def _setting(setting: str) -> dict[str, Any]:
    key, equals, value = setting.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError("config-invalid", f"{setting!r} is no setting", fix="write key=value, as in optim.steps=100")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value  # a word needs no quotes
    for part in reversed(parts):
        parsed = {part: parsed}
    return dict(parsed)


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return values with others put over them, table by table.

    >>> merged({"optim": {"steps": 5, "batch": 2}}, {"optim": {"steps": 9}})
    {'optim': {'steps': 9, 'batch': 2}}
    """
    values = dict(below)
    for key, value in above.items():
        old = values.get(key)
        values[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return values
