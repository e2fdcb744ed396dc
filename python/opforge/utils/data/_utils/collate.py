"""Batches from samples."""

from __future__ import annotations

from ..collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]

default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
