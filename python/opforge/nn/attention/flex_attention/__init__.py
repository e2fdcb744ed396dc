"""Attention whose scores and mask are functions that programs write (Dong et al., "Flex Attention", 2024)."""

from __future__ import annotations

from .attend import AuxOutput, AuxRequest, flex_attention
from .block_mask import _DEFAULT_SPARSE_BLOCK_SIZE, BlockMask, create_block_mask  # noqa: F401  which packages read
from .masks import and_masks, create_mask, noop_mask, or_masks

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]
