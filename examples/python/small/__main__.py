"""python -m small bert FOLDER; python -m small llama FOLDER; python -m small lines FILE.tsv."""

import argparse
import dataclasses
import json
import pathlib
import sys

import opforge as torch
from common.command import run
from opforge import nn

BERT = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=64)
MINILM = dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, max_position_embeddings=512)
LLAMA = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=160, max_position_embeddings=256)
BILLION = dict(hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, intermediate_size=8192, max_position_embeddings=8192)


def initialised(model, seed):
    """Random weights as BERT's and Llama's authors began: normal with deviation 0.02; norms are 1, biases 0."""
    random = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02, generator=random)
        else:
            nn.init.constant_(parameter, 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0)
    return model


def write(folder, config, model_type, model, tokenizer):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type} | dataclasses.asdict(config), indent=2) + "\n")
    torch.save(model.state_dict(), folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))


def bert(asked):
    from embeddings.bert import Bert, Config

    from .train import wordpiece

    tokenizer, like = wordpiece(), {"small": BERT, "minilm": MINILM}[asked.size]
    config = Config(vocab_size=30522 if asked.size == "minilm" else tokenizer.get_vocab_size(), **like)
    write(asked.target, config, "bert", initialised(Bert(config), asked.seed), tokenizer)


def llama(asked):
    from decoder.llama import Config, Llama

    from .train import byte_level

    tokenizer, like = byte_level(), {"small": LLAMA, "1b": BILLION}[asked.size]
    config = Config(
        vocab_size=tokenizer.get_vocab_size(), eos_token_id=tokenizer.token_to_id("<|end|>"), tie_word_embeddings=asked.size == "1b", **like
    )
    write(asked.target, config, "llama", initialised(Llama(config), asked.seed), tokenizer)


def lines(asked):
    from .sentences import labelled

    pathlib.Path(asked.target).write_text("".join(f"{topic}\t{text}\n" for topic, text in labelled(asked.seed)))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="small", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, sizes, what in ((bert, "small minilm", "an encoder"), (llama, "small 1b", "a decoder"), (lines, "", "labelled sentences")):
        kind = commands.add_parser(command.__name__, help=what)
        kind.add_argument("target", help="the folder or file to write")
        kind.add_argument("--seed", type=int, default=0)
        if sizes:
            kind.add_argument("--size", choices=sizes.split(), default="small")
        kind.set_defaults(command=command)
    asked = parser.parse_args(arguments)
    asked.command(asked)


if __name__ == "__main__":
    run("small", lambda: main(sys.argv[1:]))
