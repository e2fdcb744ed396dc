"""The named tuples that functions return, under PyTorch's names."""

from __future__ import annotations

import opforge

# A call that gives each.
_CALLS = {
    "aminmax": lambda x: opforge.aminmax(x),
    "cummax": lambda x: opforge.cummax(x, 0),
    "cummin": lambda x: opforge.cummin(x, 0),
    "kthvalue": lambda x: opforge.kthvalue(x, 1),
    "max": lambda x: opforge.max(x, 0),
    "median": lambda x: opforge.median(x, 0),
    "min": lambda x: opforge.min(x, 0),
    "mode": lambda x: opforge.mode(x, 0),
    "nanmedian": lambda x: opforge.nanmedian(x, 0),
    "sort": lambda x: opforge.sort(x),
    "topk": lambda x: opforge.topk(x, 1),
    "linalg_eigh": lambda x: opforge.linalg.eigh(x.diag()),
    "linalg_qr": lambda x: opforge.linalg.qr(x.diag()),
    "linalg_slogdet": lambda x: opforge.linalg.slogdet(x.diag()),
    "linalg_svd": lambda x: opforge.linalg.svd(x.diag()),
}


def __getattr__(name):
    if name not in _CALLS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    kind = globals()[name] = type(_CALLS[name](opforge.ones(2)))
    return kind


def __dir__():
    return sorted({*globals(), *_CALLS})
