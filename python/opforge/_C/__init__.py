"""The few names of PyTorch's extension module that Python packages read. opforge's own extension module is `opforge._core`."""

from __future__ import annotations

from .. import _core
from .._absent import absent_names
from .._core import Generator, Tensor, default_generator, device, dtype
from .._tensors.size import Size
from ..autograd import is_grad_enabled
from ..overrides import DisableTorchFunction, DisableTorchFunctionSubclass, _is_torch_function_mode_enabled  # noqa: F401
from . import _functorch, _nn  # noqa: F401
from ._below_autograd import _AutoDispatchBelowAutograd  # noqa: F401
from ._dispatch import (  # noqa: F401
    DispatchKey,
    DispatchKeySet,
    _dispatch_has_computed_kernel_for_dispatch_key,
    _dispatch_has_kernel_for_dispatch_key,
    _ExcludeDispatchKeyGuard,
)

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "Size", "Tensor", "TensorBase", "default_generator", "device", "dtype",
    "is_grad_enabled",
]  # fmt: skip

TensorBase = _TensorBase = Tensor
_disabled_torch_function_impl = _core._disabled_torch_function_impl
_DisableTorchFunction = DisableTorchFunction
_TensorMeta = type(Tensor)
_LinAlgError = _core.LinAlgError
_set_grad_enabled = _core.set_grad_mode
# What was built: no device but the CPU.
_has_cuda = has_cuda = _has_mps = has_mps = _has_xpu = False
_has_mkldnn = has_mkldnn = has_mkl = False
has_openmp = has_lapack = _has_lapack = True
globals().update(
    absent_names(__name__, "opforge.save and opforge.load write and read PyTorch's files", classes="PyTorchFileReader PyTorchFileWriter")
)

globals().update(
    absent_names(
        __name__, "opforge has no compiler of scripts and none of its types",
        classes="AnyType Argument Block DeviceObjType FunctionSchema Graph IntType ListType Node OptionalType TensorType TupleType Type Value",
    )
)  # fmt: skip


def _get_tracing_state():
    """The trace of a script that is being recorded: none ever is."""
    return None


def _is_tracing():
    """Whether a script is being recorded: never."""
    return False


def _get_max_operator_version():
    """The version of PyTorch's operators in scripts, of which there are none."""
    return 0


def _log_api_usage_once(event):
    """Nothing is logged."""


def _cuda_getDeviceCount():
    """The number of CUDA devices."""
    return 0


def _is_torch_function_enabled():
    """Whether functions look for `__torch_function__` of their arguments."""
    return _core._watching()[1]


def _get_accelerator(check=None):
    """The device of the accelerator: there is none, it is the CPU."""
    return device("cpu")


def _are_functorch_transforms_active():
    """Whether a call is inside of a transform such as `vmap` that only PyTorch's own tracers need to know of."""
    return False


_get_default_device = lambda: str(_core.get_default_device())
