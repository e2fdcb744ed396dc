"""The page of results: tables, and two plots."""

import datetime
import os
import platform

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from results import duration, geometric_mean

OURS, THEIRS, QUIET = "#0b62a8", "#d1672a", "#8a8a8a"
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "opforge"}
FUNCTIONS = ("add", "relu", "exp", "tanh", "gelu", "x * 2 + 1")


def write(folder, asked, cases, speeds, candle, memory):
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    plt.rcParams.update(STYLE)
    by_size(cases, speeds, plots / "sizes.svg")
    by_ratio(cases, plots / "ratios.svg")
    (folder / "RESULTS.md").write_text("\n".join(text(asked, cases, speeds, candle, memory)) + "\n")


def text(asked, cases, speeds, candle, memory):
    large = [case for case in cases if case.group != "tiny calls"]
    slow = [case for case in large if case.ratio < 0.95]
    yield "# Results of `bench/python/main.py`"
    yield ""
    yield (
        f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} hardware threads. Medians of {asked.rounds} rounds of about "
        f"{asked.seconds:g} s a case, a process a library, in turns; "
        "ratios are PyTorch's time over opforge's. [README.md](README.md) says how to read them."
    )
    yield ""
    yield f"- Geometric mean of {len(cases)} ratios: **{geometric_mean([c.ratio for c in cases]):.2f}**; without tiny calls **{geometric_mean([c.ratio for c in large]):.2f}**."
    yield f"- Slower than 0.95: {len(slow)} of {len(large)}."
    yield f"- The machine: copies {speeds.copy / 1e9:.0f} GB/s, reads {speeds.read / 1e9:.0f} GB/s, {speeds.flops / 1e9:.0f} GFLOP/s in f32."
    yield ""
    yield "![Speed against size](plots/sizes.svg)"
    yield ""
    yield "![All ratios](plots/ratios.svg)"
    for group in dict.fromkeys(case.group for case in cases):
        yield from table(group, [case for case in cases if case.group == group], speeds)
    yield from peaks(memory)
    yield from beside_candle(candle)


def table(group, cases, speeds):
    yield from ("", f"## {group.capitalize()}", "", "| case | opforge | PyTorch | ratio | of the floor |", "|---|---|---|---|---|")
    for case in cases:
        share = case.share(speeds)
        floor = "" if share is None else f"{share:.0%}"
        yield f"| {case.name} | {duration(case.ours)} | {duration(case.torch)} | {case.ratio:.2f} | {floor} |"
        if "onnx" in case.seconds:
            yield f"| {case.name}, ONNX Runtime | | {duration(case.seconds['onnx'])} | {case.seconds['onnx'] / case.ours:.2f} | |"


def peaks(memory):
    yield from ("", "## Memory", "", "By how much a process grows at most in five steps of training, MB.", "", "| case | opforge | PyTorch |", "|---|---|---|")
    for name, grown in memory.items():
        yield f"| {name} | {grown['opforge'] / 1e6:.0f} | {grown['torch'] / 1e6:.0f} |"


def beside_candle(cases):
    yield from ("", "## From Rust, beside candle 0.11", "", "| case | opforge | candle | ratio | of the floor |", "|---|---|---|---|---|")
    for case in cases:
        peer, floor = case["candle"], case["floor"]
        beside = "refuses | " if peer is None else f"{duration(peer)} | {peer / case['opforge']:.2f}"
        share = "" if floor is None else f"{floor / case['opforge']:.0%}"
        yield f"| {case['name']} | {duration(case['opforge'])} | {beside} | {share} |"


def by_size(cases, speeds, path):
    """Bytes a second against elements, a panel a function."""
    figure, panels = plt.subplots(2, 3, figsize=(10, 5.4), sharex=True, sharey=True, layout="constrained")
    counts = {"1 k": 1 << 10, "16 k": 1 << 14, "128 k": 1 << 17, "1 M": 1 << 20, "8 M": 1 << 23}
    found = {case.name: case for case in cases}
    for panel, function in zip(panels.flat, FUNCTIONS):
        points = [(count, found[f"{function}, {size}"]) for size, count in counts.items() if f"{function}, {size}" in found]
        for library, colour, label in (("opforge", OURS, "opforge"), ("torch", THEIRS, "PyTorch")):
            line = [case.moved / case.seconds[library] / 1e9 for _, case in points]
            panel.plot([count for count, _ in points], line, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label)
        panel.axhline(speeds.copy / 1e9, color=QUIET, linewidth=0.8, linestyle=":")
        panel.set(title=function, xscale="log", yscale="log")
        panel.set_xticks(list(counts.values()), list(counts), minor=False)
        panel.minorticks_off()
    panels[0, 0].legend(frameon=False)
    figure.supylabel("GB/s; dotted: a copy in memory")
    figure.supxlabel("elements, f32")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def by_ratio(cases, path):
    """All ratios, a row a group."""
    groups = list(dict.fromkeys(case.group for case in cases))
    figure, axes = plt.subplots(figsize=(10, 4.2), layout="constrained")
    for row, group in enumerate(groups):
        ratios = sorted(case.ratio for case in cases if case.group == group)
        heights = [row + 0.36 * (i / max(1, len(ratios) - 1) * 2 - 1) for i in range(len(ratios))]
        axes.scatter(ratios, heights, s=12, color=[OURS if ratio >= 0.95 else THEIRS for ratio in ratios], linewidths=0)
        mean = geometric_mean(ratios)
        axes.plot([mean, mean], [row - 0.42, row + 0.42], color="black", linewidth=1)
        axes.annotate(f"{mean:.2f}", (mean, row - 0.42), ha="center", va="bottom", fontsize=8)
    axes.axvline(1, color=QUIET, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="PyTorch's time over opforge's; a line at each group's geometric mean")
    axes.set_yticks(range(len(groups)), groups)
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.invert_yaxis()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
