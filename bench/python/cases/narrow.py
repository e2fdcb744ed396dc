"""Many rows of a few elements each, where what is done once a row shows."""

from case import Case

ROWS = 65536
PRODUCTS = [(1, 1), (3, 2), (2, 33), (16, 1), (31, 1), (16, 16)]
COLUMNS = (3, 8, 31)


def cases(torch):
    return products(torch) | rows(torch)


def products(torch):
    linear = torch.nn.functional.linear
    found = {}
    for dtype in ("float32", "bfloat16"):
        for k, n in PRODUCTS:
            a, b = (torch.rand(*shape).to(getattr(torch, dtype)) for shape in ((ROWS, k), (k, n)))
            moved = ROWS * (k + n) * a.element_size()
            found[f"{ROWS}x{k} @ {k}x{n}, {dtype}"] = Case(lambda a=a, b=b: a @ b, moved=moved)
    for m, k, n in ((5000, 16, 1), (ROWS, 31, 2), (300, 500, 2)):
        x, w, bias = torch.rand(m, k), torch.rand(n, k), torch.rand(n)
        found[f"linear {m}x{k} to {n}"] = Case(lambda x=x, w=w, bias=bias: linear(x, w, bias), moved=m * (k + n) * 4)
    return found


def rows(torch):
    found = {}
    for columns in COLUMNS:
        x, count = torch.rand(ROWS, columns), ROWS * columns
        whole = (x * 100).to(torch.int64)
        places = torch.zeros(ROWS, columns, dtype=torch.int64)
        order = torch.arange(columns - 1, -1, -1)
        calls = {
            "sum of each": lambda x=x: x.sum(1),
            "sum of each, int64": lambda x=whole: x.sum(1),
            "max of each": lambda x=x: x.amax(1),
            "argmax of columns": lambda x=x: x.argmax(0),
            "softmax of each": lambda x=x: torch.softmax(x, 1),
            "layer_norm of each": lambda x=x: torch.nn.functional.layer_norm(x, x.shape[1:]),
            "cumsum of each": lambda x=x: x.cumsum(1),
            "cumsum of columns": lambda x=x: x.cumsum(0),
            "sort each": lambda x=x: x.sort(1),
            "gather of each": lambda x=x, places=places: x.gather(1, places),
            "index_select of columns": lambda x=x, order=order: x.index_select(1, order),
            "rows in reverse": lambda x=x: x.flip(0),
            "cat of columns": lambda x=x: torch.cat([x, x], 1),
            "add a column": lambda x=x: x + x[:, :1],
        }
        found |= {f"{name}, {ROWS}x{columns}": Case(call, moved=count * 4) for name, call in calls.items()}
    return found
