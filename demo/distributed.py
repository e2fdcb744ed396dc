"""Four processes that learn the digits together: starts them, holds their losses against one process's, and draws when they computed and communicated."""

import json
import os
import pathlib
import subprocess
import sys

import opforge as torch

RANKS = 4
# Of f64, whose sums are added up in another order.
ROUNDING = 1e-9
FOLDER = pathlib.Path(__file__).parent


def run(file):
    """Runs the ranks; what they have measured."""
    package = str(pathlib.Path(torch.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "opforge", "run", "-n", str(RANKS), str(FOLDER / "ranks.py"), str(file)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": paths}, timeout=300)
    return json.loads(file.read_text())


def difference(result):
    """The largest difference of a loss from one process's, in parts of it."""
    return max(abs(a - b) / b for a, b in zip(result["losses"], result["alone"], strict=True))


def mean(result, what):
    """What the ranks have measured, on the average."""
    return sum(rank[what] for rank in result["ranks"]) / RANKS


def show(folder):
    """Trains in all ways, prints what they cost, and draws a step of each. Whether the losses are those of one process."""
    file, picture = folder / "ranks.json", folder / "ranks.png"
    file.unlink(missing_ok=True)
    results = run(file)
    print(f"{RANKS} processes learn the digits together; losses after {len(results[0]['losses'])} steps, and bytes that a process gets in one")
    for result in results:
        last = f"loss {result['losses'][-1]:.4f}, one process's to {difference(result):.0e}"
        print(f"  {result['name']:24} {last}; {mean(result, 'bytes') / 1e3:6.1f} kB, {mean(result, 'hidden'):4.0%} of the communication hidden")
    draw(results, picture)
    print(f"  when they computed and communicated: {picture}")
    return all(difference(result) < ROUNDING and result["losses"][-1] < result["losses"][0] for result in results)


def draw(results, picture):
    """A panel for each way: when each rank computed and communicated in one step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(len(results), figsize=(11, 1.9 * len(results)), layout="constrained")
    for axes, result in zip(panels, results):
        for rank, of_rank in enumerate(result["ranks"]):
            for lane, (spans, colour) in enumerate(zip(of_rank["lanes"], ("#1f6fb4", "#e07b39"))):
                axes.broken_barh(spans, (rank - 0.4 + 0.4 * lane, 0.36), facecolors=colour, edgecolors=colour, linewidth=0.3)
        axes.set_yticks(range(RANKS), [f"rank {rank}" for rank in range(RANKS)])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_title(f"{result['name']}: {mean(result, 'bytes') / 1e3:.0f} kB a step", loc="left", fontsize=10)
        axes.grid(axis="x", alpha=0.3)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in ("#1f6fb4", "#e07b39")]
    figure.legend(handles, ["kernels", "calls between processes, waiting included"], loc="outside lower center", ncols=2)
    panels[-1].set_xlabel("milliseconds of one step")
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
