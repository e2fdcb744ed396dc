"""What packages ask whether PyTorch's tracer of operators is at work."""

from __future__ import annotations

from ..._absent import absent_names

globals().update(absent_names(__name__, "opforge.export and opforge.compile trace operators", functions="make_fx"))


def get_proxy_mode():
    """The tracer at work: None."""
    return None
