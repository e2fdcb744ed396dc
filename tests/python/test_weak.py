"""Dictionaries and references that tell tensors apart by identity, and keep none."""

import gc
import weakref

import pytest

import opforge as torch
from opforge.utils import weak


def test_weak_dictionaries_tell_tensors_apart_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    found = weak.WeakIdKeyDictionary({a: "a"})
    found[b] = "b"
    assert found[a] == "a" and found[b] == "b" and len(found) == 2 and a in found and torch.ones(2) not in found
    assert any(key is b for key in found) and weak.WeakIdRef(a) == weak.WeakIdRef(a) != weak.WeakIdRef(b)
    copied, reference = found.copy(), weak.TensorWeakRef(b)
    assert reference() is b
    del b
    gc.collect()
    assert len(found) == len(copied) == 1 and reference() is None
    del found[a]
    assert not found and weakref.ref(a)() is a
    with pytest.raises(TypeError):
        weak.TensorWeakRef(3)
