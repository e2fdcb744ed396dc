"""How the next token is chosen."""

import dataclasses

import opforge as torch


@dataclasses.dataclass
class Sampler:
    """`temperature` 0 takes the likeliest token. `top_k` keeps the likeliest k, 0 all; `top_p` of these the fewest that have the share p together
    (Holtzman and others, 2019); `repetition_penalty` makes tokens that were there less likely (Keskar and others, 2019)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None

    def __post_init__(self):
        self.random = torch.Generator()
        if self.seed is None:
            self.random.seed()
        else:
            self.random.manual_seed(self.seed)

    def __call__(self, logits, before):
        """A token's id, by logits `[vocabulary]` and the ids before it."""
        logits = logits.float()
        if self.repetition_penalty != 1:
            logits = penalised(logits, before, self.repetition_penalty)
        if self.temperature == 0:
            return logits.argmax().item()
        likeliest, ids = logits.topk(min(self.top_k or len(logits), len(logits)))
        shares = ((likeliest - likeliest[0]) / self.temperature).softmax(0)
        shares = shares.masked_fill(shares.cumsum(0) - shares >= self.top_p, 0.0)
        return ids[torch.multinomial(shares, 1, generator=self.random)].item()


def penalised(logits, before, penalty):
    """Logits of tokens that were there, divided by the penalty where they are positive and multiplied by it where not."""
    there = torch.tensor(sorted(set(before)))
    found = logits[there]
    return logits.index_copy(0, there, torch.where(found > 0, found / penalty, found * penalty))
