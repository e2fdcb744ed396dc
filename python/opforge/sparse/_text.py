"""How sparse tensors are printed."""

from __future__ import annotations

from .. import _core


def coo_text(tensor):
    """As PyTorch prints the layout `sparse_coo`."""
    return _text(tensor, {"indices": tensor._places, "values": tensor._elements.detach()})


def compressed_text(tensor):
    """As PyTorch prints the layouts `sparse_csr` and `sparse_csc`."""
    names = ("ccol_indices", "row_indices") if tensor._axis else ("crow_indices", "col_indices")
    return _text(tensor, dict(zip(names, (tensor._starts, tensor._others)), values=tensor._elements.detach()))


def _text(tensor, parts):
    lines = [f"{name}={_part(name, part)}" for name, part in parts.items()]
    ends = [f"size={_sizes(tensor.shape)}", f"nnz={tensor._nnz()}"]
    if tensor.dtype not in (_core.get_default_dtype(), _core.int64, _core.bool) or not tensor._nnz() and tensor.dtype != _core.get_default_dtype():
        ends.append(f"dtype={tensor.dtype}")
    ends.append(f"layout={tensor.layout}")
    text = "tensor(" + ",\n       ".join([*lines, ", ".join(ends)])
    if tensor.grad_fn is not None:
        return f"{text},\n       grad_fn=<{tensor.grad_fn.name()}>)"
    return f"{text}, requires_grad=True)" if tensor.requires_grad else f"{text})"


def _sizes(shape):
    return repr(tuple(shape))


def _part(name, part):
    """A tensor's own text, without its dtype, indented to its place."""
    text = repr(part)
    if part.dim() == 1 and not len(part):
        text = text.replace("tensor([]", "tensor([], size=(0,)")
    if f", dtype={part.dtype})" in text:
        text = text.replace(f", dtype={part.dtype})", ")")
    return text.replace("\n", "\n" + " " * (len("tensor(") + len(name) + 1))
