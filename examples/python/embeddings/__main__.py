"""python -m embeddings embed FOLDER FILE.txt -o out.npy; python -m embeddings search FOLDER FILE.txt "query"."""

import argparse
import pathlib
import sys

import opforge as torch
from common.command import UserError, at_least, run
from common.text import Progress, read_lines

from . import index
from .encoder import Encoder

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def parsed(arguments):
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("folder", help="the model: config.json, model.safetensors, tokenizer.json, and sentence-transformers' files")
    common.add_argument("file", help="text in UTF-8, a sentence a line")
    common.add_argument("--batch-size", type=at_least(1), default=32)
    common.add_argument("--dtype", choices=DTYPES, default="float32", help="what the model computes in")
    common.add_argument("--truncate", action="store_true", help="cut lines that are too long for the model; otherwise they are an error")
    parser = argparse.ArgumentParser(prog="embeddings", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    embed = commands.add_parser("embed", parents=[common], help="write the vectors of all lines")
    embed.add_argument("-o", "--output", required=True, help="a file .npy, or .safetensors with the tensor `embeddings`")
    search = commands.add_parser("search", parents=[common], help="print the lines that are nearest to a query")
    search.add_argument("query")
    search.add_argument("-k", type=at_least(1), default=5, help="how many lines")
    return parser.parse_args(arguments)


def embedded(encoder, lines, asked):
    ids = encoder.tokens(lines, asked.truncate)
    return encoder.embed(ids, asked.batch_size, Progress(len(ids), "lines"))


def embed(asked):
    suffix = pathlib.Path(asked.output).suffix
    if suffix not in (".npy", ".safetensors"):
        raise UserError(f"{asked.output}: the output ends in .npy or .safetensors")
    lines = read_lines(asked.file)
    vectors = embedded(Encoder(asked.folder, DTYPES[asked.dtype]), lines, asked)
    if suffix == ".safetensors":
        torch.save({"embeddings": vectors}, asked.output)
    else:
        import numpy

        numpy.save(asked.output, vectors.numpy())
    print(f"{asked.output}: {vectors.shape[0]} vectors of {vectors.shape[1]} numbers")


def search(asked):
    lines = read_lines(asked.file)
    encoder = Encoder(asked.folder, DTYPES[asked.dtype])
    query = encoder.embed(encoder.tokens([asked.query], asked.truncate, "the query"))[0]
    path, key = index.place(asked.file), index.fingerprint(asked.folder, lines, asked.dtype, asked.truncate)
    vectors = index.read(path, key)
    if vectors is None:
        vectors = embedded(encoder, lines, asked)
        index.write(path, key, vectors)
    for cosine, line in index.ranked(query, vectors, lines, asked.k):
        print(f"{cosine:.4f}  {line}")


def main(arguments=None):
    asked = parsed(arguments)
    {"embed": embed, "search": search}[asked.command](asked)


if __name__ == "__main__":
    run("embeddings", lambda: main(sys.argv[1:]))
