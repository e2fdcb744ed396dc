"""Token after token, and the text that they are."""

import opforge as torch

from .cache import Cache


def generate(model, prompt, sampler, most, ends=()):
    """Yields the ids that follow the prompt's, up to `most` of them, or up to one of `ends`, which is not yielded."""
    cache, ids = Cache(), list(prompt)
    new = prompt
    while len(ids) < len(prompt) + most:
        token = sampler(_logits(model, new, cache), ids)
        if token in ends:
            return
        yield token
        ids.append(token)
        new = [token]


@torch.no_grad()
def _logits(model, ids, cache):
    return model(torch.tensor([ids]), cache, last=True)[0]


class Text:
    """The text of tokens as they come. What may still change, as half of a character of several bytes, waits for the next token."""

    def __init__(self, tokenizer, before=()):
        self.tokenizer, self.ids = tokenizer, list(before)[-8:]  # Some tokens of the prompt: how one reads may depend on those before it.
        self.told = len(self._decoded(self.ids))

    def add(self, token):
        """What is new."""
        self.ids.append(token)
        whole = self._decoded(self.ids)
        if whole.endswith("\N{REPLACEMENT CHARACTER}"):
            return ""
        new = whole[self.told :]
        self.ids = self.ids[-8:]  # So that a token costs the same however many there were.
        self.told = len(self._decoded(self.ids))
        return new

    def rest(self):
        """What waits when no token follows."""
        return self._decoded(self.ids)[self.told :]

    def _decoded(self, ids):
        return self.tokenizer.decode(ids)
