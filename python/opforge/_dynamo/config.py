"""Settings of PyTorch's tracer. They can be read, set and patched; `opforge.compile` needs none of them and looks at none."""

from __future__ import annotations

import contextlib

suppress_errors = False
verbose = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
automatic_dynamic_shapes = True
assume_static_by_default = True
dynamic_shapes = True
optimize_ddp = False
guard_nn_modules = False
inline_inbuilt_nn_modules = True
force_parameter_static_shapes = True
allow_unspec_int_on_nn_module = False
error_on_recompile = False
disable = False


@contextlib.contextmanager
def patch(changes=None, value=None, **options):
    """A context, or decorator, in which settings have other values: `patch("name", value)`, `patch({..})`, `patch(name=..)`."""
    changes = {changes: value} if isinstance(changes, str) else dict(changes or {}, **options)
    settings = globals()
    before = {name: settings[name] for name in changes if name in settings}
    settings.update(changes)
    try:
        yield
    finally:
        for name in changes:
            del settings[name]
        settings.update(before)
