"""An index of a file's lines, kept beside it and made anew when the lines, the model or what this program does with them have changed."""

import hashlib
import os
import pathlib

import opforge as torch

# Raised when the same model and lines would give other vectors than before.
VERSION = 1
MODEL_FILES = ("*.json", "*.safetensors", "1_Pooling/*.json")


def place(lines_path):
    return pathlib.Path(f"{lines_path}.index.safetensors")


def fingerprint(folder, lines, *options):
    """A digest of all that decides the vectors."""
    digest = hashlib.sha256(repr((VERSION, lines, options)).encode())
    for path in sorted(path for pattern in MODEL_FILES for path in pathlib.Path(folder).glob(pattern)):
        with open(path, "rb") as file:
            digest.update(repr((path.name, hashlib.file_digest(file, "sha256").hexdigest())).encode())
    return digest.hexdigest()


def read(path, key):
    """The vectors of an index with this fingerprint, or None."""
    try:
        stored = torch.load(path)
        return stored["vectors"] if stored["key"] == key else None
    except (FileNotFoundError, torch.FormatError, KeyError, TypeError):
        return None


def write(path, key, vectors):
    """Replaces the index as a whole, so that nobody reads half of one."""
    torch.save({"key": key, "vectors": vectors}, os.fspath(path))


def ranked(query, vectors, lines, k):
    """The k lines nearest to the query by cosine, with it: pairs, best first. Blank lines are left out."""
    cosines = torch.nn.functional.cosine_similarity(query[None], vectors)
    blank = torch.tensor([not line.strip() for line in lines])
    best = cosines.masked_fill(blank, -2.0).topk(min(k, int((~blank).sum())))
    return [(cosine, lines[i]) for cosine, i in zip(best.values.tolist(), best.indices.tolist())]
