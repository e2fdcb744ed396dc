"""A character-level language model: a GRU that learns a verse by heart and recites it."""

import opforge as torch
import opforge.nn as nn

TEXT = "the quick brown fox jumps over the lazy dog, and the dog sleeps on. "


class CharModel(nn.Module):
    def __init__(self, vocabulary, embedding=16, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, embedding)
        self.gru = nn.GRU(embedding, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens, state=None):
        output, state = self.gru(self.embed(tokens), state)
        return self.head(output), state


@torch.no_grad()
def generate(model, start, length):
    model.eval()
    token, state, out = torch.tensor([[start]]), None, []
    for _ in range(length):
        logits, state = model(token, state)
        token = logits[:, -1].argmax(dim=-1, keepdim=True)
        out.append(token.item())
    return out


def main():
    torch.manual_seed(2)
    letters = sorted(set(TEXT))
    index = {letter: i for i, letter in enumerate(letters)}
    tokens = torch.tensor([index[letter] for letter in TEXT * 2]).unsqueeze(0)
    model = CharModel(len(letters))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for _ in range(80):
        logits, _ = model(tokens[:, :-1])
        loss = criterion(logits.reshape(-1, len(letters)), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    recited = "".join(letters[i] for i in generate(model, index[TEXT[0]], len(TEXT) - 1))
    return {"loss": loss.item(), "recited": TEXT[0] + recited, "text": TEXT}
