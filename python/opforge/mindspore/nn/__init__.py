"""Networks: `Cell`."""

from .cell import Cell as Cell
