"""Calls so small that nothing but the call costs."""

from case import Case


def cases(torch):
    functional = torch.nn.functional
    a, b, m = torch.ones(4), torch.ones(4), torch.ones(8, 8)
    r, into = torch.ones(4, requires_grad=True), torch.ones(4)
    compiled = torch.compile(lambda a, b: a + b)
    calls = {
        "a + b, 4 floats": lambda: a + b,
        "a + b, 4 floats, recorded": lambda: r + b,
        "a.add_(b), 4 floats": lambda: a.add_(b),
        "add(a, b, out=c), 4 floats": lambda: torch.add(a, b, out=into),
        "a + b, 4 floats, compiled": lambda: compiled(a, b),
        "relu, 4 floats": lambda: functional.relu(a),
        "sum, 4 floats": lambda: a.sum(),
        "matmul, 8x8": lambda: m @ m,
        "x[1:3]": lambda: a[1:3],
        "x[3]": lambda: m[3],
        "x.shape": lambda: a.shape,
        "x.reshape": lambda: m.reshape(4, 16),
        "x[0].item()": lambda: a[0].item(),
        "(r * 2).sum().backward()": lambda: (r * 2).sum().backward(),
    }
    return {name: Case(call) for name, call in calls.items()}
