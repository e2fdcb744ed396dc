"""Batches from samples."""

from __future__ import annotations

import re

from ..collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]

# The letters of dtypes of NumPy whose elements are no numbers.
np_str_obj_array_pattern = re.compile("[SaUO]")
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
