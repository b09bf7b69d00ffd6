"""The configurations of all training stages: frozen, strict tables, first the shared ones, then those of each family.

No torch is needed to read them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from onym.config import Strict
from onym.detect.dictionary import DictionaryDetectorConfig as DictionaryConfig
from onym.models.device import Device

TrainingPrecision = Literal["auto", "fp32", "bf16", "bf16-weights"]
"""`bf16` casts at every operation; `bf16-weights` stores the weights so and updates a copy in fp32. `auto` is the fastest."""
Schedule = Literal["linear", "polynomial", "cosine", "constant", "constant_with_warmup"]
GenerativeStage = Literal["pretrain", "finetune", "prefer"]
EncoderStage = Literal["align", "match"]
CollectiveStage = Literal["collective"]
DetectorStage = Literal["detect"]
MentionsStage = Literal["mentions"]
RerankStage = Literal["rerank"]


def read_encoder_name(name: str) -> str:
    """Return the name of an encoder; empty if it is `none`, which means no encoder.

    >>> read_encoder_name("none"), read_encoder_name("granite")
    ('', 'granite')
    """
    return "" if name == "none" else name


class StartConfig(Strict):
    """The model to start from.

    `attention_dropout` is that of attention's weights, by default as `dropout`; without it an encoder trains in 0.6 of the
    time on a CPU.
    """

    model: str = Field(min_length=1)
    tokenizer: str = ""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float | None = Field(default=None, ge=0, lt=1)
    freeze_embeddings: bool = False


class DataConfig(Strict):
    """The training data. A dataset is a name or a folder; a knowledge base a folder, by default the dataset's own.

    The mentions of `exclude_splits` are left out, where a preparation has them in a training split too.
    """

    dataset: str = ""
    splits: tuple[str, ...] = ("train",)
    exclude_splits: tuple[str, ...] = ()
    kb: str = ""


class DevConfig(Strict):
    """The evaluation during training: recall@1, any-id, of the real linker on a sample of the mentions of a split.

    The best model by it is kept. Training stops after `patience` evaluations without improvement; 0 disables that.
    """

    split: str = "dev"
    kb: str = ""
    mentions: int = Field(default=300, ge=0)
    patience: int = Field(default=0, ge=0)


class OptimConfig(Strict):
    """The optimisation. `steps` counts updates of the weights; `batch_size` is that of one device.

    After every `eval_steps` steps the model is evaluated on dev and a checkpoint is written.
    """

    steps: int = Field(default=1000, ge=1)
    batch_size: int = Field(default=8, ge=1)
    gradient_accumulation: int = Field(default=1, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0)
    warmup_steps: int = Field(default=0, ge=0)
    schedule: Schedule = "polynomial"
    weight_decay: float = Field(default=0.01, ge=0)
    epsilon: float = Field(default=1e-8, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    max_grad_norm: float = Field(default=0.1, ge=0)
    device: Device = "auto"
    precision: TrainingPrecision = "auto"
    seed: int = 0
    eval_steps: int = Field(default=500, ge=1)


class NearestDevConfig(DevConfig):
    """The evaluation of embeddings: the right names are searched among `names` others, or among all with 0."""

    names: int = Field(default=20_000, ge=0)


class EpochOptimConfig(OptimConfig):
    """The optimisation of encoders. With `epochs`, the steps follow from the number of samples."""

    epochs: float = Field(default=0.0, ge=0)
    learning_rate: float = Field(default=2e-5, gt=0)
    schedule: Schedule = "constant"
    max_grad_norm: float = Field(default=0.0, ge=0)

    def with_steps_of(self, samples: int, per_step: int, rounding: Callable[[float], int] = int) -> Self:
        """Return the same with the steps of its epochs, if they are set; an epoch has so many `samples`."""
        if not self.epochs:
            return self
        return self.model_copy(update={"steps": max(1, rounding(self.epochs * samples / per_step))})


class RunConfig(Strict):
    """One training run of a model: a stage, and the tables that all of them have."""

    stage: str
    start: StartConfig
    optim: OptimConfig = OptimConfig()


class TrainingConfig(RunConfig):
    """One training run on a dataset, or on a knowledge base alone."""

    data: DataConfig = DataConfig()
    dev: DevConfig = DevConfig()


class CorporaConfig(Strict):
    """What is learnt from: the train splits of `datasets`, without documents of a dev or test split of these or of `exclude`.

    With `private`, datasets may be named whose annotations may not be passed on: what is trained then is for your own use.
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = Field(
        default=(), description="A dataset whose dev and test documents are not learnt from either."
    )
    private: bool = Field(
        default=False, description="Learn from annotations that may not be passed on; keep the result to yourself."
    )


class GenerativeStartConfig(StartConfig):
    """The seq2seq model to start from, and its input: a template, and a window of tokens around the mention."""

    template: str = "genbioel"
    window: int = Field(default=128, ge=8)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)


class GenerativeDataConfig(DataConfig):
    """The training data, and which names are targets."""

    target: Literal["similar", "short", "sampled"] = "similar"
    names: int = Field(default=1, ge=1, le=50)
    mention: Literal["random", "similar"] = "random"


class GenerativeDevConfig(DevConfig):
    """The evaluation, and how names are searched."""

    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"


class GenerativeOptimConfig(OptimConfig):
    """The optimisation, with label smoothing."""

    label_smoothing: float = Field(default=0.1, ge=0, lt=1)


class PreferConfig(Strict):
    """Preference optimisation on hard negatives: where wrong names come from, which pairs are kept, and the loss.

    In each of `rounds` one part of the mentions is decoded with the current model, which is also the reference of that round.
    """

    loss: Literal["dpo", "cpo", "simpo", "pairwise"] = "dpo"
    beta: float = Field(default=0.1, gt=0)
    gamma: float = Field(default=0.5, ge=0)
    alpha: float = Field(default=1.0, ge=0)
    score: Literal["", "sum", "mean"] = ""
    negatives: Literal["predictions", "similar"] = "predictions"
    rule: Literal["violating", "all"] = "violating"
    top_k: int = Field(default=5, ge=2, le=100)
    beam_width: int = Field(default=10, ge=2, le=100)
    rounds: int = Field(default=1, ge=1)
    epochs: float = Field(default=1.0, gt=0)


class GenerativeTrainingConfig(TrainingConfig):
    """One training run of a model that generates names.

    >>> GenerativeTrainingConfig.of({"stage": "finetune", "start": {"model": "m"}}).optim.batch_size
    8
    """

    stage: GenerativeStage
    start: GenerativeStartConfig
    data: GenerativeDataConfig = GenerativeDataConfig()
    dev: GenerativeDevConfig = GenerativeDevConfig()
    optim: GenerativeOptimConfig = GenerativeOptimConfig()
    prefer: PreferConfig = PreferConfig()


class EncoderStartConfig(StartConfig):
    """The encoder to start from. Pooling, similarity and length are the folder's own unless they are set."""

    pooling: Literal["cls", "mean", "mean-all"] | None = None
    similarity: Literal["dot", "cosine"] | None = None
    length: int | None = Field(default=None, ge=4)


class EncoderDataConfig(DataConfig):
    """The training data, and which strings make a positive pair.

    A concept contributes at most `max_pairs` pairs of names. A mention is paired with its most similar name with probability
    `similar`, else with any of its names. In `match`, `mix` is the share of pairs of names, and `hard_negatives` the number of
    wrong concepts added for each mention.
    """

    max_pairs: int = Field(default=50, ge=1)
    similar: float = Field(default=0.5, ge=0, le=1)
    mix: float = Field(default=0.0, ge=0, lt=1)
    hard_negatives: int = Field(default=0, ge=0, le=100)


class EncoderOptimConfig(EpochOptimConfig):
    """Optimiser settings; `batch_size` counts pairs."""

    batch_size: int = Field(default=256, ge=2)


class EncoderLossConfig(Strict):
    """The miner's margin, and alpha, beta and base of the multi-similarity loss, as in SapBERT's code.

    The contrastive loss is over all pairs of a batch; `scale` multiplies its similarities.
    """

    kind: Literal["multi-similarity", "contrastive"] = "multi-similarity"
    scale: float = Field(default=20.0, gt=0)
    margin: float = Field(default=0.2, ge=0)
    alpha: float = Field(default=1.0, gt=0)
    beta: float = Field(default=60.0, gt=0)
    base: float = 0.5


class EncoderTrainingConfig(TrainingConfig):
    """One training run of an encoder.

    >>> EncoderTrainingConfig.of({"stage": "align", "start": {"model": "m"}}).loss.margin
    0.2
    """

    stage: EncoderStage
    start: EncoderStartConfig
    data: EncoderDataConfig = EncoderDataConfig()
    dev: NearestDevConfig = NearestDevConfig()
    optim: EncoderOptimConfig = EncoderOptimConfig()
    loss: EncoderLossConfig = EncoderLossConfig()


class CollectiveStartConfig(StartConfig):
    """The encoder of documents to start from, and `names`, that of names, by default the same one.

    `represent` is the embedding of a mention: of its two ends, or the mean of its tokens. `detect` is how mentions are found,
    of at most `max_span_tokens` tokens. `freeze_names` leaves the encoder of names, and an index made with it, unchanged.
    """

    names: str = ""
    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    represent: Literal["ends", "mean"] = "ends"
    detect: Literal["none", "spans", "tags"] = "none"
    max_span_tokens: int = Field(default=20, ge=1, le=200)
    freeze_names: bool = False


class CollectiveDataConfig(DataConfig):
    """The training data, and the negatives of each mention: `hard_negatives`, mined, and `random_negatives`.

    The positive is the most similar name with probability `similar`. Hard negatives are mined among all names at the start, and
    after each epoch among the `pool` names that were nearest to the mention then.
    """

    exclude_splits: tuple[()] = ()  # documents are used whole: a mention that is left out would count as no mention
    similar: float = Field(default=0.5, ge=0, le=1)
    hard_negatives: int = Field(default=4, ge=0, le=100)
    random_negatives: int = Field(default=2, ge=0, le=100)
    pool: int = Field(default=256, ge=1, le=2000)


class CollectiveOptimConfig(EpochOptimConfig):
    """Optimiser settings; `batch_size` counts windows."""

    batch_size: int = Field(default=8, ge=2)


class CollectiveLossConfig(Strict):
    """The weights of detection and of linking, where 0 disables a task, and the scale of similarities."""

    detect: float = Field(default=1.0, ge=0)
    link: float = Field(default=1.0, ge=0)
    scale: float = Field(default=20.0, gt=0)


class CollectiveTrainingConfig(TrainingConfig):
    """One training run of a model that encodes whole documents.

    >>> CollectiveTrainingConfig.of({"stage": "collective", "start": {"model": "m"}}).data.pool
    256
    """

    stage: CollectiveStage = "collective"
    start: CollectiveStartConfig
    data: CollectiveDataConfig = CollectiveDataConfig()
    dev: NearestDevConfig = NearestDevConfig()
    optim: CollectiveOptimConfig = CollectiveOptimConfig()
    loss: CollectiveLossConfig = CollectiveLossConfig()


class DetectorStartConfig(StartConfig):
    """The encoder of documents to start from, how it reads them, and the layer over it.

    A mention has at most `max_span_tokens` tokens. `hidden` is the width of the layer before the labels; 0 is none.
    """

    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    max_span_tokens: int = Field(default=16, ge=1, le=200)
    hidden: int = Field(default=128, ge=0, le=10_000)


class DetectorDataConfig(CorporaConfig):
    """The corpora, and what their annotations are called.

    `types` names types of annotations anew, such as `SpecificDisease` as `Disease`; an empty name leaves a type out. With
    `conventions`, each corpus has labels of its own: what counts as a disease differs from one to another. Else a type has one
    label, and a corpus says nothing about types that it does not annotate.
    """

    types: dict[str, str] = Field(default_factory=dict)
    conventions: bool = True


class DetectorDevConfig(Strict):
    """The evaluation: F1 of spans with their types, as each corpus annotates them, on so many documents of each; 0 is none."""

    split: str = "dev"
    documents: int = Field(default=100, ge=0)
    patience: int = Field(default=0, ge=0)


class DetectorOptimConfig(EpochOptimConfig):
    """Optimiser settings; `batch_size` counts windows."""

    batch_size: int = Field(default=8, ge=2)


class DetectorTrainingConfig(RunConfig):
    """One training run of a detector.

    >>> DetectorTrainingConfig.of({"start": {"model": "m"}, "data": {"datasets": ["bc5cdr"]}}).start.hidden
    128
    """

    stage: DetectorStage = "detect"
    start: DetectorStartConfig
    data: DetectorDataConfig
    dev: DetectorDevConfig = DetectorDevConfig()
    optim: DetectorOptimConfig = DetectorOptimConfig()


class MentionsDataConfig(CorporaConfig):
    """The corpora, and the knowledge base whose names are looked for.

    `types` names types of annotations as the groups of the knowledge base, such as `SpecificDisease` as `Disease`; an empty
    name leaves a type out. What the dictionary finds of a type that a corpus does not annotate is left out. `only` are the
    groups or types of concepts that are looked for; empty means all.
    """

    types: dict[str, str] = Field(default_factory=dict)
    kb: str = Field(min_length=1)
    only: tuple[str, ...] = ()


class RegressionConfig(Strict):
    """The regression: with more `strength` its weights are larger."""

    strength: float = Field(default=1.0, gt=0)
    iterations: int = Field(default=300, ge=1)


class MentionsDevConfig(Strict):
    """The evaluation: F1 of the spans that are found on `split` of each dataset. The thresholds are tuned on it."""

    split: str = "dev"


class MentionsTrainingConfig(Strict):
    """One training run of a classifier of what the dictionary finds.

    >>> MentionsTrainingConfig.of({"data": {"datasets": ["bc5cdr"], "kb": "kb"}}).regression.strength
    1.0
    """

    stage: MentionsStage = "mentions"
    data: MentionsDataConfig
    dictionary: DictionaryConfig = DictionaryConfig()
    regression: RegressionConfig = RegressionConfig()
    dev: MentionsDevConfig = MentionsDevConfig()


class RerankDataConfig(CorporaConfig):
    """The corpora, and the knowledge base that they are linked to. Mentions of other `types` are dropped; empty means all."""

    types: tuple[str, ...] = ()
    kb: str = Field(min_length=1)


class PoolConfig(Strict):
    """The linkers whose candidates are pooled: TF-IDF, and dense with an `encoder`; `none` means no encoder."""

    encoder: Annotated[str, AfterValidator(read_encoder_name)] = ""
    index: str = "auto"


class TreesConfig(Strict):
    """Gradient boosting, with scikit-learn's meaning of each number."""

    iterations: int = Field(default=250, ge=1, le=5_000)
    learning_rate: float = Field(default=0.05, gt=0, le=1)
    max_leaves: int = Field(default=31, ge=2, le=1_024)
    max_depth: int = Field(default=8, ge=1, le=64)
    min_samples: int = Field(default=60, ge=1)
    feature_share: float = Field(default=0.3, gt=0, le=1)
    regularisation: float = Field(default=1.0, ge=0)
    without: tuple[str, ...] = ()
    seed: int = 0


class RerankDevConfig(Strict):
    """The evaluation: strict recall@1 on `split` of each dataset. With `calibrate`, confidences are fitted to its outcomes."""

    split: str = "dev"
    calibrate: bool = True


class RerankTrainingConfig(Strict):
    """One training run of a reranker. `trees.without` names groups of features that are left out, for ablations.

    >>> RerankTrainingConfig.of({"stage": "rerank", "data": {"datasets": ["bc5cdr"], "kb": "kb"}}).trees.max_leaves
    31
    """

    stage: RerankStage
    data: RerankDataConfig
    pool: PoolConfig = PoolConfig()
    trees: TreesConfig = TreesConfig()
    dev: RerankDevConfig = RerankDevConfig()


TrainingStage = GenerativeStage | EncoderStage | CollectiveStage | DetectorStage | MentionsStage | RerankStage
ModelConfig = GenerativeTrainingConfig | EncoderTrainingConfig | CollectiveTrainingConfig | DetectorTrainingConfig
AnyConfig = ModelConfig | MentionsTrainingConfig | RerankTrainingConfig
MODEL_CONFIGS: dict[str, type[ModelConfig]] = {
    "pretrain": GenerativeTrainingConfig,
    "finetune": GenerativeTrainingConfig,
    "prefer": GenerativeTrainingConfig,
    "align": EncoderTrainingConfig,
    "match": EncoderTrainingConfig,
    "collective": CollectiveTrainingConfig,
    "detect": DetectorTrainingConfig,
}
CONFIGS: dict[str, type[AnyConfig]] = {**MODEL_CONFIGS, "mentions": MentionsTrainingConfig, "rerank": RerankTrainingConfig}
