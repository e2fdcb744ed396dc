"""Transformations of functions: derivatives that are functions themselves, and functions of single examples made functions of batches. They may be nested
as one likes.

>>> x = opforge.tensor([1.0, 2.0])
>>> grad(lambda x: (x**3).sum())(x).tolist()
[3.0, 12.0]
>>> vmap(grad(grad(lambda x: x**3)))(x).tolist()
[6.0, 12.0]
"""

from __future__ import annotations

from ._derivatives import grad, grad_and_value, jvp, linearize, vjp
from ._functional import FunctionalModule, FunctionalModuleWithBuffers, make_functional, make_functional_with_buffers  # noqa: F401
from ._jacobians import hessian, jacfwd, jacrev
from ._modules import functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state
from ._vmap import vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
