"""opforge: tensors, operators, autograd and neural networks, under the names that PyTorch has.

>>> import opforge as torch
"""

from __future__ import annotations

from . import _core
from ._size import Size

_core.set_size_class(Size)
_core.set_package_folder(__path__[0])
for _name in dir(_core):
    if not _name.startswith("_"):
        globals()[_name] = getattr(_core, _name)
del _name
