"""Tokenizers trained on the bundled sentences."""

from common.command import UserError

from .sentences import labelled

try:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError:
    raise UserError("the package `tokenizers` is missing: pip install tokenizers") from None


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def wordpiece(size=600):
    """BERT's: lower case, words in pieces, [CLS] before and [SEP] after."""
    learning = _pieces(models.WordPiece(unk_token="[UNK]"))
    # Pieces that continue a word are numbered before training: it would number them in no certain order, by which it breaks ties.
    letters = sorted({f"##{letter}" for _, text in labelled() for letter in text.lower() if letter.isalpha()})
    _train(learning, trainers.WordPieceTrainer(vocab_size=size, special_tokens=SPECIAL + letters, show_progress=False))
    tokenizer = _pieces(models.WordPiece(learning.get_vocab(), unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.decoder = decoders.WordPiece()
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends)
    return tokenizer


def _pieces(model):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def byte_level(size=600):
    """Llama 3's: pairs of bytes, `<|begin|>` before."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|begin|>", "<|end|>"]
    _train(tokenizer, trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    begin = [("<|begin|>", tokenizer.token_to_id("<|begin|>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=begin)
    return tokenizer


def _train(tokenizer, trainer):
    tokenizer.train_from_iterator([text for _, text in labelled()], trainer)
