"""What programs tell a script compiler. There is none here: decorated functions and modules are Python's, and run as they are written.

`opforge.compile` and `nn.Graph` make programs of functions; `opforge.export` writes them to files.
"""

from __future__ import annotations

from typing import Final

from .. import nn
from .._absent import absent_names
from . import _trace
from .annotations import (  # noqa: F401
    Attribute,
    TracerWarning,
    _overload,
    _overload_method,
    _script_if_tracing,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,  # noqa: A004  PyTorch's name
    script,
    script_if_tracing,
    script_method,
    unused,
)

__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "RecursiveScriptModule", "annotate", "export", "fork", "freeze",
    "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script",
    "script_if_tracing", "script_method", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class Error(RuntimeError):
    """What a compiled script would raise."""


class ScriptModule(nn.Module):
    """A module. Subclasses run as any other's."""


class RecursiveScriptModule(ScriptModule):
    """What compiling a module would give. `script` gives the module itself, so that nothing is an instance of this."""


trace = _trace.trace
fork, wait = _trace.fork, _trace.wait


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module as it is; like PyTorch's it must be in eval mode."""
    if mod.training:
        raise RuntimeError("freeze(): the module must be in eval mode; call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module as it is."""
    return mod


def set_fusion_strategy(strategy):
    """Ignored: it is for the compiler of scripts. Returns the strategy before, which is none."""
    return []


class strict_fusion:
    """A context that asks a compiler of scripts for warnings. Nothing happens in it."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


_REASON = "opforge has no compiler of scripts; opforge.export saves and loads programs"
globals().update(
    absent_names(__name__, _REASON, functions="_get_trace_graph load save trace_module", classes="CompilationUnit ScriptFunction TopLevelTracedModule")
)
