"""Methods of tensors that are written in Python, imported when they are first used."""

from __future__ import annotations

import importlib

from .._core import Tensor

# Their names, by the modules that have them.
_METHODS = {
    "_functional.copies": "as_strided_scatter slice_inverse unsafe_chunk unsafe_split unsafe_split_with_sizes",
    "_functional.factors": "ormqr",
    "_functional.memory": """
        apply_ as_strided_ cdouble cfloat const_data_ptr is_nonzero is_set_to map2_ map_ module_load new_empty_strided record_stream resize resize_
        resize_as resize_as_ set_
    """,
    "_functional.variants": "conj_physical_ float_power_ nonzero_static triangular_solve",
    "_calls.functions": "hash_tensor lu",
    "_global.convert": "is_global is_local placement sbp to_global to_local",
    "distributed.tensor._dtensor": "device_mesh full_tensor placements redistribute",
    "sparse._dense": "sparse_mask to_sparse to_sparse_coo to_sparse_csc to_sparse_csr",
}


class _Method:
    """Stands for a method until it is asked for, and then puts the function into its place."""

    def __init__(self, name, module):
        self.name, self.module = name, module

    def __get__(self, tensor, cls):
        function = getattr(importlib.import_module(f"opforge.{self.module}"), self.name)
        setattr(Tensor, self.name, function)
        return function if tensor is None else function.__get__(tensor, cls)


for _module, _names in _METHODS.items():
    for _name in _names.split():
        setattr(Tensor, _name, _Method(_name, _module))
