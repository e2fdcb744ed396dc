"""Training steps whose batches and lengths change from step to step, compiled and as they are, here and in PyTorch: a process each. Writes `plots/shapes.svg`.

Usage: shapes.py [--steps N]"""

import argparse
import json
import os
import pathlib
import random
import statistics
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
    """The seconds of each step."""
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
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--measure", nargs=2)
    asked = parser.parse_args()
    if asked.measure:
        # What PyTorch has compiled in other runs it would find again.
        with tempfile.TemporaryDirectory() as cache:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
            return print(json.dumps(measure(*asked.measure, asked.steps)))
    # Not at the top: a process that measures is to load one library only.
    from main import child

    found = {}
    for name, way in WAYS.items():
        found[name] = child(sys.executable, __file__, "--steps", asked.steps, "--measure", *way)
        first, *later = (1e3 * x for x in found[name])
        print(f"{name:20} first {first:9.1f} ms, later median {statistics.median(later):7.1f}, worst {max(later):9.1f}, all {sum(found[name]):7.2f} s")
    draw(found, shapes(asked.steps))


def draw(found, shapes):
    from page import OURS, STYLE, THEIRS, plt

    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(figsize=(10, 4.2), layout="constrained")
    tokens = [batch * length for batch, length in shapes]
    for name, seconds in found.items():
        look = {"color": OURS if "opforge" in name else THEIRS, "alpha": 1.0 if "compiled" in name else 0.45}
        axes.plot([1e6 * s / n for s, n in zip(seconds, tokens)], linewidth=1.4, label=name, **look)
    axes.set(yscale="log", xlabel="step, each of another batch and length", ylabel="microseconds a token")
    axes.legend(frameon=False, ncols=4)
    figure.savefig(pathlib.Path(__file__).parents[1] / "plots" / "shapes.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
