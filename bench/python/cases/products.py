"""Products of matrices: square, skinny, odd, batched, transposed."""

from case import Case

SQUARE = [(n, n, n) for n in (64, 128, 256, 512, 1024)]
UNEVEN = [
    (100, 100, 100), (127, 129, 131), (1, 1024, 1024), (1, 4096, 4096), (1000, 1000, 1), (60, 384, 1536),
    (1000, 37, 501), (4096, 16, 4096), (17, 4096, 33), (777, 333, 555), (2048, 64, 2048),
]
BATCHED = [(48, 64, 64, 64), (96, 197, 64, 197), (1000, 8, 8, 8), (12, 128, 64, 128)]


def cases(torch):
    found = {}
    for m, k, n in SQUARE + UNEVEN:
        a, b, w = torch.rand(m, k), torch.rand(k, n), torch.rand(n, k)
        flops = 2 * m * k * n
        found[f"{m}x{k} @ {k}x{n}"] = Case(lambda a=a, b=b: a @ b, flops=flops)
        found[f"{m}x{k} @ {n}x{k}.T"] = Case(lambda a=a, w=w: a @ w.t(), flops=flops)
    for batch, m, k, n in BATCHED:
        a, b = torch.rand(batch, m, k), torch.rand(batch, k, n)
        found[f"{batch} of {m}x{k} @ {k}x{n}"] = Case(lambda a=a, b=b: a @ b, flops=2 * batch * m * k * n)
    for dtype in ("float64", "bfloat16"):
        a = torch.rand(512, 512).to(getattr(torch, dtype))
        found[f"512x512 @ 512x512, {dtype}"] = Case(lambda a=a: a @ a, flops=2 * 512**3)
    x, w, bias = torch.rand(120, 384), torch.rand(1536, 384), torch.rand(1536)
    linear = torch.nn.functional.linear
    found["linear 120x384 to 1536"] = Case(lambda: linear(x, w, bias), flops=2 * 120 * 384 * 1536)
    found["gelu(linear) 120x384 to 1536"] = Case(lambda: torch.nn.functional.gelu(linear(x, w, bias)), flops=2 * 120 * 384 * 1536)
    return found
