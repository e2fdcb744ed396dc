"""Chains of calls over 8 million elements, as they are and compiled: one pass over memory is all that they cannot do without."""

from case import Case

ROWS, COLUMNS = 8192, 1024
COUNT = ROWS * COLUMNS
BYTES = 4


def cases(torch):
    found = {}
    for name, (call, passes) in chains(torch).items():
        moved = passes * COUNT * BYTES
        found[name] = Case(call, moved=moved)
        found[f"{name}, compiled"] = Case(torch.compile(call), moved=moved)
    return found


def chains(torch):
    """The calls, and how many tensors of all elements each reads and writes."""
    f = torch.nn.functional
    x, y = torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)
    scale, shift = torch.randn(COLUMNS), torch.randn(COLUMNS)
    scores, mask = torch.randn(8, 1024, COLUMNS), torch.randn(1024, COLUMNS)
    labels = torch.randint(0, COLUMNS, (ROWS,))
    weight, gradient = torch.randn(COUNT), torch.randn(COUNT)
    mean, square = torch.zeros(COUNT), torch.zeros(COUNT)

    def adam():
        m = mean * 0.9 + gradient * 0.1
        v = square * 0.999 + gradient * gradient * 0.001
        return weight - 0.001 * m / (v.sqrt() + 1e-8), m, v

    def cross_entropy():
        logits = x.detach().requires_grad_()
        return torch.autograd.grad(f.cross_entropy(logits, labels), logits)

    return {
        "gelu(x * w + b)": (lambda: f.gelu(x * scale + shift), 2),
        "softmax(x / 8 + mask)": (lambda: torch.softmax(scores * 0.125 + mask, -1), 2),
        "layer_norm(x + y)": (lambda: f.layer_norm(x + y, (COLUMNS,), scale, shift), 3),
        "silu(x) * y": (lambda: f.silu(x) * y, 3),
        "a step of Adam": (adam, 7),
        "mean((x - y)^2)": (lambda: ((x - y) ** 2).mean(), 2),
        "cross_entropy and its gradient": (cross_entropy, 3),
    }
