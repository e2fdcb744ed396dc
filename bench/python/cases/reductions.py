"""Many elements to one, and running results."""

from case import Case

FLOAT = 4


def cases(torch):
    functional = torch.nn.functional
    found = {}
    for size, count in {"1 k": 1 << 10, "128 k": 1 << 17, "1.4 M": 1_400_000, "8 M": 1 << 23}.items():
        x = torch.rand(count)
        for name in ("sum", "max", "argmax", "std", "norm"):
            found[f"{name}, {size}"] = Case(lambda x=x, name=name: getattr(x, name)(), moved=count * FLOAT)
        found[f"cumsum, {size}"] = Case(lambda x=x: x.cumsum(0), moved=2 * count * FLOAT)
    x, count = torch.rand(2048, 2048), 2048 * 2048
    image = torch.rand(32, 256, 28, 28)
    matrix = {
        "sum over rows": (lambda: x.sum(0), 1),
        "sum over columns": (lambda: x.sum(1), 1),
        "max over columns": (lambda: x.max(1), 1),
        "argmax over columns": (lambda: x.argmax(1), 1),
        "var over columns": (lambda: x.var(1), 1),
        "cumsum over columns": (lambda: x.cumsum(1), 2),
        "softmax over columns": (lambda: torch.softmax(x, 1), 2),
        "softmax over rows": (lambda: torch.softmax(x, 0), 2),
        "log_softmax over columns": (lambda: torch.log_softmax(x, 1), 2),
    }
    found |= {f"{name}, 2048x2048": Case(call, moved=n * count * FLOAT) for name, (call, n) in matrix.items()}
    for rows, columns in ((300, 300), (4096, 197), (16384, 64)):
        y = torch.rand(rows, columns)
        found[f"softmax, {rows}x{columns}"] = Case(lambda y=y: torch.softmax(y, 1), moved=2 * y.numel() * FLOAT)
    found["mean over pixels, 32x256x28x28"] = Case(lambda: image.mean((2, 3)), moved=image.numel() * FLOAT)
    wide = torch.rand(1024, 4096)
    found["sort, 256x2048"] = Case(lambda: x[:256].sort(1))
    found["topk, 8 of each 1024x4096"] = Case(lambda: torch.topk(wide, 8), moved=wide.numel() * FLOAT)
    found["cross_entropy, 256x1000"] = cross_entropy(torch, functional)
    return found


def cross_entropy(torch, functional):
    scores, labels = torch.rand(256, 1000), torch.randint(0, 1000, (256,))
    return Case(lambda: functional.cross_entropy(scores, labels), moved=scores.numel() * FLOAT)
