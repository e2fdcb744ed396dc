"""Steps of training whose whole state can be stored between any two of them."""

import dataclasses

import opforge as torch
from common.command import UserError
from opforge import nn
from opforge.nn import functional as F

from .data import shuffled


def option(default, text, lowest=0):
    """A field of Settings that the command line has too, with what it says of it."""
    return dataclasses.field(default=default, metadata={"help": text, "lowest": lowest})


@dataclasses.dataclass(frozen=True)
class Settings:
    """What decides, with data and model, the weights that training ends with."""

    epochs: int = option(5, "how often all lines are seen", lowest=1)
    batch_size: int = option(32, "lines a step", lowest=1)
    lr: float = option(1e-2, "learning rate of the head")
    encoder_lr: float = option(5e-5, "learning rate of the encoder, with --unfreeze")
    warmup: float = option(0.1, "share of the steps in which rates rise; then they fall to 0")
    weight_decay: float = option(0.01, "decay of weights, as AdamW has it")
    clip: float = option(1.0, "most that the gradients' norm may be")
    dropout: float = option(0.1, "share of a sentence's vector that the head does not see while it learns")
    seed: int = option(0, "decides what is held out, the order of lines, and dropout")
    unfreeze: bool = False


def head(width, labels, dropout=0.0):
    """A sentence's vector in, a logit a class out."""
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))


class Vectors:
    """The vectors of lists of ids: of a frozen encoder computed once, of one that learns each time anew."""

    def __init__(self, encoder, ids, frozen, progress=None):
        self.encoder, self.ids = encoder, ids
        self.fixed = encoder.embed(ids, progress=progress) if frozen else None

    def batch(self, places):
        """Those at these places, `[batch, width]`, for training."""
        if self.fixed is not None:
            return self.fixed[places]
        return self.encoder.pooled([self.ids[i] for i in places], self.encoder.model)

    def all(self):
        """All, `[lines, width]`, as inference has them."""
        if self.fixed is not None:
            return self.fixed
        self.encoder.model.eval()
        return self.encoder.embed(self.ids)


class Training:
    """A head, and with `unfreeze` the encoder, that learn the classes of lines by their vectors."""

    def __init__(self, head, vectors, classes, settings):
        self.settings, self.vectors, self.classes = settings, vectors, torch.tensor(classes)
        self.batches = -(-len(classes) // settings.batch_size)
        self.epoch = self.batch = 0
        groups = [{"params": list(head.parameters()), "lr": settings.lr}]
        self.modules = nn.ModuleDict({"head": head})
        if settings.unfreeze:
            self.modules["encoder"] = vectors.encoder.model
            groups.append({"params": list(self.modules["encoder"].parameters()), "lr": settings.encoder_lr})
        self.optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._rate)

    def _rate(self, step):
        """The share of the learning rates at a step: up from 0 in the warmup, down to 0 at the end."""
        steps = self.settings.epochs * self.batches
        warmup = max(1, round(self.settings.warmup * steps))
        return min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))

    @property
    def steps_left(self):
        return (self.settings.epochs - self.epoch) * self.batches - self.batch

    def epoch_left(self):
        """Takes the epoch's steps that are left, and yields after each its loss."""
        order = shuffled(len(self.classes), self.settings.seed, self.epoch)
        self.modules.train()
        while self.batch < self.batches:
            start = self.batch * self.settings.batch_size
            places = order[start : start + self.settings.batch_size]
            loss = self._step(places)
            self.batch += 1
            yield loss
        self.epoch, self.batch = self.epoch + 1, 0

    def _step(self, places):
        loss = F.cross_entropy(self.modules["head"](self.vectors.batch(places)), self.classes[places])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.modules.parameters(), self.settings.clip)
        self.optimizer.step()
        self.schedule.step()
        if not loss.isfinite():
            raise UserError(f"the loss is {loss.item()} after batch {self.batch + 1} of epoch {self.epoch + 1}: lower --lr, or --encoder-lr")
        return loss.item()

    def state_dict(self):
        return {
            "modules": self.modules.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "position": [self.epoch, self.batch],
            "random": torch.get_rng_state(),
        }

    def load_state_dict(self, state):
        self.modules.load_state_dict(state["modules"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.epoch, self.batch = state["position"]
        torch.set_rng_state(state["random"])


@torch.no_grad()
def accuracy(head, vectors, classes):
    """The share of lines whose class the head names."""
    head.eval()
    return (head(vectors.all()).argmax(1) == torch.tensor(classes)).float().mean().item()
