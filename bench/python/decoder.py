"""Tokens per second of a Llama of 200 million parameters here and in candle, a process a library, in turns.

Usage: decoder.py [--rounds N]; the model, of random weights, is written to a temporary folder."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

PROGRAM = pathlib.Path(__file__).parents[1] / "target" / "release" / "decoder"
PROMPT = 64


def run(*words):
    return subprocess.run([str(PROGRAM), *map(str, words)], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        run("write", folder)
        print(f"{'tokens a second':24}{'opforge':>10}{'candle':>10}{'ratio':>8}")
        for kind in ("f32", "q4_0", "q8_0", "q4k"):
            times = {library: [] for library in ("opforge", "candle")}
            for _ in range(rounds):
                for library, found in times.items():
                    found.append(json.loads(run(library, folder, kind)))
            for part, tokens in (("reading", PROMPT), ("making", 1)):
                ours, theirs = (statistics.median(tokens / found[part] for found in times[library]) for library in times)
                print(f"{kind + ', ' + part:24}{ours:10.1f}{theirs:10.1f}{ours / theirs:8.2f}")
            same = times["opforge"][0]["tokens"] == times["candle"][0]["tokens"]
            print(f"{'':24}{'the same' if same else 'other'} tokens")


if __name__ == "__main__":
    main()
