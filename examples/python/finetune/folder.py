"""Where training writes: a checkpoint while it runs, and in the end a model's folder with a classifier. Files are replaced as a whole, never half written."""

import pathlib
import shutil

import opforge as torch
from common.command import UserError

CHECKPOINT, CLASSIFIER = "checkpoint.safetensors", "classifier.safetensors"
COPIED = ("config.json", "tokenizer.json", "modules.json", "sentence_bert_config.json", "tokenizer_config.json", "1_Pooling/config.json")


def store(out, training, run):
    """Writes a checkpoint of a run, which `run`, a text, tells from others."""
    torch.save({"run": run, "training": training.state_dict()}, pathlib.Path(out) / CHECKPOINT)


def begin(out, training, run, resume):
    """Takes up what a checkpoint holds, if there is one; without `resume` there must be none. Whether there was."""
    path = pathlib.Path(out) / CHECKPOINT
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return False
    if not resume:
        raise UserError(f"{path} is of a run that did not end: --resume continues it, or remove the file")
    stored = read(path, ("run", "training"))
    if stored["run"] != run:
        raise UserError(f"{path} is of a run with other settings, lines or weights")
    training.load_state_dict(stored["training"])
    return True


def finish(out, source, encoder, head, labels):
    """Writes a folder that `embeddings` reads too, the classifier last, and removes the checkpoint."""
    out, source = pathlib.Path(out), pathlib.Path(source)
    for name in COPIED:
        if (source / name).exists() and out.resolve() != source.resolve():
            (out / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / name, out / name)
    torch.save(encoder.model.state_dict(), out / "model.safetensors")
    torch.save({"head": head.state_dict(), "labels": labels}, out / CLASSIFIER)
    (out / CHECKPOINT).unlink(missing_ok=True)


def read(path, entries):
    """A file of this program's that holds these entries."""
    try:
        stored = torch.load(path)
    except torch.FormatError as error:
        raise UserError(f"{path}: {error}") from None
    missing = [name for name in entries if name not in stored]
    if missing:
        raise UserError(f"{path} has no entry {missing[0]!r}")
    return stored
