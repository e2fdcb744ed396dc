"""How tensors are printed, under the name of the file that PyTorch has it in."""

from __future__ import annotations

from ._core import get_printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "set_printoptions"]


class _Options:
    """The options of `set_printoptions`, as they are now."""

    def __getattr__(self, name):
        options = get_printoptions()
        if name not in options:
            raise AttributeError(name)
        return options[name]


PRINT_OPTS = _Options()


def _tensor_str(self, indent):
    """The elements as `repr` shows them."""
    text = repr(self.detach())
    return text[len("tensor(") :].rpartition(")")[0]
