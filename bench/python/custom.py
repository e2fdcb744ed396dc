"""What calls of custom operators cost from Python, beside a built-in operator's, and what loading them costs."""

import statistics
import tempfile
import time

from case import clock

import opforge

ADD = """
#include "custom_aot_extra.h"

extern "C" int Add(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  int64_t count = 1;
  for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];
  for (int64_t i = 0; i < count; ++i) ((float *)params[2])[i] = ((float *)params[0])[i] + ((float *)params[1])[i];
  return 0;
}
"""


def calls(cache):
    def add(**options):
        return opforge.load_inline(ADD, "Add", cache=cache, shapes=0, **options)

    x, y = opforge.ones(4), opforge.ones(4)
    r = opforge.ones(4, requires_grad=True)
    plain, isolated = add(), add(isolate=True)
    declared = add(schema="(Tensor x, Tensor y, *, int axis=0) -> Tensor")
    recorded = add()
    recorded.register_autograd(lambda ctx, grad: (grad, grad))

    @opforge.custom_op
    def function(x: opforge.Tensor, y: opforge.Tensor) -> opforge.Tensor:
        return x + y

    return {
        "x + y, built in": lambda: x + y,
        "op(x, y)": lambda: plain(x, y),
        "with a schema, an attribute left out": lambda: declared(x, y),
        "an attribute by name": lambda: declared(x, y, axis=1),
        "recorded for a gradient": lambda: recorded(r, y),
        "a Python function, x + y in it": lambda: function(x, y),
        "isolated, and the result read": lambda: isolated(x, y).tolist(),
    }


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory() as cache:
        first = seconds(lambda: opforge.load_inline(ADD, "Add", cache=cache, shapes=0))
        cached = statistics.median(seconds(lambda: opforge.load_inline(ADD, "Add", cache=cache, shapes=0)) for _ in range(20))
        for name, call in calls(cache).items():
            print(f"{name:40}{clock(call, opforge.synchronize) * 1e9:>10.0f} ns")
    print(f"{'first load, compiled':40}{first * 1e3:>10.0f} ms\n{'load from the cache':40}{cached * 1e3:>10.2f} ms")


if __name__ == "__main__":
    main()
