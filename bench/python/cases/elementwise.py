"""Functions of single elements, at every size and in usual layouts."""

from case import Case, recorded

SIZES = {"1 k": 1 << 10, "16 k": 1 << 14, "128 k": 1 << 17, "1 M": 1 << 20, "1.4 M": 1_400_000, "8 M": 1 << 23}
FLOAT = 4


def functions(torch):
    """By name: the function of two tensors, and the tensors that it reads and writes."""
    functional = torch.nn.functional
    return {
        "add": (lambda x, y: x + y, 3),
        "mul": (lambda x, y: x * y, 3),
        "relu": (lambda x, y: functional.relu(x), 2),
        "clamp": (lambda x, y: x.clamp(0.2, 0.8), 2),
        "sqrt": (lambda x, y: x.sqrt(), 2),
        "exp": (lambda x, y: x.exp(), 2),
        "tanh": (lambda x, y: x.tanh(), 2),
        "gelu": (lambda x, y: functional.gelu(x), 2),
        "x * 2 + 1": (lambda x, y: x * 2 + 1, 4),
    }


def cases(torch):
    found = {}
    for size, count in SIZES.items():
        x, y = torch.rand(count) + 0.1, torch.rand(count)
        for name, (f, tensors) in functions(torch).items():
            found[f"{name}, {size}"] = Case(lambda f=f, x=x, y=y: f(x, y), moved=tensors * count * FLOAT)
        chosen = x > 0.5
        found[f"where, {size}"] = Case(lambda m=chosen, x=x, y=y: torch.where(m, x, y), moved=3 * count * FLOAT + count)
    return found | layouts(torch) | others(torch)


def layouts(torch):
    count = 2048 * 2048
    x, row, column = torch.rand(2048, 2048), torch.rand(2048), torch.rand(2048, 1)
    image, channels = torch.rand(32, 256, 28, 28), torch.rand(1, 256, 1, 1)
    wide, odd = torch.rand(2048, 4096), torch.rand(count + 1)[1:]
    photo, three = torch.rand(224, 224, 3), torch.rand(3)
    issue, along = torch.rand(32, 630, 12, 32), torch.rand(32, 1, 1, 32)
    size = image.numel() * FLOAT
    return {
        "add a row, 2048x2048": Case(lambda: x + row, moved=2 * count * FLOAT),
        "add a column, 2048x2048": Case(lambda: x + column, moved=2 * count * FLOAT),
        "add the transpose, 2048x2048": Case(lambda: x + x.t(), moved=3 * count * FLOAT),
        "add channels, 32x256x28x28": Case(lambda: image + channels, moved=2 * size),
        "broadcast_add (32,630,12,32) + (32,1,1,32)": Case(lambda: issue + along, moved=2 * issue.numel() * FLOAT),
        "normalise pixels, 224x224x3": Case(lambda: (photo - three) / three, moved=4 * photo.numel() * FLOAT),
        "every other column * 2, 2048x4096": Case(lambda: wide[:, ::2] * 2, moved=3 * count * FLOAT),
        "from the second element on * 2, 4 M": Case(lambda: odd * 2, moved=2 * count * FLOAT),
    }


def others(torch):
    functional, count = torch.nn.functional, 1 << 20
    x, y, z = torch.rand(count), torch.rand(count), torch.rand(count)
    half, double, whole = x.bfloat16(), x.double(), torch.arange(count)
    big = torch.rand(1 << 22)
    calls = {
        "lerp, 1 M": (lambda: torch.lerp(x, y, 0.3), 3),
        "addcmul, 1 M": (lambda: torch.addcmul(x, y, z), 4),
        "pow, 1 M": (lambda: x**y, 3),
        "atan2, 1 M": (lambda: torch.atan2(x, y), 3),
        "silu, 1 M": (lambda: functional.silu(x), 2),
        "sin, 1 M": (lambda: x.sin(), 2),
        "log, 1 M": (lambda: x.log(), 2),
        "erf, 1 M": (lambda: x.erf(), 2),
        "asin, 1 M": (lambda: x.asin(), 2),
        "a.add_(b, alpha=0), 1 M": (lambda: y.add_(x, alpha=0.0), 3),
        "bf16 add, 1 M": (lambda: half + half, 1),
        "bf16 gelu, 1 M": (lambda: functional.gelu(half), 1),
        "to bf16, 1 M": (lambda: x.bfloat16(), 1.5),
        "from bf16, 1 M": (lambda: half.float(), 1.5),
        "f64 add, 1 M": (lambda: double + double, 4),
        "f64 exp, 1 M": (lambda: double.exp(), 4),
        "i64 add, 1 M": (lambda: whole + whole, 4),
        "x > y, 1 M": (lambda: x > y, 2.25),
        "gelu with its gradient, 4 M": (recorded(functional.gelu, big), 4 * 5),
        "dropout, 1 M": (lambda: functional.dropout(x, 0.1, True), 2),
        "rand, 1 M": (lambda: torch.rand(count), 1),
        "randn, 1 M": (lambda: torch.randn(count), 1),
    }
    return {name: Case(call, moved=int(tensors * count * FLOAT)) for name, (call, tensors) in calls.items()}
