"""A network with operators of its own: C++ kernels, compiled when they are first used, with gradients."""

import pathlib
import time

import opforge as torch
from cnn import accuracy, load
from opforge import nn
from opforge.nn import functional as F
from opforge.utils.data import DataLoader

KERNELS = pathlib.Path(__file__).parent / "kernels"
EPOCHS = 8


def operators():
    """The fused addition and reduction, whose gradient is a Python function, and the normalisation, whose gradient is another kernel."""
    add_reduce = torch.custom_op(
        f"{KERNELS}/add_reduce.cc:AddReduce", schema="(Tensor x, Tensor y, *, int axis, bool keep_dim=False) -> Tensor"
    )

    def keep_axis(ctx, inputs, output):
        ctx.shape, ctx.axis, ctx.keep_dim = inputs[0].shape, inputs[2], inputs[3]

    def spread(ctx, grad):
        grad = (grad if ctx.keep_dim else grad.unsqueeze(ctx.axis)).expand(ctx.shape)
        return grad, grad

    add_reduce.register_autograd(spread, setup_context=keep_axis)
    normalize = torch.custom_op(
        f"{KERNELS}/normalize.cc:Normalize",
        schema="(Tensor x, *, float epsilon=1e-5) -> (Tensor, Tensor, Tensor)",
        gradient=torch.custom_op(f"{KERNELS}/normalize.cc:NormalizeGrad"),
    )
    return add_reduce, normalize


class Votes(nn.Module):
    """Four times two votes for each digit, from normalised features: the logits are their sum."""

    def __init__(self, add_reduce, normalize):
        super().__init__()
        self.features, self.scale = nn.Linear(64, 128), nn.Parameter(torch.ones(128))
        self.left, self.right = nn.Linear(128, 40), nn.Linear(128, 40)
        self.add_reduce, self.normalize = add_reduce, normalize

    def forward(self, images):
        normalized, _mean, _scale = self.normalize(self.features(images.flatten(1)))
        features = F.relu(normalized * self.scale)
        left, right = (head(features).unflatten(1, (4, 10)) for head in (self.left, self.right))
        return self.add_reduce(left, right, axis=1)


def train():
    """Trains the network and returns its accuracy on held-out digits."""
    start = time.perf_counter()
    add_reduce, normalize = operators()
    print(f"Custom operators: two C++ files compiled, or found in the cache, in {time.perf_counter() - start:.2f} s")
    compare(add_reduce, normalize)
    torch.manual_seed(0)
    training, held_out = load()
    model, criterion = Votes(add_reduce, normalize), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(EPOCHS):
        for images, labels in DataLoader(training, batch_size=64, shuffle=True):
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return accuracy(model, held_out)


def compare(add_reduce, normalize):
    """The kernels agree with compositions of opforge's own operators, in values and gradients."""
    x, y = torch.randn(5, 6, 7, requires_grad=True), torch.randn(5, 6, 7, requires_grad=True)
    weight = torch.randn(5, 6, 7)
    normalized, mean, scale = normalize(x)
    ours = (add_reduce(x, y, axis=1, keep_dim=True) * weight + normalized * weight + (mean - scale).unsqueeze(2)).sum()
    mean, scale = x.mean(2), (x.var(2, correction=0) + 1e-5).rsqrt()
    theirs = ((x + y).sum(1, keepdim=True) * weight + F.layer_norm(x, (7,)) * weight + (mean - scale).unsqueeze(2)).sum()
    difference = max(
        (a - b).abs().max().item()
        for a, b in zip((ours, *torch.autograd.grad(ours, (x, y))), (theirs, *torch.autograd.grad(theirs, (x, y))))
    )
    print(f"  largest difference from compositions, in values and gradients: {difference:.1e}")
    assert difference < 1e-3, "a kernel or its gradient is wrong"
