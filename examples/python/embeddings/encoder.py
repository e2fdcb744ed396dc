"""Sentences to vectors: tokens, batches of like lengths, the model, pooling."""

import opforge as torch
from common.command import UserError
from common.folder import read_tokenizer

from . import bert, pooling


class Encoder:
    """The model of a folder with its tokenizer and its pooling."""

    def __init__(self, folder, dtype=torch.float32):
        self.model, self.config = bert.load(folder, dtype)
        self.compiled = torch.compile(self.model)
        self.tokenizer = read_tokenizer(folder)
        self.pooling = pooling.read_pooling(folder)
        self.text = pooling.read_text_settings(folder)
        self.max_tokens = min(self.text.max_tokens, self.config.max_position_embeddings)

    def tokens(self, lines, truncate=False, name="line {}"):
        """The ids of each line. One that is too long is an error, in which `name` tells which one, or cut with `truncate`."""
        if self.text.do_lower_case:
            lines = [line.lower() for line in lines]
        if truncate:
            self.tokenizer.enable_truncation(self.max_tokens)
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(lines)]
        self.tokenizer.no_truncation()
        for number, line in enumerate(ids, 1):
            if len(line) > self.max_tokens:
                raise UserError(f"{name.format(number)} has {len(line)} tokens, the model takes {self.max_tokens}; --truncate cuts what is too long")
            if not line:
                raise UserError(f"{name.format(number)} has no tokens")
            if max(line) >= self.config.vocab_size:
                raise UserError(f"the tokenizer gives the id {max(line)}, the model knows ids below {self.config.vocab_size}")
        return ids

    def pooled(self, ids, model):
        """The vectors `[batch, width]` of a batch of lists of ids. `model` is `self.model`, or its compiled form."""
        padded, mask = pad(ids)
        return self.pooling(model(padded, mask), mask)

    @torch.no_grad()
    def embed(self, ids, batch_size=32, progress=None):
        """The vectors `[lines, width]` of lists of ids, in their order; the model gets the longest first, in batches of like lengths."""
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]), reverse=True)
        parts = []
        for start in range(0, len(order), batch_size):
            batch = [ids[i] for i in order[start : start + batch_size]]
            parts.append(self.pooled(batch, self.compiled))
            if progress:
                progress.add(len(batch))
        vectors = torch.cat(parts)
        return torch.empty_like(vectors).index_copy_(0, torch.tensor(order), vectors)


def pad(ids):
    """Lists of ids as `[batch, longest]`, and where they are: a mask, or None if all are of one length."""
    lengths = torch.tensor([len(line) for line in ids])
    longest = max(map(len, ids))
    padded = torch.tensor([line + [0] * (longest - len(line)) for line in ids])
    return padded, None if bool((lengths == longest).all()) else torch.arange(longest) < lengths[:, None]
