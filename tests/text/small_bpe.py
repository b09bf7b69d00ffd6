"""A byte-level BPE tokenizer like BART's, trained on a few sentences."""

from __future__ import annotations

from functools import cache

SENTENCES = [
    " the patient is a man with a heart attack and high blood pressure , and START fever END was seen .",
    " START myocardial infarction END is what START heart attack END is ; isoniazid is given in ischemia",
    " a rise of 12 % in the 1990s . it is (not) known what's wrong : don't",
] * 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


@cache
def tokenizer_json() -> bytes:
    """Return the tokenizer's file. It puts `<s>` and `</s>` around a text, as BART's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    fast = Tokenizer(models.BPE())
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    fast.train_from_iterator(SENTENCES, trainer)
    fast.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    text: str = fast.to_str()
    return text.encode()
