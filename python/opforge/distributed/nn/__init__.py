"""Collective calls with gradients, which need process groups."""

from __future__ import annotations

from . import functional


def __getattr__(name):
    return getattr(functional, name)
