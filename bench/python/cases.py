"""The cases that are timed: prints the median seconds of each as JSON. Usage: cases.py opforge|torch"""

import importlib
import json
import sys
import time

SECONDS = 0.4


def clock(call, settle):
    """The median seconds of a call, over batches that fill `SECONDS`."""
    for _ in range(3):
        call()
    settle()
    start = time.perf_counter()
    call()
    settle()
    batch = max(1, int(SECONDS / 20 / max(time.perf_counter() - start, 1e-7)))
    times = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        settle()
        times.append((time.perf_counter() - start) / batch)
    return sorted(times)[len(times) // 2]


def tiny(torch):
    functional = torch.nn.functional
    a, b = torch.ones(4), torch.ones(4)
    r = torch.ones(4, requires_grad=True)
    return {
        "a + b, 4 floats": lambda: a + b,
        "a + b, 4 floats, recorded": lambda: r + b,
        "x[1:3]": lambda: a[1:3],
        "F.relu(x), 4 floats": lambda: functional.relu(a),
        "a.add_(b), 4 floats": lambda: a.add_(b),
        "x.sum(), 4 floats": lambda: a.sum(),
    }


def large(torch):
    functional = torch.nn.functional
    x, m = torch.randn(4096, 1024), torch.randn(512, 512)
    image, kernel = torch.randn(16, 16, 28, 28), torch.randn(32, 16, 3, 3)
    return {
        "x + 1, 4 M floats": lambda: x + 1,
        "exp, 4 M floats": lambda: x.exp(),
        "gelu, 4 M floats": lambda: functional.gelu(x),
        "softmax, 4096 x 1024": lambda: functional.softmax(x, dim=-1),
        "sum over dim 0, 4096 x 1024": lambda: x.sum(0),
        "matmul, 512": lambda: m @ m,
        "conv2d, 16x16x28x28 to 32, 3x3": lambda: functional.conv2d(image, kernel, padding=1),
        "max_pool2d, 16x16x28x28": lambda: functional.max_pool2d(image, 2),
    }


def recorded(call, *inputs):
    """A call and its gradients with respect to all inputs."""
    leaves = [x.requires_grad_() for x in inputs]
    weight = call(*leaves).detach() * 0 + 1

    def step():
        call(*leaves).backward(weight)
        for leaf in leaves:
            leaf.grad = None

    return step


def layers(torch):
    """Layers of networks; those that end in "+ grad" with the gradients of their inputs."""
    functional, randn = torch.nn.functional, torch.randn
    image, channels, deep = randn(16, 64, 32, 32), randn(64), randn(64, 1, 3, 3)
    heads, mask = [randn(2, 8, 1024, 64) for _ in range(3)], torch.rand(1024, 1024) < 0.5

    def grad(call, *inputs):
        return recorded(call, *(x.detach().clone() for x in inputs))

    def group_norm(x, w, b):
        return functional.group_norm(x, 8, w, b)

    def depthwise(x, w):
        return functional.conv2d(x, w, padding=1, groups=64)

    def embedding(ids):
        table = randn(10000, 256)
        return recorded(lambda table: functional.embedding(ids, table), table)

    return {
        "group_norm, 16x64x32x32": lambda: group_norm(image, channels, channels),
        "group_norm, 16x64x32x32, + grad": grad(group_norm, image, channels, channels),
        "batch_norm, 16x64x32x32, evaluation": lambda: functional.batch_norm(image, channels, channels * channels, channels, channels),
        "layer_norm, 4096 x 1024, + grad": grad(lambda x, w, b: functional.layer_norm(x, (1024,), w, b), randn(4096, 1024), randn(1024), randn(1024)),
        "depthwise conv2d, 16x64x32x32, 3x3": lambda: depthwise(image, deep),
        "depthwise conv2d, 16x64x32x32, 3x3, + grad": grad(depthwise, image, deep),
        "conv2d, 8x64x56x56 to 64, 3x3, + grad": grad(lambda x, w: functional.conv2d(x, w, padding=1), randn(8, 64, 56, 56), randn(64, 64, 3, 3)),
        "avg_pool2d, 16x64x32x32, + grad": grad(lambda x: functional.avg_pool2d(x, 2), image),
        "max_pool2d, 16x64x32x32, + grad": grad(lambda x: functional.max_pool2d(x, 2), image),
        "gelu, 4 M floats, + grad": grad(functional.gelu, randn(4096, 1024)),
        "embedding 64x128 of 10000x256, + grad": embedding(torch.randint(0, 10000, (64, 128))),
        "attention, 2x8x1024x64": lambda: functional.scaled_dot_product_attention(*heads),
        "attention, 2x8x1024x64, causal": lambda: functional.scaled_dot_product_attention(*heads, is_causal=True),
        "attention, 2x8x1024x64, masked": lambda: functional.scaled_dot_product_attention(*heads, attn_mask=mask),
        "attention, 2x8x1024x64, + grad": grad(functional.scaled_dot_product_attention, *heads),
    }


def images(torch):
    """Images resized, pooled, and convolved channel by channel."""
    functional, image, deep = torch.nn.functional, torch.randn(8, 32, 64, 64), torch.randn(32, 1, 3, 3)
    wide = torch.randn(16, 64, 88, 88)

    def resized(mode):
        return lambda x: functional.interpolate(x, scale_factor=2, mode=mode)

    return {
        "interpolate, nearest, 8x32x64x64, twice": lambda call=resized("nearest"): call(image),
        "interpolate, bilinear, 8x32x64x64, twice": lambda call=resized("bilinear"): call(image),
        "interpolate, bilinear, 8x32x64x64, twice, + grad": recorded(resized("bilinear"), image.clone()),
        "interpolate, bicubic, 8x32x64x64, twice": lambda call=resized("bicubic"): call(image),
        "avg_pool2d, 16x64x88x88": lambda: functional.avg_pool2d(wide, 2),
        "max_pool2d, 16x64x88x88, 3x3, stride 2": lambda: functional.max_pool2d(wide, 3, 2),
        "depthwise conv2d, 8x32x64x64, 3x3, stride 2": lambda: functional.conv2d(image, deep, stride=2, padding=1, groups=32),
    }


def matrices(torch):
    """Factorisations: of one matrix, and of many small ones."""
    linalg, eye = torch.linalg, torch.eye
    square, tall, tiny = torch.randn(256, 256), torch.randn(256, 64), torch.randn(10000, 4, 4)
    positive, many = square @ square.mT + 256 * eye(256), tiny @ tiny.mT + 4 * eye(4)
    return {
        "inv, 256": lambda: linalg.inv(positive),
        "cholesky, 256": lambda: linalg.cholesky(positive),
        "qr, 256": lambda: linalg.qr(square),
        "svd, 256": lambda: linalg.svd(square),
        "eigh, 256": lambda: linalg.eigh(positive),
        "lstsq, 256 x 64": lambda: linalg.lstsq(tall, square),
        "inv, 10000 of 4": lambda: linalg.inv(many),
        "cholesky, 10000 of 4": lambda: linalg.cholesky(many),
        "solve, 10000 of 4": lambda: linalg.solve(many, tiny),
    }


def others(torch):
    """Order, indices, and functions of rarer use."""
    rows, x = torch.randn(1024, 1024), torch.rand(1024, 1024)
    ids = torch.randint(0, 1024, (1024, 1024))
    return {
        "sort, 1024 x 1024": lambda: torch.sort(rows),
        "topk, 8 of each 1024 x 4096": lambda wide=torch.randn(1024, 4096): torch.topk(wide, 8),
        "gather, 1024 x 1024": lambda: rows.gather(1, ids),
        "scatter_add, 1024 x 1024": lambda: rows.scatter_add(1, ids, rows),
        "cumsum, 1024 x 1024": lambda: rows.cumsum(1),
        "asin, 1 M floats": lambda: x.asin(),
        "sinh, 1 M floats": lambda: x.sinh(),
        "atan2, 1 M floats": lambda: torch.atan2(rows, x),
    }


def mlp(torch):
    """A training step of an MLP 784-512-10, batch 128, SGD."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(128, 784), torch.randint(0, 10, (128,))
    criterion = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return {"training step, MLP 784-512-10": step}


def cnn(torch):
    """A training step of a small convolutional network, batch 64, Adam."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 14 * 14, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return {"training step, CNN": step}


def main():
    torch = importlib.import_module(sys.argv[1])
    torch.set_num_threads(2)
    settle = getattr(torch, "synchronize", lambda: None)
    cases = {name: call for group in (tiny, large, layers, images, matrices, others, mlp, cnn) for name, call in group(torch).items()}
    json.dump({name: clock(call, settle) for name, call in cases.items()}, sys.stdout)


if __name__ == "__main__":
    main()
