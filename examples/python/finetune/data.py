"""Labelled lines, `label<TAB>text`, and the order in which training sees them."""

import dataclasses

import opforge as torch
from common.command import UserError
from common.text import read_lines


@dataclasses.dataclass(frozen=True)
class Lines:
    """Of each line the ids of its tokens, and the place of its label in `labels`."""

    ids: list
    classes: list
    labels: list

    def part(self, places):
        return Lines([self.ids[i] for i in places], [self.classes[i] for i in places], self.labels)


def read_labelled(path, tokens):
    """The lines of a file; `tokens` gives the ids of a list of texts."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        label, tab, text = line.partition("\t")
        if not tab or not label.strip() or not text.strip():
            raise UserError(f"{path}: line {number} is not label<TAB>text")
        pairs.append((label.strip(), text.strip()))
    labels = sorted({label for label, _ in pairs})
    if len(labels) < 2:
        raise UserError(f"{path}: all lines have the label {labels[0]!r}; a classifier needs two or more")
    return Lines(tokens([text for _, text in pairs]), [labels.index(label) for label, _ in pairs], labels)


def split(lines, share, seed):
    """Lines for training, and the share of them, drawn by the seed, that is held out."""
    order = shuffled(len(lines.ids), seed, -1)
    held_out = round(share * len(order))
    if not 0 < held_out < len(order):
        raise UserError(f"{len(order)} lines are too few to hold out a share of {share}")
    return lines.part(order[held_out:]), lines.part(order[:held_out])


def shuffled(count, seed, epoch):
    """An order of `count` lines, the same whenever it is asked for: a run that is resumed goes on in it."""
    random = torch.Generator().manual_seed((seed * 1_000_003 + epoch + 1) % 2**63)
    return torch.randperm(count, generator=random).tolist()
