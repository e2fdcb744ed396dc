"""Policies by which the parts of a module are wrapped, which need process groups."""

from __future__ import annotations

from ..._absent import absent_names
from .. import _REASON

_FUNCTIONS = "_or_policy always_wrap_policy enable_wrap lambda_auto_wrap_policy size_based_auto_wrap_policy transformer_auto_wrap_policy wrap"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes="CustomPolicy ModuleWrapPolicy"))
