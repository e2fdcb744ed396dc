"""The classes of tensors' memory, and what Python can give them: the bytes of files, and parts of themselves."""

from __future__ import annotations

from ._absent import absent_class
from ._core import UntypedStorage

__all__ = ["Storage", "TypedStorage", "UntypedStorage"]

Storage = StorageBase = UntypedStorage
TypedStorage = absent_class("torch.storage.TypedStorage", "tensors have untyped storages: see Tensor.untyped_storage()")
