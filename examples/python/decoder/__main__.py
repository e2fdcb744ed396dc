"""python -m decoder generate FOLDER "prompt" --max-new-tokens 64 --temperature 0.8 --top-p 0.9"""

import argparse
import pathlib
import sys
import time

import opforge as torch
from common.command import UserError, at_least, run
from common.folder import read_json, read_tokenizer

from . import llama
from .generate import Text, generate
from .sampling import Sampler

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="decoder", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("generate", help="continue a prompt")
    command.add_argument("folder", help="the model: config.json, model.safetensors or its shards, tokenizer.json")
    command.add_argument("prompt")
    command.add_argument("--max-new-tokens", type=at_least(1), default=64)
    command.add_argument("--temperature", type=at_least(0, float), default=0.8, help="0 takes the likeliest token")
    command.add_argument("--top-k", type=at_least(0), default=0, help="choose among the k likeliest; 0: all")
    command.add_argument("--top-p", type=at_least(1e-6, float), default=1.0, help="choose among the likeliest with this share together")
    command.add_argument("--repetition-penalty", type=at_least(0.01, float), default=1.0, help="above 1: what was there is less likely")
    command.add_argument("--seed", type=int, help="the same seed gives the same text")
    command.add_argument("--dtype", choices=DTYPES, default="float32", help="what the model computes in")
    return parser.parse_args(arguments)


def encoded(prompt, tokenizer, config, most):
    ids = tokenizer.encode(prompt).ids
    if not ids:
        raise UserError("the prompt has no tokens")
    if len(ids) + most > config.max_position_embeddings:
        raise UserError(f"the prompt's {len(ids)} tokens and {most} new ones are more than the model takes, {config.max_position_embeddings}")
    if max(ids) >= config.vocab_size:
        raise UserError(f"the tokenizer gives the id {max(ids)}, the model knows ids below {config.vocab_size}")
    return ids


def ends(folder, config):
    """The ids that end a text: `generation_config.json` goes before `config.json`."""
    path = pathlib.Path(folder) / "generation_config.json"
    found = read_json(path).get("eos_token_id") if path.exists() else None
    found = config.eos_token_id if found is None else found
    return set(found) if isinstance(found, list) else {found}


def main(arguments=None):
    asked = parsed(arguments)
    model, config = llama.load(asked.folder, DTYPES[asked.dtype])
    tokenizer = read_tokenizer(asked.folder)
    prompt = encoded(asked.prompt, tokenizer, config, asked.max_new_tokens)
    sampler = Sampler(asked.temperature, asked.top_k, asked.top_p, asked.repetition_penalty, asked.seed)
    text = Text(tokenizer, prompt)
    torch.synchronize()  # Weights are converted in the background: the prompt's time begins after that.
    times = [time.perf_counter()]
    print(asked.prompt, end="", flush=True)
    for token in generate(model, prompt, sampler, asked.max_new_tokens, ends(asked.folder, config)):
        times.append(time.perf_counter())
        print(text.add(token), end="", flush=True)
    print(text.rest())
    tell(len(prompt), times)


def tell(prompt, times):
    """The speed of the prompt, up to the first token, and of the tokens after that one."""
    if len(times) > 1:
        print(f"prompt: {prompt} tokens, {prompt / (times[1] - times[0]):.1f} tokens/s", file=sys.stderr)
    if len(times) > 2:
        print(f"generation: {len(times) - 1} tokens, {(len(times) - 2) / (times[-1] - times[1]):.1f} tokens/s", file=sys.stderr)


if __name__ == "__main__":
    run("decoder", lambda: main(sys.argv[1:]))
