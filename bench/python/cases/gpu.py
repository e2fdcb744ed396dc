"""Cases on a GPU: functions of the library, which has PyTorch's names, to a case."""

from case import Case, clock

N = 1 << 26  # Elements of long tensors: more than caches hold.
ROWS, WIDTH = 8192, 4096


def speeds(torch, seconds):
    """Bytes copied (read and written) and read a second, and operations of bf16 products."""
    source, target = (torch.empty(1 << 28, device="cuda") for _ in range(2))
    copy = 2 * source.numel() * 4 / clock(lambda: target.copy_(source), torch.cuda.synchronize, seconds)
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return {"copy": copy, "read": copy, "flops": 2 * 8192**3 / clock(lambda: a @ b, torch.cuda.synchronize, seconds)}


def pointwise(function, dtype="float32", inputs=2, count=N):
    """A function of `inputs` tensors; each element is read once, and one is written."""

    def make(torch):
        kind = getattr(torch, dtype)
        given = [torch.randn(count, device="cuda", dtype=kind) for _ in range(inputs)]
        size = 2 if kind.itemsize == 2 else 4
        return Case(lambda: function(torch, *given), moved=(inputs + 1) * count * size)

    return make


def rows(function, dtype="float32", passes=2, shape=(ROWS, WIDTH)):
    """A function of rows, which passes over them `passes` times."""

    def make(torch):
        kind = getattr(torch, dtype)
        x = torch.randn(*shape, device="cuda", dtype=kind)
        weight, bias = (torch.randn(shape[-1], device="cuda", dtype=kind) for _ in range(2))
        return Case(lambda: function(torch, x, weight, bias), moved=int(passes * x.numel() * kind.itemsize))

    return make


def product(m, k, n, dtype="float32", batch=()):
    def make(torch):
        kind = getattr(torch, dtype)
        a, b = torch.randn(*batch, m, k, device="cuda", dtype=kind), torch.randn(*batch, k, n, device="cuda", dtype=kind)
        return Case(lambda: a @ b)

    return make


def attention(dtype, length, causal, heads=16, batch=4, width=64):
    def make(torch):
        q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=getattr(torch, dtype)) for _ in range(3))
        return Case(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))

    return make


def attention_gradient(torch):
    q, k, v = (cuda(torch, 4, 16, 2048, 64, dtype=torch.bfloat16).requires_grad_() for _ in range(3))
    gradient = cuda(torch, 4, 16, 2048, 64, dtype=torch.bfloat16)

    def step():
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(gradient)
        q.grad = k.grad = v.grad = None

    return step


def convolution(images, channels, out, size, dtype="float32", kernel=3):
    def make(torch):
        kind = getattr(torch, dtype)
        x = torch.randn(images, channels, size, size, device="cuda", dtype=kind)
        w = torch.randn(out, channels, kernel, kernel, device="cuda", dtype=kind)
        return Case(lambda: torch.nn.functional.conv2d(x, w, padding=kernel // 2))

    return make


def compiled(function, inputs=3, shape=(N,), passes=None):
    def make(torch):
        given = [torch.randn(*shape, device="cuda") for _ in range(inputs)]
        call = torch.compile(lambda *of: function(torch, *of))
        call(*given)
        return Case(lambda: call(*given), moved=(passes or inputs + 1) * given[0].numel() * 4)

    return make


def training(model, dtype="float32"):
    """A step of a model: forward, backward, AdamW."""

    def make(torch):
        network, x = model(torch)
        network, x = network.to("cuda", getattr(torch, dtype)), x.to("cuda", getattr(torch, dtype))
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)

        def step():
            optimizer.zero_grad()
            loss = network(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return Case(step)

    return make


def perceptron(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 1024)), torch.randn(2048, 1024)


def block(torch):
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return layer, torch.randn(16, 256, 512)


def convolutional(torch):
    nn = torch.nn
    layers = []
    for inputs, outputs in ((3, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 64, 10)), torch.randn(32, 3, 64, 64)


def made(function, moved=0):
    """A case of tensors that the function makes; it gives the call."""

    def make(torch):
        return Case(function(torch), moved=moved)

    return make


def cuda(torch, *shape, **options):
    return torch.randn(*shape, device="cuda", **options)


def embedding(torch):
    table, at = cuda(torch, 50000, 512), torch.randint(0, 50000, (32, 512), device="cuda")
    return lambda: torch.nn.functional.embedding(at, table)


def embedding_gradient(torch):
    table, at = cuda(torch, 50000, 512).requires_grad_(), torch.randint(0, 50000, (32, 512), device="cuda")
    gradient = cuda(torch, 32, 512, 512)

    def step():
        torch.nn.functional.embedding(at, table).backward(gradient)
        table.grad = None

    return step


def cross_entropy(torch):
    x, at = cuda(torch, 4096, 32000).requires_grad_(), torch.randint(0, 32000, (4096,), device="cuda")

    def step():
        torch.nn.functional.cross_entropy(x, at).backward()
        x.grad = None

    return step


def layer_norm_gradient(torch):
    x, w, b = cuda(torch, ROWS, WIDTH).requires_grad_(), cuda(torch, WIDTH).requires_grad_(), cuda(torch, WIDTH).requires_grad_()
    gradient = cuda(torch, ROWS, WIDTH)

    def step():
        torch.nn.functional.layer_norm(x, (WIDTH,), w, b).backward(gradient)
        x.grad = w.grad = b.grad = None

    return step


def linear_bias(torch):
    x, w, b = cuda(torch, 4096, 1024, dtype=torch.bfloat16), cuda(torch, 4096, 1024, dtype=torch.bfloat16), cuda(torch, 4096, dtype=torch.bfloat16)
    return lambda: torch.nn.functional.linear(x, w, b)


def on(call, *shape, **options):
    """A function of one tensor of this shape."""

    def make(torch):
        x = cuda(torch, *shape, **options)
        return Case(lambda: call(torch, x))

    return make


CASES = {
    "a + b, 4 elements": pointwise(lambda torch, a, b: a + b, count=4),
    "gelu, 4 elements": pointwise(lambda torch, a: torch.nn.functional.gelu(a), inputs=1, count=4),
    "4x4 @ 4x4": product(4, 4, 4),
    "a + b": pointwise(lambda torch, a, b: a + b),
    "a + b, bf16": pointwise(lambda torch, a, b: a + b, "bfloat16"),
    "a + b, 1 M": pointwise(lambda torch, a, b: a + b, count=1 << 20),
    "a * 2": pointwise(lambda torch, a: a * 2, inputs=1),
    "gelu": pointwise(lambda torch, a: torch.nn.functional.gelu(a), inputs=1),
    "gelu, bf16": pointwise(lambda torch, a: torch.nn.functional.gelu(a), "bfloat16", inputs=1),
    "exp": pointwise(lambda torch, a: a.exp(), inputs=1),
    "tanh": pointwise(lambda torch, a: a.tanh(), inputs=1),
    "sin": pointwise(lambda torch, a: a.sin(), inputs=1),
    "a + row": rows(lambda torch, x, w, b: x + w),
    "where": rows(lambda torch, x, w, b: torch.where(x > 0, x, w), passes=2.5),
    "to bf16": pointwise(lambda torch, a: a.to(torch.bfloat16), inputs=1),
    "sum": pointwise(lambda torch, a: a.sum(), inputs=1),
    "sum of rows": rows(lambda torch, x, w, b: x.sum(-1), passes=1),
    "sum of columns": rows(lambda torch, x, w, b: x.sum(0), passes=1),
    "sum of rows of 64": rows(lambda torch, x, w, b: x.sum(-1), passes=1, shape=(1 << 19, 64)),
    "max of rows": rows(lambda torch, x, w, b: x.amax(-1), passes=1),
    "argmax of rows": rows(lambda torch, x, w, b: x.argmax(-1), passes=1),
    "var of rows": rows(lambda torch, x, w, b: x.var(-1), passes=1),
    "softmax": rows(lambda torch, x, w, b: x.softmax(-1)),
    "softmax, bf16": rows(lambda torch, x, w, b: x.softmax(-1), "bfloat16"),
    "softmax of rows of 128": rows(lambda torch, x, w, b: x.softmax(-1), shape=(1 << 18, 128)),
    "layer_norm": rows(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b)),
    "layer_norm, bf16": rows(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b), "bfloat16"),
    "layer_norm of rows of 256": rows(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b), shape=(1 << 17, 256)),
    "rms_norm": rows(lambda torch, x, w, b: torch.nn.functional.rms_norm(x, (x.shape[-1],), w)),
    "layer_norm with gradients": made(layer_norm_gradient),
    "batch_norm": on(lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True), 32, 128, 56, 56),
    "cross_entropy with gradient, 4096x32000": made(cross_entropy),
    "cumsum of rows": rows(lambda torch, x, w, b: x.cumsum(-1)),
    "sort of rows of 1024": on(lambda torch, x: x.sort(-1)[0], 4096, 1024),
    "topk 8 of rows of 4096": on(lambda torch, x: x.topk(8)[0], 1024, 4096),
    "transposed copy": on(lambda torch, x: x.t().contiguous(), ROWS, WIDTH),
    "permuted copy": on(lambda torch, x: x.permute(0, 2, 1, 3).contiguous(), 32, 512, 16, 64),
    "cat": rows(lambda torch, x, w, b: torch.cat([x, x], 1), passes=4),
    "embedding 32x512 of 512": made(embedding),
    "embedding with gradient": made(embedding_gradient),
    "dropout": pointwise(lambda torch, a: torch.nn.functional.dropout(a, 0.5), inputs=1),
    "randn": pointwise(lambda torch: torch.randn(N, device="cuda"), inputs=0),
    "4096 @ 4096": product(4096, 4096, 4096),
    "4096 @ 4096, bf16": product(4096, 4096, 4096, "bfloat16"),
    "1024 @ 1024": product(1024, 1024, 1024),
    "128 @ 128": product(128, 128, 128),
    "64 of 256 @ 256, bf16": product(256, 256, 256, "bfloat16", (64,)),
    "linear with bias 4096x1024x4096, bf16": made(linear_bias),
    "attention 4x16x2048x64, bf16": attention("bfloat16", 2048, False),
    "causal attention 4x16x2048x64, bf16": attention("bfloat16", 2048, True),
    "attention 4x16x512x64": attention("float32", 512, False),
    "causal attention with gradients 4x16x2048x64, bf16": made(attention_gradient),
    "conv2d 32x64x56x56": convolution(32, 64, 64, 56),
    "conv2d 32x256x14x14": convolution(32, 256, 256, 14),
    "conv2d 32x256x14x14, bf16": convolution(32, 256, 256, 14, "bfloat16"),
    "conv2d 1x1 32x256x14x14": convolution(32, 256, 1024, 14, kernel=1),
    "max_pool2d": on(lambda torch, x: torch.nn.functional.max_pool2d(x, 2), 32, 128, 56, 56),
    "rfft of rows of 1024": on(lambda torch, x: torch.fft.rfft(x), 4096, 1024),
    "compiled gelu(x * w + b)": compiled(lambda torch, x, w, b: torch.nn.functional.gelu(x * w + b)),
    "compiled silu(x) * y": compiled(lambda torch, x, y: torch.nn.functional.silu(x) * y, inputs=2),
    "compiled softmax(x * 0.1 + y)": compiled(lambda torch, x, y: torch.softmax(x * 0.1 + y, -1), 2, (ROWS, WIDTH)),
    "compiled layer_norm(x + y)": compiled(lambda torch, x, y: torch.nn.functional.layer_norm(x + y, (WIDTH,)), 2, (ROWS, WIDTH)),
    "compiled mean((x - y)^2)": compiled(lambda torch, x, y: (x - y).square().mean(), 2, passes=2),
    "training: MLP 1024-4096-4096-1024 of 2048": training(perceptron),
    "training: MLP, bf16": training(perceptron, "bfloat16"),
    "training: transformer block 16x256x512": training(block),
    "training: transformer block, bf16": training(block, "bfloat16"),
    "training: CNN 32x3x64x64": training(convolutional),
}
