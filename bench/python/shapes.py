"""Training steps whose batches and lengths change from step to step, compiled and as they are, here and in PyTorch: a process each. Writes `plots/shapes.svg`.

Usage: shapes.py [--steps N]"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

WIDTH, HEADS = 256, 4
WAYS = {
    "opforge, compiled": ("opforge", "compile"),
    "PyTorch, compiled": ("torch", "compile"),
    "opforge": ("opforge", "plain"),
    "PyTorch": ("torch", "plain"),
}


def shapes(steps):
    """Of each step: sequences of a batch, and their length."""
    drawn = random.Random(1)
    return [(drawn.randint(1, 16), drawn.randint(8, 128)) for _ in range(steps)]


def measure(library, way, steps):
    """Prints the seconds of each step."""
    if library == "opforge":
        import opforge as torch
    else:
        import torch
    torch.set_num_threads(2)
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
    model = torch.compile(layer) if way == "compile" else layer
    seconds = []
    for batch, length in shapes(steps):
        x = torch.randn(batch, length, WIDTH)
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
        if library == "opforge":
            torch.synchronize()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps(seconds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--measure", nargs=2)
    asked = parser.parse_args()
    if asked.measure:
        return measure(*asked.measure, asked.steps)
    found = {}
    for name, way in WAYS.items():
        run = [sys.executable, __file__, "--steps", str(asked.steps), "--measure", *way]
        # What PyTorch has compiled in other runs it would find again.
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
            done = subprocess.run(run, check=True, capture_output=True, text=True, env=environment)
        found[name] = json.loads(done.stdout)
        first, *later = (1e3 * x for x in found[name])
        print(f"{name:20} first {first:9.1f} ms, later median {statistics.median(later):7.1f}, worst {max(later):9.1f}, all {sum(found[name]):7.2f} s")
    draw(found, shapes(asked.steps))


def draw(found, shapes):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "opforge"})
    figure, axes = plt.subplots(figsize=(10, 4.2), layout="constrained")
    tokens = [batch * length for batch, length in shapes]
    for (name, seconds), colour in zip(found.items(), ("#0b62a8", "#d1672a", "#8fb9dd", "#e8b597")):
        axes.plot([1e6 * s / n for s, n in zip(seconds, tokens)], color=colour, linewidth=1.4, label=name)
    axes.set(yscale="log", xlabel="step, each of another batch and length", ylabel="microseconds a token")
    axes.legend(frameon=False, ncols=4)
    figure.savefig(pathlib.Path(__file__).parents[1] / "plots" / "shapes.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
