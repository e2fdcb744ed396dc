"""Cells that hold cells."""

from __future__ import annotations

from collections import OrderedDict

from ..cell import Cell

__all__ = ["CellDict", "CellList", "SequentialCell"]


class _Numbered(Cell):
    """Cells by numbers."""

    def __init__(self, *args, **kwargs):
        super().__init__(**kwargs)
        args = args[0] if len(args) == 1 and not isinstance(args[0], Cell) else args
        for name, cell in args.items() if isinstance(args, dict) else enumerate(args):
            self._insert(str(name), cell)

    def _insert(self, name, cell):
        if not isinstance(cell, Cell):
            raise TypeError(f"{type(self).__name__}: {name} is a {type(cell).__name__} (accepted: a Cell)")
        self.insert_child_to_cell(name, cell)

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells.values())

    def __getitem__(self, index):
        cells = list(self._cells.values())
        return type(self)(*cells[index]) if isinstance(index, slice) else cells[index]

    def __setitem__(self, index, cell):
        self._insert(list(self._cells)[index], cell)

    def __delitem__(self, index):
        del self._cells[list(self._cells)[index]]
        left = list(self._cells.values())
        self._cells.clear()
        self._cells.update((str(i), cell) for i, cell in enumerate(left))

    def append(self, cell):
        """Adds a cell at the end; returns the container."""
        self._insert(str(len(self)), cell)
        return self

    def extend(self, cells):
        """Adds cells at the end; returns the container."""
        for cell in cells:
            self.append(cell)
        return self

    def insert(self, index, cell):
        """Adds a cell before the one at `index`."""
        left = list(self._cells.values())
        left.insert(index, cell)
        self._cells.clear()
        for i, item in enumerate(left):
            self._insert(str(i), item) if item is cell else self._cells.update({str(i): item})


class SequentialCell(_Numbered):
    """Cells, each of which gets the result of the one before: several arguments, a list, or an ordered dictionary with their names."""

    def construct(self, x):
        for cell in self._cells.values():
            x = cell(x)
        return x


class CellList(_Numbered):
    """Cells as a list."""

    def construct(self, *args):
        raise NotImplementedError("CellList: a list of cells computes nothing (accepted: calls of its items)")


class CellDict(Cell):
    """Cells as a dictionary."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        self.update(OrderedDict(*args, **kwargs))

    def update(self, cells):
        """Adds cells, or replaces those of the same names."""
        for name, cell in cells.items():
            self.insert_child_to_cell(name, cell)

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells)

    def __getitem__(self, name):
        return self._cells[name]

    def __setitem__(self, name, cell):
        self.insert_child_to_cell(name, cell)

    def __delitem__(self, name):
        del self._cells[name]

    def __contains__(self, name):
        return name in self._cells

    def keys(self):
        """The names."""
        return self._cells.keys()

    def values(self):
        """The cells."""
        return self._cells.values()

    def items(self):
        """The names and cells."""
        return self._cells.items()
