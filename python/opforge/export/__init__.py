"""Modules as graphs that are saved and run without the module's code.

>>> class Scale(opforge.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.weight = opforge.nn.Parameter(opforge.tensor([2.0, 3.0]))
...     def forward(self, x):
...         return {"scaled": x * self.weight}
>>> exported = opforge.export.export(Scale(), (opforge.ones(2),))
>>> import tempfile
>>> with tempfile.TemporaryDirectory() as directory:
...     opforge.export.save(exported, directory)
...     loaded = opforge.export.load(directory)
>>> loaded.module()(opforge.ones(2))["scaled"].tolist()
[2.0, 3.0]
"""

from ._dataclasses import register_dataclass
from ._dims import Dim, dims
from ._program import ExportedProgram, export, load, save

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "register_dataclass", "save"]
