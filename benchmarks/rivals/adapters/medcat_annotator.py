"""MedCAT over a concept database (CDB) of the knowledge base, with the tokenizer of its core package.

Its vocabularies with word vectors are not in a registry, so one is made from PubMed abstracts with gensim, as its documentation
describes. `unsupervised` trains on these abstracts, `supervised` then on the annotated documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gensim.models import Word2Vec
from medcat.cat import CAT
from medcat.cdb import CDB
from medcat.config import Config
from medcat.model_creation.cdb_maker import CDBMaker
from medcat.vocab import Vocab

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve

_WORD = re.compile(r"[a-z0-9]+")
_SIZE, _RARE, _SEED = 100, 5, 1


def prepare(job: Job) -> None:
    """Make the CDB and the vocabulary, and train them: `unsupervised`, and from that `supervised`."""
    base, folder = Path(job["kb"]), Path(job["derived"])
    config = Config()
    config.general.nlp.provider = "regex"
    cdb: CDB = CDBMaker(config).prepare_csvs([str(base / "cdb.csv")], full_build=False)
    texts = (base / "abstracts.txt").read_text("utf-8").splitlines()
    cat = CAT(cdb=cdb, vocab=_make_vocab(texts), config=config)
    cat.trainer.train_unsupervised(texts)
    cat.save_model_pack(str(folder), pack_name="unsupervised", add_hash_to_pack_name=False)
    training = base / "training.json"
    if training.exists():
        cat.trainer.train_supervised_raw(json.loads(training.read_bytes()), nepochs=1)
        cat.save_model_pack(str(folder), pack_name="supervised", add_hash_to_pack_name=False)


def _make_vocab(texts: Sequence[str]) -> Vocab:
    words = [_WORD.findall(text.lower()) for text in texts]
    model = Word2Vec(words, vector_size=_SIZE, min_count=_RARE, workers=1, seed=_SEED)
    vocab = Vocab()
    for word in model.wv.index_to_key:
        vocab.add_word(word, cnt=int(model.wv.get_vecattr(word, "count")), vec=model.wv[word])
    vocab.init_cumsums()
    return vocab


def open_tool(job: Job) -> Tool:
    """Load a model pack; `similarity_threshold` replaces the default of the linker."""
    settings = job["settings"]
    cat: Any = CAT.load_model_pack(str(Path(job["derived"]) / f"{settings['pack']}.zip"))
    if "similarity_threshold" in settings:
        cat.config.components.linking.similarity_threshold = settings["similarity_threshold"]

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            found = cat.get_entities(request["text"])["entities"].values()
            yield [(each["start"], each["end"], [(each["cui"], each["acc"])]) for each in found]

    return link


if __name__ == "__main__":
    serve(open_tool, prepare)
