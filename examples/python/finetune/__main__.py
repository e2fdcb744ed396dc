"""python -m finetune train FOLDER LINES.tsv -o OUT; python -m finetune predict OUT FILE.txt."""

import argparse
import dataclasses
import pathlib
import statistics
import sys

import opforge as torch
from common.command import UserError, at_least, run
from common.text import Progress, read_lines
from embeddings.encoder import Encoder
from embeddings.index import fingerprint

from . import data, folder
from .training import Settings, Training, Vectors, accuracy, head


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="finetune", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="learn labelled lines", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    train.add_argument("folder", help="an embeddings model")
    train.add_argument("lines", help="label<TAB>text a line")
    train.add_argument("-o", "--out", required=True, help="the folder to write")
    train.add_argument("--unfreeze", action="store_true", help="the encoder learns too")
    for field in dataclasses.fields(Settings):
        if "help" in field.metadata:
            kind = at_least(field.metadata["lowest"], field.type)
            train.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help=field.metadata["help"])
    train.add_argument("--held-out", type=at_least(0, float), default=0.2, help="the share of lines that only measure")
    train.add_argument("--checkpoint-every", type=at_least(1), default=100, help="steps")
    train.add_argument("--resume", action="store_true", help="continue from OUT's checkpoint, if it has one")
    train.add_argument("--truncate", action="store_true", help="cut lines that are too long for the model")
    predict = commands.add_parser("predict", help="print label, probability and text of each line")
    predict.add_argument("folder", help="what training wrote")
    predict.add_argument("lines", help="a text a line")
    predict.add_argument("--truncate", action="store_true", help="cut lines that are too long for the model")
    return parser.parse_args(arguments)


def embedded(encoder, lines, settings):
    return Vectors(encoder, lines.ids, not settings.unfreeze, Progress(len(lines.ids), "lines"))


def prepared(asked, settings, encoder, lines):
    """The training of a new head on the encoder, and what tells this run from others."""
    torch.manual_seed(settings.seed)
    new = head(encoder.config.hidden_size, len(lines.labels), settings.dropout)
    name = fingerprint(asked.folder, lines.ids, lines.classes, lines.labels, settings)
    return Training(new, embedded(encoder, lines, settings), lines.classes, settings), name


def train(asked):
    if pathlib.Path(asked.out).resolve() == pathlib.Path(asked.folder).resolve():
        raise UserError(f"{asked.out} is the model itself: training needs another folder to write")
    settings = Settings(**{field.name: getattr(asked, field.name) for field in dataclasses.fields(Settings)})
    encoder = Encoder(asked.folder)
    whole = data.read_labelled(asked.lines, lambda texts: encoder.tokens(texts, asked.truncate))
    lines, held_out = data.split(whole, asked.held_out, settings.seed)
    training, name = prepared(asked, settings, encoder, lines)
    unseen = embedded(encoder, held_out, settings)
    if folder.begin(asked.out, training, name, asked.resume):
        print(f"resumed in epoch {training.epoch + 1}, after batch {training.batch} of {training.batches}")
    progress = Progress(training.steps_left, "steps")
    while training.epoch < settings.epochs:
        losses = []
        for loss in training.epoch_left():
            losses.append(loss)
            progress.add(1, f"loss {loss:.4f}, rate {training.schedule.get_last_lr()[0]:.2e}")
            if training.steps_left % asked.checkpoint_every == 0:
                folder.store(asked.out, training, name)
        right = accuracy(training.modules["head"], unseen, held_out.classes)
        mean = f"loss {statistics.fmean(losses):.4f}, " if losses else ""
        print(f"epoch {training.epoch}: {mean}accuracy {right:.2%} on {len(held_out.ids)} held-out lines", flush=True)
    folder.finish(asked.out, asked.folder, encoder, training.modules["head"], lines.labels)


def predict(asked):
    encoder, stored = Encoder(asked.folder), folder.read(f"{asked.folder}/{folder.CLASSIFIER}", ("head", "labels"))
    labels, lines = stored["labels"], read_lines(asked.lines)
    trained = head(encoder.config.hidden_size, len(labels)).eval()
    try:
        trained.load_state_dict(stored["head"])
    except (RuntimeError, ValueError) as error:
        raise UserError(f"{asked.folder}/{folder.CLASSIFIER}: {error}") from None
    with torch.no_grad():
        best = trained(encoder.embed(encoder.tokens(lines, asked.truncate))).softmax(1).max(1)
    for share, label, line in zip(best.values.tolist(), best.indices.tolist(), lines):
        print(f"{labels[label]}\t{share:.4f}\t{line}")


def main(arguments=None):
    asked = parsed(arguments)
    {"train": train, "predict": predict}[asked.command](asked)


if __name__ == "__main__":
    run("finetune", lambda: main(sys.argv[1:]))
