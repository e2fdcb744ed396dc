"""Masks by blocks: which blocks of keys a block of queries attends to, in part or as a whole."""

from __future__ import annotations

from .... import _core
from .masks import mask_of, noop_mask

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask:
    """A mask of `(batch, heads, queries, keys)` by blocks of `BLOCK_SIZE`: for each row of blocks the numbers of those in which `mask_mod` decides
    (`kv_num_blocks` of them, the first of `kv_indices`), and of those that are true as a whole (`full_kv_num_blocks`, `full_kv_indices`); what is in
    neither is false. `q_num_blocks`, `q_indices` and so on are the same by columns. Numbers are int32; counts are `(batch, heads, rows)`, indices
    `(batch, heads, rows, columns)`.
    """

    def __init__(
        self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks,
        full_q_indices, BLOCK_SIZE, mask_mod,
    ):  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None, seq_lengths=None,
        compute_q_blocks=True,
    ):  # fmt: skip
        """The mask of these rows of blocks; without `mask_mod` each is true as a whole. `seq_lengths`, of queries and keys, are those of the blocks unless
        given."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = BLOCK_SIZE if isinstance(BLOCK_SIZE, tuple) else (BLOCK_SIZE, BLOCK_SIZE)
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        q = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1)) if compute_q_blocks else (None, None)
        full_q = (None, None)
        if full_kv_num_blocks is not None and compute_q_blocks:
            full_q = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        blocks = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q)
        return cls(lengths, *blocks, size, noop_mask if mask_mod is None else mask_mod)

    def as_tuple(self, flatten=True):
        """All that the mask is made of."""
        lengths, size = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*lengths, *self._blocks(), *size, self.mask_mod)

    def _blocks(self):
        return (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices,
            self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip

    @property
    def shape(self):
        """Batch, heads, queries and keys."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self):
        """The number of places."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    def sparsity(self):
        """The percentage of blocks that are false as a whole."""
        dense = self.to_dense()
        return 100.0 * (1 - (dense > 0).sum().item() / max(dense.numel(), 1))

    def to_dense(self):
        """One where something of a block may be true, `(batch, heads, rows, columns)` of int32."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        return dense if self.full_kv_num_blocks is None else dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def allowed(self, batch, heads):
        """The mask as a tensor of bools, of 1 or `batch` and 1 or `heads`."""
        size = (batch, heads, *self.seq_lengths)
        mask = mask_of(self.mask_mod, size, self.kv_indices.device) & self._places(_dense(self.kv_num_blocks, self.kv_indices))
        if self.full_kv_num_blocks is not None:
            mask = mask | self._places(_dense(self.full_kv_num_blocks, self.full_kv_indices))
        return mask

    def _places(self, dense):
        """Blocks as places."""
        rows, columns = self.seq_lengths
        places = dense.bool().repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
        return places[..., :rows, :columns]

    def __getitem__(self, index):
        """The mask of some batches and heads."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        blocks = [None if block is None else block[index] for block in self._blocks()]
        return BlockMask(self.seq_lengths, *blocks, self.BLOCK_SIZE, self.mask_mod)

    def _adjust(self, new_q_len, new_kv_len):
        """The mask of shorter sequences."""
        rows, columns = (-(-length // size) for length, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))

        def part(count, indices):
            return (None, None) if count is None else _ordered(_dense(count, indices)[..., :rows, :columns])

        blocks = (*part(self.kv_num_blocks, self.kv_indices), *part(self.full_kv_num_blocks, self.full_kv_indices))
        return BlockMask.from_kv_blocks(*blocks, self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len))

    def to(self, device):
        """The mask with its tensors on a device."""
        blocks = [None if block is None else block.to(device) for block in self._blocks()]
        return BlockMask(self.seq_lengths, *blocks, self.BLOCK_SIZE, self.mask_mod)

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture for each batch and head, at most `limit` of them, of at most `grid_size` cells: dark where something may be true."""
        dense = self.to_dense()
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [max(1, -(-length // cells)) if cells > 0 else 1 for length, cells in zip(dense.shape[-2:], most)]
        pictures = []
        for b in range(dense.shape[0]):
            for h in range(dense.shape[1]):
                cells = [row[:: steps[1]] for row in dense[b, h].tolist()[:: steps[0]]]
                pictures.append(f"({b}, {h})\n" + "\n".join("".join("██" if cell else "  " for cell in row) for row in cells))
        rest = "\n\n..." if len(pictures) > limit else ""
        return "\n\n".join(pictures[:limit]) + rest

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()}\n)"

    def __repr__(self):
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return f"BlockMask(shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE}, sparsity={self.sparsity():.2f}%, mask_mod={name})"


def _dense(count, indices):
    """One at the first `count` indices of each row."""
    columns = indices.shape[-1]
    is_listed = _core.arange(columns, device=indices.device) < count.unsqueeze(-1)
    # What is not listed goes to a column of its own.
    places = _core.where(is_listed, indices.long(), columns)
    dense = _core.zeros((*indices.shape[:-1], columns + 1), dtype=_core.int32, device=indices.device)
    return dense.scatter(-1, places, _core.ones_like(places, dtype=_core.int32))[..., :columns]


def _ordered(dense):
    """For each row the number of ones, and the columns, those of the ones first."""
    order = dense.int().argsort(dim=-1, descending=True, stable=True)
    return dense.sum(-1).int(), order.int()


def create_block_mask(
    mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False, separate_full_blocks=True, compute_dq_write_order=False,
    dq_kv_order=True,
):  # fmt: skip
    """The blocks of a mask that is a function `(batch, head, query, key) -> bool` of four integer tensors. None for `B` or `H`: it is the same for all.

    The function is evaluated on the device (by default a GPU's, where there is one) at all places, by broadcasting if it allows it (see `pointwise.py`).

    >>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> causal.to_dense()[0, 0].tolist()
    [[1, 0], [1, 1]]
    """
    size = BLOCK_SIZE if isinstance(BLOCK_SIZE, tuple) else (BLOCK_SIZE, BLOCK_SIZE)
    device = "cuda" if device is None and _core._cuda_count() else device
    mask = mask_of(mask_mod, (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN), device)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = _core.nn.pad(mask, (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN), value=False)
    counts = padded.reshape(*mask.shape[:2], rows, size[0], columns, size[1]).sum((-3, -1))
    full = counts == size[0] * size[1]
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    full_blocks = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(*_ordered(partial), *full_blocks, size, mask_mod, (Q_LEN, KV_LEN))
