"""Other people's PyTorch programs on opforge: after `import opforge.as_torch`, `import torch` means opforge.

    import opforge.as_torch             # first of all, then
    import torch                        # .. this, and the imports of torch in every package, give opforge

`opforge run script.py` and `python -m opforge script.py` do the same for a program that is not to be touched. Submodules are opforge's own
(`torch.nn is opforge.nn`); `torch` itself is a module of its own with opforge's names, since it tells another version:
`torch.__version__` and `importlib.metadata.version("torch")` name the PyTorch whose interface this is, `opforge.__version__` is opforge's.

A name or module that opforge lacks is an AttributeError or ImportError, as in PyTorch.
"""

from __future__ import annotations

import sys

from .finder import TorchFinder
from .spawned import inherit

__all__ = ["TorchImportedError", "install"]


class TorchImportedError(ImportError):
    """PyTorch itself was imported before `opforge.as_torch`: its modules and opforge's cannot be one."""


def install() -> None:
    """Has `import torch` give opforge from now on, in processes that `multiprocessing` starts too. A second call changes nothing.

    Raises TorchImportedError if PyTorch itself has been imported.
    """
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        return
    if "torch" in sys.modules:
        raise TorchImportedError(
            "opforge.as_torch: PyTorch is imported already; import opforge.as_torch before torch and whatever imports it", name="torch"
        )
    sys.meta_path.insert(0, TorchFinder())
    inherit()


install()
