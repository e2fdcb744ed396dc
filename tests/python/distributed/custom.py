"""Operators that users bring, on global tensors: whole, or in parts along the axes that they name."""

import opforge as torch
import opforge.distributed as dist
from opforge import Tensor, sbp

HEAD = """#include <cstdint>
extern "C" int {name}(int n, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {{
  const int64_t rows = shapes[0][0], columns = shapes[0][1];
  const float *x = (const float *)params[0];
  float *y = (float *){result};
  {body}
  return 0;
}}"""
EACH = "for (int64_t i = 0; i < rows * columns; ++i) y[i] = {};"
OF_ROWS = "for (int64_t i = 0; i < rows; ++i) {{ y[i] = {start}; for (int64_t j = 0; j < columns; ++j) {{ const float a = x[i * columns + j]; {step} }} }}"


def kernel(name, body, result="params[1]", **options):
    return torch.load_inline(HEAD.format(name=name, body=body, result=result), name, **options)


def of_rows(name, start, step, role=None):
    declared = {} if role is None else {"axes": "ab->a", "roles": {"b": role}}
    return kernel(name, OF_ROWS.format(start=start, step=step), shapes=lambda x: x[:1], **declared)


dist.init_process_group()
size = dist.get_world_size()
row = torch.placement.all("cpu")
whole = torch.arange(20.0).reshape(5, 4) * 0.25 - 2
LIES = [sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum]


def spread(tensor, how):
    return tensor.to_global(row, sbp.broadcast).to_global(sbp=how)


# What is named is split, and what is reduced becomes partial; the rest is boxed.
def by(column):
    """How results lie of rows and of columns."""
    return {sbp.split(0): sbp.split(0), sbp.split(1): column}


SUM = "0", "y[i] += a;"
FOLDS = [
    (of_rows("WholeSum", *SUM), whole.sum(1), dict.fromkeys(LIES, sbp.broadcast)),
    (of_rows("Sum", *SUM, "sum"), whole.sum(1), by(sbp.partial_sum)),
    (of_rows("Product", "1", "y[i] *= a;", "product"), whole.prod(1), by(sbp.partial("product"))),
    (of_rows("Greatest", "-1e30", "y[i] = a > y[i] ? a : y[i];", "max"), whole.amax(1), by(sbp.partial("max"))),
    (of_rows("Least", "1e30", "y[i] = a < y[i] ? a : y[i];", "min"), whole.amin(1), by(sbp.partial("min"))),
    (of_rows("Needs", *SUM, "whole"), whole.sum(1), {sbp.split(0): sbp.split(0)}),
]
for fold, wanted, lies in FOLDS:
    for how in LIES:
        given = spread(whole, how)
        found = fold(given)
        assert torch.allclose(found.cpu(), wanted), (fold, how, found.cpu(), wanted)
        if size > 1 and how in lies:
            assert found.sbp == (lies[how],), (fold, how, found.sbp)

# Gradients, by another such operator.
square = kernel("Square", EACH.format("x[i] * x[i]"), shapes=0, axes="ab->ab")
twice = kernel("Twice", EACH.format("2 * x[i]"), shapes=0, axes="ab->ab")
square.register_autograd(lambda ctx, grad: twice(ctx.saved_tensors[0]) * grad, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
for how in LIES:
    x = spread(whole, how).detach().requires_grad_()
    (square(x) * spread(whole, sbp.broadcast)).sum().backward()
    assert torch.allclose(x.grad.cpu(), 2 * whole * whole), how

# Changes in place.
double_ = kernel("Double", EACH.format("2 * x[i]"), "params[0]", schema="(Tensor(a!) x) -> ()")
for how in LIES:
    x = spread(whole, how)
    double_(x)
    assert torch.equal(x.cpu(), whole * 2), how


@torch.custom_op
def shifted(x: Tensor, by: float) -> Tensor:
    """A function of tensors, which are all ranks' here too."""
    assert x.shape == (5, 4)
    return x + by


for how in LIES:
    assert torch.equal(shifted(spread(whole, how), 1.5).cpu(), whole + 1.5), how

# A map that is not of these tensors splits nothing.
wrong = kernel("Wrong", EACH.format("x[i]"), shapes=0, axes="ab->a")
for how in LIES:
    assert torch.equal(wrong(spread(whole, how)).cpu(), whole), how
try:
    of_rows("Unknown", *SUM, "mean")
except ValueError as error:
    assert "product" in str(error), error
else:
    raise AssertionError("a role that there is not")
print("all is right", flush=True)
dist.destroy_process_group()
