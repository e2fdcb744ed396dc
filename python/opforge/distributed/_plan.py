"""The planner: how weights, inputs and what modules compute of them should lie on a mesh of devices."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import _core
from .._global.placement import placement as _Placement
from ..sbp import sbp as _Sbp
from ._plan_step import Step as _Step
from ._plan_step import as_module as _as_module
from ._plan_step import laid as _laid


@dataclass(frozen=True)
class Machine:
    """What devices and links between them do: `flops` and `bandwidth` (bytes) of a device in a second, the seconds that a call takes besides (`launch`), the bytes
    that a device has (`memory`, None for as many as it takes), and for each dimension of a mesh `(latency, bandwidth)` of its links: the seconds of a message, and its bytes in
    a second; the last holds for further dimensions. What is not given is a GPU of a data centre's, with links of 100 GB/s."""

    flops: float = 1e14
    bandwidth: float = 1e12
    launch: float = 5e-6
    memory: int | None = None
    links: tuple = ((5e-6, 100e9),)


@dataclass(frozen=True)
class Spent:
    """What the busiest device spends on a step: seconds of calls and of boxing, which do not overlap, and the most bytes that tensors take at one time;
    the bytes that all devices together receive; how many calls are carried out."""

    compute: float
    boxing: float
    moved: int
    memory: int
    calls: int

    @property
    def seconds(self) -> float:
        """From beginning to end."""
        return self.compute + self.boxing

    def __str__(self):
        return f"{_seconds(self.seconds):>10} {_bytes(self.memory):>10} {_bytes(self.moved):>10}"


@dataclass(frozen=True)
class Plan:
    """How a module's parameters and inputs lie, and what its submodules give, and what a step takes then. `str` of it is a table, beside the ways that are usual.

    `parameters` has the `sbp` along each dimension of the mesh by name, `inputs` those of the sample's tensors (None for what is no tensor), `activations` those of what
    submodules give, by their names, where that is decided (None along dimensions where it lies as it comes), `usual` what the usual ways take by name, and `tried` how
    many ways were compared.
    """

    mesh: tuple
    spent: Spent
    parameters: dict
    inputs: tuple
    activations: dict
    usual: dict = field(repr=False)
    tried: int = field(repr=False)
    _shapes: dict = field(repr=False)

    def apply(self, module, ranks=None):
        """Makes a module's or a graph's parameters and buffers global as planned, in place, and gives it. From then on local tensors that it is called with, which every
        rank has whole, are distributed as planned, and what its submodules give is brought into the planned distribution. All ranks call it; `ranks` are those of the mesh, in order: the first ones unless given.

        Raises KeyError for a module with other parameters than the plan's; ValueError for another number of ranks than the mesh has.
        """
        count = _product(self.mesh)
        ranks = list(range(count)) if ranks is None else list(ranks)
        if len(ranks) != count:
            raise ValueError(f"Plan.apply: ranks={ranks}, expected {count} of them for a mesh {self.mesh}")
        place = _Placement("cpu", _nested(ranks, self.mesh))
        whole = _as_module(module)
        names = {name for name, _ in whole.named_parameters()}
        if names != set(self.parameters):
            raise KeyError(f"Plan.apply: the module's parameters differ from the plan's in {sorted(names ^ set(self.parameters))}")
        for name, parameter in whole.named_parameters():
            parameter.data = _distributed(parameter.data, place, self.parameters[name])
        everywhere = (_Sbp._of("B"),) * len(self.mesh)
        for submodule in whole.modules():
            for name, buffer in submodule._buffers.items():
                if buffer is not None:
                    submodule._buffers[name] = _distributed(buffer, place, everywhere)
        for name, lies in self.activations.items():
            lies = [one and str(one) for one in lies]
            whole.get_submodule(name).register_forward_hook(lambda _, given, made, lies=lies: _laid(made, lies))
        whole.register_forward_pre_hook(lambda _, given: tuple(self._input(i, one, place) for i, one in enumerate(given)))
        return module

    def _input(self, i, given, place):
        planned = self.inputs[i] if i < len(self.inputs) else None
        if planned is None or not isinstance(given, _core.Tensor) or given.is_global:
            return given
        return _distributed(given, place, planned)

    def __str__(self):
        lines = [f"mesh {self.mesh}, {self.tried} ways tried", f"{'':32} {'time':>10} {'memory':>10} {'moved':>10}", f"{'this plan':32} {self.spent}"]
        lines += [f"{name:32} {spent}" for name, spent in self.usual.items()]
        rows = {f"input {i}": sbp for i, sbp in enumerate(self.inputs) if sbp is not None} | self.parameters
        rows |= {f"{name}()": lies for name, lies in self.activations.items()}
        width = max(map(len, rows))
        lines += [""] + [f"{name:{width}} {self._shapes[name]!s:20} {', '.join(_text(one) for one in lies)}" for name, lies in rows.items()]
        return "\n".join(lines)


def plan(module, mesh, sample, *, loss=None, optimizer=None, machine=None) -> Plan:
    """Finds how a module's parameters and inputs, and what its submodules give, should lie on a mesh of devices for a training step to take little time, and fit into memory. No devices are
    needed: the step runs with tensors that have no elements, and what its calls cost is added up by an alpha-beta model of the links and the devices' speed.

    `module` may be an `nn.Graph` too: the step is its `build` then, which calls `backward` itself, with the given optimizer's.

    `mesh` is the number of devices along each dimension, or their number; `sample` a tensor or tuple of tensors that the module is called with, whose first dimension
    counts samples (of a module on the meta device they may be meta tensors); `loss` makes a scalar of what the module gives, which is summed otherwise; `optimizer` makes
    an optimizer of a list of parameters, whose step is then part of it. Parameters and submodules of one shape whose names differ in numbers only lie alike, as those of a stack
    of layers.

    The step must be one of global tensors: one that reads elements, or makes local tensors beside the given ones, is an error. Every rank finds the same plan by itself.

    Raises ValueError where nothing that was tried fits into `machine.memory`, for a mesh without devices; what the step raises.

    >>> import opforge as torch
    >>> block = torch.nn.Sequential(torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 2048))
    >>> plan = torch.distributed.plan(block, mesh=8, sample=torch.empty(16, 2048))
    >>> [str(sbp) for sbp in plan.parameters["0.weight"]], [str(sbp) for sbp in plan.parameters["2.weight"]]
    (['S(0)'], ['S(1)'])
    """
    machine = Machine() if machine is None else machine
    mesh = (mesh,) if isinstance(mesh, int) else tuple(mesh)
    sample = sample if isinstance(sample, (tuple, list)) else (sample,)
    rates = (machine.flops, machine.bandwidth, machine.launch)
    links = [(latency, 1 / bandwidth) for latency, bandwidth in machine.links]
    step = _Step(module, sample, loss, optimizer)
    planner = lambda: _core._Planner(mesh, rates, machine.memory, links, step.variables, step.members)
    step.find_activations(planner())
    (chosen, figures), usual, tried = planner().search(step)
    lies = {name: tuple(one and _Sbp._of(one) for one in chosen[variable]) for name, variable in step.lies.items()}
    inputs = tuple(lies.get(f"input {i}") for i in range(len(sample)))
    parameters = {name: sbp for name, sbp in lies.items() if name in step.parameters}
    activations = {name: lies[f"{name}()"] for name in step.activations if any(lies[f"{name}()"])}
    usual = {name: Spent(*spent) for name, (_, spent) in usual}
    return Plan(mesh, Spent(*figures), parameters, inputs, activations, usual, tried, step.shapes)


def _distributed(tensor, place, sbp):
    from .._global.convert import text

    return _core._distribute(tensor, text("Plan.apply", place, sbp))


def _text(one):
    return "as it comes" if one is None else str(one)


def _product(numbers):
    product = 1
    for number in numbers:
        product *= number
    return product


def _nested(ranks, mesh):
    if len(mesh) == 1:
        return ranks
    size = len(ranks) // mesh[0]
    return [_nested(ranks[i : i + size], mesh[1:]) for i in range(0, len(ranks), size)]


def _seconds(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds < 1 else f"{seconds:.3f} s"


def _bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 10240:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.0f} TiB"
