"""Configurations of all training stages, as frozen pydantic models that reject unknown keys. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from onym.config import Strict
from onym.methods.dictionary.detector import DictionaryDetectorConfig as DictionaryConfig
from onym.methods.trees.leaf_masks import MAX_LEAVES
from onym.models.device import Device

TrainingPrecision = Literal["auto", "fp32", "bf16", "bf16-weights"]
"""`bf16`: autocast. `bf16-weights`: bf16 weights with an fp32 master copy. `auto`: the fastest on the device."""
Schedule = Literal["linear", "polynomial", "cosine", "constant", "constant_with_warmup"]
GenerativeStage = Literal["pretrain", "finetune", "prefer"]
EncoderStage = Literal["align", "match"]
CollectiveStage = Literal["collective"]
DetectorStage = Literal["detect"]
MentionsStage = Literal["mentions"]
RerankStage = Literal["rerank"]
StudentStage = Literal["student"]
GenesStage = Literal["genes"]
OrganismsStage = Literal["organisms"]


def read_encoder_name(name: str) -> str:
    """Return the encoder name; the name "none", which means no encoder, becomes "".

    >>> read_encoder_name("none"), read_encoder_name("granite")
    ('', 'granite')
    """
    return "" if name == "none" else name


class StartConfig(Strict):
    """The model to start from.

    `attention_dropout` applies to attention weights and defaults to `dropout`. Set it to 0 to train an encoder on a CPU in 40 %
    less time.
    """

    model: str = Field(min_length=1)
    tokenizer: str = ""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float | None = Field(default=None, ge=0, lt=1)
    freeze_embeddings: bool = False


class DataConfig(Strict):
    """The training data: a dataset (name or folder) and a knowledge base (folder; defaults to that of the dataset).

    Mentions in `exclude_splits` are left out of training, because in some published datasets the train split contains dev.
    """

    dataset: str = ""
    splits: tuple[str, ...] = ("train",)
    exclude_splits: tuple[str, ...] = ()
    kb: str = ""


class DevConfig(Strict):
    """The evaluation during training: any-id recall@1 of the linker on a sample of the mentions of a split.

    The best checkpoint is kept. Training stops after `patience` evaluations without improvement; 0 disables early stopping.
    """

    split: str = "dev"
    kb: str = ""
    mentions: int = Field(default=300, ge=0)
    patience: int = Field(default=0, ge=0)


class OptimConfig(Strict):
    """Optimiser settings. `steps` counts weight updates; `batch_size` is per device.

    Every `eval_steps` steps, the model is evaluated on dev and a checkpoint is written.
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
    """Evaluation by nearest-name search, among all names of the gold concepts plus `names` random others (0: all names)."""

    names: int = Field(default=20_000, ge=0)


class EpochOptimConfig(OptimConfig):
    """Optimiser settings of encoders. If `epochs` is set, `steps` is computed from the number of samples."""

    epochs: float = Field(default=0.0, ge=0)
    learning_rate: float = Field(default=2e-5, gt=0)
    schedule: Schedule = "constant"
    max_grad_norm: float = Field(default=0.0, ge=0)

    def with_steps_of(self, samples: int, per_step: int, rounding: Callable[[float], int] = int) -> Self:
        """Return a copy with `steps` computed from `epochs`, if set; `samples` is the number of samples in an epoch."""
        if not self.epochs:
            return self
        return self.model_copy(update={"steps": max(1, rounding(self.epochs * samples / per_step))})


class RunConfig(Strict):
    """One training run: the settings that all stages share."""

    stage: str
    start: StartConfig
    optim: OptimConfig = OptimConfig()


class TrainingConfig(RunConfig):
    """One training run on a dataset or, if no dataset is given, on a knowledge base."""

    data: DataConfig = DataConfig()
    dev: DevConfig = DevConfig()


class CorporaConfig(Strict):
    """The training data: the train splits of `datasets`.

    Documents that are also in the dev or test split of a dataset in `datasets` or `exclude` are left out.

    `private` allows datasets whose annotations may not be redistributed; do not share a model trained on them.
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = Field(
        default=(), description="A dataset whose dev and test documents are also left out of training."
    )
    private: bool = Field(
        default=False, description="Allow datasets that may not be redistributed; do not share the trained model."
    )


class GenerativeStartConfig(StartConfig):
    """The seq2seq model to start from, its input template, and the number of context tokens around the mention."""

    template: str = "genbioel"
    window: int = Field(default=128, ge=8)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)


class GenerativeDataConfig(DataConfig):
    """The training data, and how target names are chosen."""

    target: Literal["similar", "short", "sampled"] = "similar"
    names: int = Field(default=1, ge=1, le=50)
    mention: Literal["random", "similar"] = "random"


class GenerativeDevConfig(DevConfig):
    """The evaluation during training, and its decoding settings."""

    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"


class GenerativeOptimConfig(OptimConfig):
    """Optimiser settings, with label smoothing."""

    label_smoothing: float = Field(default=0.1, ge=0, lt=1)


class PreferConfig(Strict):
    """Preference optimisation on hard negatives: the source of wrong names, the pairs to keep, and the loss.

    The mentions are divided over `rounds`. In each round, the current model predicts names for the mentions of the
    round, and is also the reference model.
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
    """One training run of a generative model.

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
    """The encoder to start from. Pooling, similarity and length default to the settings in its folder."""

    pooling: Literal["cls", "mean", "mean-all"] | None = None
    similarity: Literal["dot", "cosine"] | None = None
    length: int | None = Field(default=None, ge=4)


class EncoderDataConfig(DataConfig):
    """The training data, and which strings make a positive pair.

    A concept contributes at most `max_pairs` pairs of names. A mention is paired with its most similar name with probability
    `similar`, else with a random name of its concept. In the `match` stage, `mix` is the share of name-name pairs, and
    `hard_negatives` the number of wrong concepts added per mention.
    """

    max_pairs: int = Field(default=50, ge=1)
    similar: float = Field(default=0.5, ge=0, le=1)
    mix: float = Field(default=0.0, ge=0, lt=1)
    hard_negatives: int = Field(default=0, ge=0, le=100)


class EncoderOptimConfig(EpochOptimConfig):
    """Optimiser settings; `batch_size` counts pairs."""

    batch_size: int = Field(default=256, ge=2)


class EncoderLossConfig(Strict):
    """The loss. `margin` (of the triplet miner), `alpha`, `beta` and `base` belong to the multi-similarity loss of SapBERT.

    `scale` belongs to the contrastive loss over all pairs of a batch: it multiplies the similarities.
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
    """The document encoder to start from, and the name encoder `names`, which defaults to the same model.

    `represent` sets how a mention is embedded: from its first and last token, or as the mean of its tokens. `detect` sets how
    mentions of up to `max_span_tokens` tokens are detected. `freeze_names` keeps the name encoder fixed, so that an existing
    index of names stays valid.
    """

    names: str = ""
    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    represent: Literal["ends", "mean"] = "ends"
    detect: Literal["none", "spans", "tags"] = "none"
    max_span_tokens: int = Field(default=20, ge=1, le=200)
    freeze_names: bool = False


class CollectiveDataConfig(DataConfig):
    """The training data, and the number of mined `hard_negatives` and of `random_negatives` per mention.

    The positive is the most similar name with probability `similar`, else a random name of the concept. At the start, the
    `pool` nearest of all names are found for each mention; after each epoch, hard negatives are chosen from that pool again.
    """

    exclude_splits: tuple[()] = ()  # not supported: excluded mentions would be trained as negatives
    similar: float = Field(default=0.5, ge=0, le=1)
    hard_negatives: int = Field(default=4, ge=0, le=100)
    random_negatives: int = Field(default=2, ge=0, le=100)
    pool: int = Field(default=256, ge=1, le=2000)


class CollectiveOptimConfig(EpochOptimConfig):
    """Optimiser settings; `batch_size` counts windows."""

    batch_size: int = Field(default=8, ge=2)


class CollectiveLossConfig(Strict):
    """Loss weights of detection and of linking (0 disables the task), and the scale of similarities."""

    detect: float = Field(default=1.0, ge=0)
    link: float = Field(default=1.0, ge=0)
    scale: float = Field(default=20.0, gt=0)


class CollectiveTrainingConfig(TrainingConfig):
    """One training run of a collective linker, which encodes whole documents.

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
    """The document encoder to start from, its windows, and the classification head.

    Mentions have at most `max_span_tokens` tokens. `hidden` is the size of the head's hidden layer; 0 means no hidden layer.
    """

    window: int = Field(default=256, ge=16)
    overlap: int = Field(default=64, ge=0)
    max_span_tokens: int = Field(default=16, ge=1, le=200)
    hidden: int = Field(default=128, ge=0, le=10_000)


class DetectorDataConfig(CorporaConfig):
    """The corpora, and how annotated types become labels.

    `types` renames annotated types, for example `SpecificDisease` to `Disease`; an empty name drops the type. With
    `conventions`, each corpus has its own labels, because annotation guidelines differ. Otherwise corpora share one label per
    type, and types that a corpus does not annotate are masked in the loss.
    """

    types: dict[str, str] = Field(default_factory=dict)
    conventions: bool = True


class DetectorDevConfig(Strict):
    """The evaluation: F1 of typed spans on up to `documents` documents of each corpus; 0 disables the evaluation."""

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


class NamedDataConfig(CorporaConfig):
    """The corpora, and the knowledge base whose names are looked up in them.

    `types` maps annotated types to semantic groups of the knowledge base, for example `SpecificDisease` to `Disease`; an empty
    name drops the type. `alike` maps semantic groups of names to the annotated group that may include them, for example
    `Phenotype` to `Disease`. `excerpts` is the number of excerpts of each document in which mentions have other names of the
    knowledge base (see `SwappedNames`).
    """

    types: dict[str, str] = Field(default_factory=dict)
    kb: str = Field(min_length=1)
    alike: dict[str, str] = Field(default_factory=dict)
    excerpts: int = Field(default=0, ge=0, le=100)


class MentionsDataConfig(NamedDataConfig):
    """The data of a classifier: dictionary matches of a type that a corpus does not annotate are ignored.

    `only` restricts the dictionary to these semantic groups or types; empty means all. Corpora in `partial` annotate only some
    mentions of the groups in `alike`, so the matches that they do not annotate teach their own convention only.
    """

    only: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


class RegressionConfig(Strict):
    """Logistic regression: `strength` is the inverse regularisation strength (scikit-learn's `C`)."""

    strength: float = Field(default=1.0, gt=0)
    iterations: int = Field(default=300, ge=1)


class MentionsDevConfig(Strict):
    """The evaluation: F1 of spans on `split` of each dataset. The thresholds are tuned on the same split."""

    split: str = "dev"


class MentionsTrainingConfig(Strict):
    """One training run of a classifier that filters dictionary matches.

    >>> MentionsTrainingConfig.of({"data": {"datasets": ["bc5cdr"], "kb": "kb"}}).regression.strength
    1.0
    """

    stage: MentionsStage = "mentions"
    data: MentionsDataConfig
    dictionary: DictionaryConfig = DictionaryConfig()
    regression: RegressionConfig = RegressionConfig()
    dev: MentionsDevConfig = MentionsDevConfig()


class RerankDataConfig(CorporaConfig):
    """The corpora, and the knowledge base to link to. Only mentions of these `types` are used; empty means all.

    `terms` is the number of names of the knowledge base that are used as further training mentions; half of them are preferred
    names.
    """

    types: tuple[str, ...] = ()
    kb: str = Field(min_length=1)
    terms: int = Field(default=10_000, ge=0)


class PoolConfig(Strict):
    """The linkers whose candidates are pooled: TF-IDF, and a dense linker if `encoder` is set (`none` means no encoder).

    With `skip_names`, they are not asked for mentions that are names, which is faster.
    """

    encoder: Annotated[str, AfterValidator(read_encoder_name)] = ""
    index: str = "auto"
    skip_names: bool = True


class TreesConfig(Strict):
    """Hyper-parameters of scikit-learn's HistGradientBoostingClassifier; `without` names feature groups to leave out."""

    iterations: int = Field(default=250, ge=1, le=1_000)
    learning_rate: float = Field(default=0.05, gt=0, le=1)
    max_leaves: int = Field(default=31, ge=2, le=MAX_LEAVES)
    max_depth: int = Field(default=8, ge=1, le=MAX_LEAVES - 1)
    min_samples: int = Field(default=60, ge=1)
    feature_share: float = Field(default=0.3, gt=0, le=1)
    regularisation: float = Field(default=1.0, ge=0)
    without: tuple[str, ...] = ()
    seed: int = 0


class RerankDevConfig(Strict):
    """The evaluation: strict recall@1 on `split` of each dataset. `calibrate` fits confidences on the same split.

    `follow_annotations` should be that of the linker which will use the reranker.
    """

    split: str = "dev"
    calibrate: bool = True
    follow_annotations: bool = True


class RerankTrainingConfig(Strict):
    """One training run of a reranker.

    >>> RerankTrainingConfig.of({"stage": "rerank", "data": {"datasets": ["bc5cdr"], "kb": "kb"}}).trees.max_leaves
    31
    """

    stage: RerankStage
    data: RerankDataConfig
    pool: PoolConfig = PoolConfig()
    trees: TreesConfig = TreesConfig()
    dev: RerankDevConfig = RerankDevConfig()


class GenesDataConfig(CorporaConfig):
    """The corpora, the knowledge base of genes to link to, and the annotated types of gene mentions."""

    types: tuple[str, ...] = ("Gene",)
    kb: str = Field(min_length=1)


class GenesTrainingConfig(Strict):
    """One training run of a gene linker, in `folds` parts: trees of the other parts give each part its species.

    >>> GenesTrainingConfig.of({"data": {"datasets": ["nlm-gene"], "kb": "genes"}}).folds
    4
    """

    stage: GenesStage = "genes"
    data: GenesDataConfig
    species_trees: TreesConfig = TreesConfig(iterations=150, learning_rate=0.08, min_samples=30, feature_share=0.5)
    trees: TreesConfig = TreesConfig(iterations=250, learning_rate=0.08, min_samples=30, feature_share=0.5)
    folds: int = Field(default=4, ge=2, le=20)


class OrganismsDataConfig(CorporaConfig):
    """The corpora, the knowledge base of species and cell lines to link to, and the annotated types of their mentions."""

    types: tuple[str, ...] = ("Species", "CellLine")
    kb: str = Field(min_length=1)


class OrganismsTrainingConfig(Strict):
    """One training run of an organism linker; the figures and the calibration are of a cross-validation in `folds` parts.

    >>> OrganismsTrainingConfig.of({"data": {"datasets": ["linnaeus"], "kb": "organisms"}}).folds
    4
    """

    stage: OrganismsStage = "organisms"
    data: OrganismsDataConfig
    trees: TreesConfig = TreesConfig(iterations=200, learning_rate=0.08, min_samples=20, feature_share=0.5)
    folds: int = Field(default=4, ge=2, le=20)


class NetworkConfig(Strict):
    """The sizes of a student: of the embeddings, of the tokens' vectors, and the number of convolutions."""

    dim: int = Field(default=48, ge=4, le=512)
    width: int = Field(default=96, ge=8, le=1_024)
    layers: int = Field(default=4, ge=1, le=24)


class StudentOptimConfig(Strict):
    """Optimiser settings; `batch_size` counts documents. Small corpora are read more often, until there are `min_steps` steps.

    `drop_words` and `drop_marks` are the shares of tokens whose word, or whose marks of names, are hidden in training.
    `average` is the decay of the moving average of the weights.
    """

    epochs: float = Field(default=24.0, gt=0, le=1_000)
    min_steps: int = Field(default=500, ge=0, le=1_000_000)
    batch_size: int = Field(default=16, ge=1)
    learning_rate: float = Field(default=2e-3, gt=0)
    warmup_steps: int = Field(default=200, ge=0)
    weight_decay: float = Field(default=0.01, ge=0)
    dropout: float = Field(default=0.25, ge=0, lt=1)
    drop_words: float = Field(default=0.05, ge=0, lt=1)
    drop_marks: float = Field(default=0.1, ge=0, lt=1)
    average: float = Field(default=0.998, ge=0, lt=1)
    seed: int = 0


class StudentDevConfig(Strict):
    """The evaluation: F1 of typed spans on `split` of each dataset. The thresholds are tuned on the same split."""

    split: str = "dev"


class TeachingConfig(Strict):
    """Soft labels: the probabilities of trained detectors for documents without annotations.

    `detectors` are folders of models trained by `onym train detect` or `onym train student`, whose probabilities are averaged.
    `documents` is a file or a folder of documents in any format that can be read; at most `limit` are used, and those of
    held-out splits are left out.
    """

    detectors: tuple[str, ...] = Field(min_length=1)
    documents: str = Field(min_length=1)
    limit: int = Field(default=5_000, ge=1)


class StudentTrainingConfig(Strict):
    """One training run of a student detector.

    >>> StudentTrainingConfig.of({"data": {"datasets": ["bc5cdr"], "kb": "kb"}}).network.width
    96
    """

    stage: StudentStage = "student"
    data: NamedDataConfig
    network: NetworkConfig = NetworkConfig()
    optim: StudentOptimConfig = StudentOptimConfig()
    dev: StudentDevConfig = StudentDevConfig()
    teaching: TeachingConfig | None = None


TrainingStage = (
    GenerativeStage
    | EncoderStage
    | CollectiveStage
    | DetectorStage
    | MentionsStage
    | RerankStage
    | StudentStage
    | GenesStage
    | OrganismsStage
)
ModelConfig = GenerativeTrainingConfig | EncoderTrainingConfig | CollectiveTrainingConfig | DetectorTrainingConfig
AnyConfig = (
    ModelConfig
    | MentionsTrainingConfig
    | RerankTrainingConfig
    | StudentTrainingConfig
    | GenesTrainingConfig
    | OrganismsTrainingConfig
)
MODEL_CONFIGS: dict[str, type[ModelConfig]] = {
    "pretrain": GenerativeTrainingConfig,
    "finetune": GenerativeTrainingConfig,
    "prefer": GenerativeTrainingConfig,
    "align": EncoderTrainingConfig,
    "match": EncoderTrainingConfig,
    "collective": CollectiveTrainingConfig,
    "detect": DetectorTrainingConfig,
}
CONFIGS: dict[str, type[AnyConfig]] = {
    **MODEL_CONFIGS,
    "mentions": MentionsTrainingConfig,
    "rerank": RerankTrainingConfig,
    "genes": GenesTrainingConfig,
    "organisms": OrganismsTrainingConfig,
    "student": StudentTrainingConfig,
}
