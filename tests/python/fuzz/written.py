"""Calls of what is written by hand: operators, indices, methods and functions beside the declared ones."""

from __future__ import annotations

from dataclasses import dataclass

from .calls import Argument, Call
from .declared import any_stretched, arrays, stretch
from .draw import Draw
from .values import Alias, Plain


@dataclass(frozen=True)
class Written:
    name: str
    path: str
    types: tuple[str, ...]
    # Types of further arguments, some of which are left out.
    optional: tuple[tuple[str, str], ...] = ()
    method: bool = False
    # Whether the first argument may change, and is returned.
    changed: bool = False
    returned: bool = False


def _function(path: str, *types: str, changed: bool = False, returned: bool = False, **optional: str) -> Written:
    return Written(path, path, types, tuple(optional.items()), False, changed, returned)


def _method(name: str, *types: str, changed: bool = False, returned: bool = False, **optional: str) -> Written:
    return Written(f"Tensor.{name}", name, ("Tensor", *types), tuple(optional.items()), True, changed, returned)


BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge".split()
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
PROPERTIES = "shape dtype device ndim is_cpu itemsize nbytes is_cuda is_meta _version T mT H mH real imag requires_grad is_leaf grad grad_fn data output_nr".split()
READ = """dim ndimension numel nelement element_size storage_offset is_contiguous is_floating_point is_complex is_signed half bfloat16 float double long int
short char byte bool cpu type contiguous clone item tolist __bool__ __float__ __int__ __index__ __complex__ __len__ __hash__ __repr__ detach untyped_storage
data_ptr is_shared pin_memory is_pinned numpy __dlpack__ __dlpack_device__ retain_grad""".split()

ALL = [
    *[Written(f"operator.{name}", f"operator.{name}", types) for name in BINARY for types in (("Tensor", "Tensor | Number"), ("Number", "Tensor"))],
    *[_function(f"operator.{name}", "Tensor", "Tensor | Number", changed=True, returned=True) for name in IN_PLACE],
    *[_function(f"operator.{name}", "Tensor") for name in ("neg", "pos", "abs", "invert")],
    *[Written("getitem", "operator.getitem", ("Tensor", "index"))] * 20,
    *[Written("setitem", "operator.setitem", ("Tensor", "index", kind), changed=True) for kind in ("Tensor | Number", "Tensor | Number", "data")] * 6,
    *[Written(f"Tensor.{name}", f"(lambda x: x.{name})", ("Tensor",)) for name in PROPERTIES],
    *[Written(f"Tensor.{name}", name, ("Tensor",), method=True, changed=name == "retain_grad") for name in READ],
    _method("size", dim="int"),
    _method("stride", dim="int"),
    _method("is_same_size", "Tensor"),
    _method("to", "dtype", copy="bool"),
    _method("to", "Tensor"),
    _method("to", "device | str", dtype="dtype"),
    _method("type", "dtype"),
    _method("type_as", "Tensor"),
    _method("new", "int | Sequence[int]"),
    _method("new_tensor", "data", dtype="dtype", device="device | str", requires_grad="bool"),
    _method("requires_grad_", requires_grad="bool", changed=True, returned=True),
    _method("detach_", changed=True, returned=True),
    _method("backward", gradient="Tensor", retain_graph="bool", create_graph="bool"),
    _method("__contains__", "Number"),
    _method("__array__"),
    _method("__format__", "str"),
    _function("(lambda x, y: setattr(x, 'data', y))", "Tensor", "Tensor", changed=True),
    _function("(lambda x, y: setattr(x, 'grad', y))", "Tensor", "Tensor | None", changed=True),
    _function("(lambda x, y: setattr(x, 'requires_grad', y))", "Tensor", "bool", changed=True),
    _function("(lambda x: [x for x in x])", "Tensor"),
    _function("(lambda x: pickle.loads(pickle.dumps(x)))", "Tensor"),
    _function("copy.deepcopy", "Tensor"),
    _function("copy.copy", "Tensor"),
    _function("torch.from_dlpack", "Tensor"),
    _function("torch.autograd.grad", "Tensor", "Tensor", grad_outputs="Tensor", create_graph="bool", allow_unused="bool"),
    _function("torch.tensor", "data", dtype="dtype", device="device | str", requires_grad="bool"),
    _function("torch.as_tensor", "data", dtype="dtype", device="device | str"),
    _function("torch.asarray", "data", dtype="dtype", device="device | str", copy="bool", requires_grad="bool"),
    _function("torch.Tensor", "data"),
    _function("torch.Tensor", "int | Sequence[int]"),
    _function("torch.frombuffer", "Tensor", dtype="dtype", count="int", offset="int"),
    _function("torch.scalar_tensor", "Number", dtype="dtype", device="device | str", requires_grad="bool"),
    _function("torch.is_nonzero", "Tensor"),
    _function("torch.result_type", "Tensor | Number", "Tensor | Number"),
    _function("torch.promote_types", "dtype", "dtype"),
    _function("torch.can_cast", "dtype", "dtype"),
    _function("torch.finfo", "dtype"),
    _function("torch.iinfo", "dtype"),
    _function("torch.is_same_size", "Tensor", "Tensor"),
    _function("torch.broadcast_shapes", "int | Sequence[int]", "int | Sequence[int]"),
    _function("torch.tensordot", "Tensor", "Tensor", dims="int | Sequence[int]"),
    _function("torch.histogramdd", "Tensor", "int | Sequence[int]", range="Sequence[float]", weight="Tensor", density="bool"),
    _function("torch.lu", "Tensor", pivot="bool", get_infos="bool"),
    _function("torch.svd_lowrank", "Tensor", q="int", niter="int", M="Tensor"),
    _function("torch.pca_lowrank", "Tensor", q="int", center="bool", niter="int"),
    _function("torch.hash_tensor", "Tensor", dim="int | Sequence[int] | None", keepdim="bool", mode="int"),
    *[_function(f"torch.{name}_window", "int", periodic="bool", dtype="dtype") for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")],
    *[_function(f"torch.nn.functional.max_unpool{n}d", "Tensor", "Tensor", "int | Sequence[int]", stride="int", padding="int") for n in (1, 2, 3)],
    *[_function(f"torch.nn.functional.lp_pool{n}d", "Tensor", "float", "int | Sequence[int]", stride="int", ceil_mode="bool") for n in (1, 2, 3)],
    _function("torch.nn.functional.local_response_norm", "Tensor", "int", alpha="float", beta="float", k="float"),
    _function("torch.nn.functional.linear_cross_entropy", "Tensor", "Tensor", "Tensor"),
    _function("torch.nn.functional.triplet_margin_with_distance_loss", "Tensor", "Tensor", "Tensor", margin="float", swap="bool", reduction="str"),
    _function("torch.nn.functional.upsample", "Tensor", size="int | Sequence[int]", scale_factor="float", mode="str"),
    _function("torch.nn.functional.rrelu", "Tensor", lower="float", upper="float", training="bool"),
    Written("Generator.set_state", "torch.Generator().set_state", ("Tensor",)),
    Written("Generator.manual_seed", "torch.Generator().manual_seed", ("int",)),
    Written("UntypedStorage", "torch.UntypedStorage", ("int",)),
]


def drawn(draw: Draw, stretched: bool) -> Call:
    what = draw.pick.choice(ALL)
    arguments = [Argument(draw.argument(kind)) for kind in what.types]
    arguments += [Argument(draw.argument(kind), name) for name, kind in what.optional if draw.chance(0.4)]
    if what.types[0] == "Tensor" and not arrays(arguments[0].value):
        arguments[0] = Argument(draw.tensor())
    if len(arguments) > 1 and draw.chance(0.05) and arrays(arguments[0].value) and isinstance(arguments[1].value, Plain):
        arguments[1] = Argument(Alias("a0"))
    if stretched:
        arguments = stretch(draw, arguments)
    arguments[0] = Argument(arguments[0].value, arguments[0].keyword, what.changed, what.returned)
    return Call(what.name, what.path, tuple(arguments), what.method, None, any_stretched(arguments))
