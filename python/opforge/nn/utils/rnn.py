"""Sequences of different lengths: padded to one tensor, or packed time step by time step."""

from __future__ import annotations

from collections import namedtuple

from ... import _core as _C
from ..._calls.arguments import name_arguments as _name_arguments


class PackedSequence(namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """Sequences, longest first, without padding: all first steps, then all second ones, and so on.

    `batch_sizes[t]` sequences have a step `t`. `sorted_indices` says where each sequence came from, `unsorted_indices` is its inverse; both
    are None if the sequences came in order. Made by [`pack_padded_sequence`] and [`pack_sequence`].
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same with the data converted as `Tensor.to` does."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self):
        """The same on the CPU."""
        return self.to("cpu")

    def double(self):
        """The same with float64 data."""
        return self.to(_C.float64)

    def float(self):
        """The same with float32 data."""
        return self.to(_C.float32)

    def half(self):
        """The same with float16 data."""
        return self.to(_C.float16)

    def long(self):
        """The same with int64 data."""
        return self.to(_C.int64)

    def int(self):
        """The same with int32 data."""
        return self.to(_C.int32)

    def short(self):
        """The same with int16 data."""
        return self.to(_C.int16)

    def char(self):
        """The same with int8 data."""
        return self.to(_C.int8)

    def byte(self):
        """The same with uint8 data."""
        return self.to(_C.uint8)

    def cuda(self, *args, **kwargs):
        """The same on a GPU."""
        return self._replace(data=self.data.to("cuda", *args, **kwargs))

    def pin_memory(self):
        """The same in memory that a device copies from."""
        return self._replace(data=self.data.pin_memory())

    def is_pinned(self):
        """Whether the data is in memory that a device copies from."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation):
    """The permutation that undoes `permutation`; None for None."""
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs `(T, B, *)`, or `(B, T, *)` if `batch_first`, of sequences with these `lengths`.

    They must be in order of decreasing length unless `enforce_sorted` is False.
    """
    lengths = lengths.tolist() if isinstance(lengths, _C.Tensor) else list(lengths)
    if batch_first:
        input = input.transpose(0, 1)
    if len(lengths) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.size(1)})")
    if not lengths or min(lengths) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if max(lengths) > input.size(0):
        raise RuntimeError(f"Length of all samples has to be at most the {input.size(0)} steps of 'input', but found {max(lengths)}")
    sorted_indices = None
    if not enforce_sorted:
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        lengths = [lengths[i] for i in order]
        sorted_indices = _C.tensor(order, dtype=_C.int64, device=input.device)
        input = input.index_select(1, sorted_indices)
    elif any(a < b for a, b in zip(lengths, lengths[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence to sidestep this requirement."
        )
    sizes = []  # how many sequences have step t
    alive = len(lengths)
    for t in range(lengths[0]):
        while lengths[alive - 1] <= t:
            alive -= 1
        sizes.append(alive)
    data = _C.cat([part.reshape(-1, *input.shape[2:]) for part in _runs(input, sizes)])
    return PackedSequence(data, _C.tensor(sizes, dtype=_C.int64), sorted_indices)


def constant_runs(sizes):
    """(first step, one past the last, size) of the runs of equal sizes."""
    start = 0
    for t in range(1, len(sizes) + 1):
        if t == len(sizes) or sizes[t] != sizes[start]:
            yield start, t, sizes[start]
            start = t


def _runs(input, sizes):
    return [input[start:end, :size] for start, end, size in constant_runs(sizes)]


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undoes [`pack_padded_sequence`]: the padded sequences in their first order, and their lengths."""
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {len(sizes)}"
        )
    data, batch, features = sequence.data, sizes[0], sequence.data.shape[1:]

    def padding(steps, count):
        return _C.full((steps, count, *features), padding_value, dtype=data.dtype, device=data.device)

    blocks, row = [], 0
    for start, end, size in constant_runs(sizes):
        count = (end - start) * size
        block = data[row : row + count].reshape(end - start, size, *features)
        blocks.append(_C.cat([block, padding(end - start, batch - size)], 1) if size < batch else block)
        row += count
    if steps > len(sizes):
        blocks.append(padding(steps - len(sizes), batch))
    output = _C.cat(blocks)
    lengths = _C.tensor([sum(size > i for size in sizes) for i in range(batch)], dtype=_C.int64)
    if sequence.unsorted_indices is not None:
        output = output.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.cpu())
    return (output.transpose(0, 1) if batch_first else output), lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences `(L_i, *)` as one tensor `(T, B, *)`, or `(B, T, *)` if `batch_first`."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    steps = max(sequence.size(0) for sequence in sequences)
    padded = []
    for sequence in sequences:
        missing = steps - sequence.size(0)
        if missing:
            padding = _C.full((missing, *sequence.shape[1:]), padding_value, dtype=sequence.dtype, device=sequence.device)
            sequence = _C.cat([padding, sequence] if padding_side == "left" else [sequence, padding])
        padded.append(sequence)
    return _C.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Undoes [`pad_sequence`]."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows.unbind(0), lengths.tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences `(L_i, *)`."""
    sequences = list(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Undoes [`pack_sequence`]."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


_name_arguments(globals())
