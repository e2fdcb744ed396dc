"""Functions with a backward of their own: a straight-through step, and a cube whose derivative is checked."""

import opforge as torch
from opforge.autograd import Function, gradcheck


class StraightThroughSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * ctx.scale * x**2, None


def main():
    torch.manual_seed(6)
    x = torch.randn(5, dtype=torch.double, requires_grad=True)
    checked = gradcheck(lambda t: Cube.apply(t, 2.0), (x,))
    # A layer with binary weights, learned through the straight-through gradient.
    target = torch.tensor([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0])
    weight = torch.nn.Parameter(torch.randn(8) * 0.1)
    optimizer = torch.optim.SGD([weight], lr=0.02)
    for _ in range(150):
        inputs = torch.randn(32, 8)
        loss = ((inputs @ StraightThroughSign.apply(weight) - inputs @ target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"checked": checked, "wrong_signs": int((weight.detach().sign() != target).sum())}
