"""Layers of networks; those that end in "+ grad" with the gradients of their inputs."""

from case import Case, recorded

FLOAT = 4
# batch, channels, side, channels after, kernel, stride, padding, groups
CONVOLUTIONS = [
    (8, 32, 28, 32, 3, 1, 1, 1), (1, 64, 56, 64, 3, 1, 1, 1), (8, 3, 224, 64, 7, 2, 3, 1), (8, 64, 28, 128, 1, 1, 0, 1),
    (8, 128, 14, 128, 3, 2, 1, 1), (8, 64, 28, 64, 3, 1, 1, 64), (1, 16, 112, 32, 5, 1, 2, 1),
]


def cases(torch):
    return norms(torch) | convolutions(torch) | windows(torch) | attention(torch) | others(torch)


def norms(torch):
    functional, rand, found = torch.nn.functional, torch.rand, {}
    for rows, columns in ((512, 768), (4096, 384), (64, 1000)):
        x, w, b = rand(rows, columns), rand(columns), rand(columns)

        def norm(x, w, b, columns=columns):
            return functional.layer_norm(x, (columns,), w, b)

        found[f"layer_norm, {rows}x{columns}"] = Case(lambda x=x, w=w, b=b, norm=norm: norm(x, w, b), moved=2 * x.numel() * FLOAT)
        found[f"layer_norm, {rows}x{columns}, + grad"] = Case(recorded(norm, x, w, b), moved=5 * x.numel() * FLOAT)
    image, channels = rand(16, 64, 32, 32), rand(64)
    size = image.numel() * FLOAT
    row = rand(512, 768)
    found["rms_norm, 512x768"] = Case(lambda: functional.rms_norm(row, (768,), row[0]), moved=2 * row.numel() * FLOAT)
    found["group_norm, 16x64x32x32"] = Case(lambda: functional.group_norm(image, 8, channels, channels), moved=2 * size)
    found["batch_norm, 16x64x32x32, evaluation"] = Case(lambda: functional.batch_norm(image, channels, channels), moved=2 * size)
    found["batch_norm, 16x64x32x32, + grad"] = Case(
        recorded(lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True), image, channels, channels), moved=5 * size
    )
    return found


def convolutions(torch):
    functional, found = torch.nn.functional, {}
    for batch, channels, side, after, kernel, stride, padding, groups in CONVOLUTIONS:
        x, w = torch.rand(batch, channels, side, side), torch.rand(after, channels // groups, kernel, kernel)
        out = (side + 2 * padding - kernel) // stride + 1
        flops = 2 * batch * after * out * out * channels // groups * kernel * kernel

        def convolve(x, w, options={"stride": stride, "padding": padding, "groups": groups}):
            return functional.conv2d(x, w, **options)

        name = f"conv2d {batch}x{channels}x{side}x{side} to {after}, {kernel}x{kernel}, stride {stride}" + (", depthwise" if groups > 1 else "")
        found[name] = Case(lambda x=x, w=w, convolve=convolve: convolve(x, w), flops=flops)
        found[name + ", + grad"] = Case(recorded(convolve, x, w), flops=3 * flops)
    x, w = torch.rand(4, 32, 28, 28), torch.rand(32, 16, 4, 4)
    found["conv_transpose2d 4x32x28x28 to 16, 4x4, stride 2"] = Case(lambda: functional.conv_transpose2d(x, w, stride=2))
    line, filters = torch.rand(4, 32, 1000), torch.rand(64, 32, 5)
    found["conv1d 4x32x1000 to 64, 5"] = Case(lambda: functional.conv1d(line, filters), flops=2 * 4 * 64 * 996 * 32 * 5)
    return found


def windows(torch):
    functional, image = torch.nn.functional, torch.rand(16, 64, 88, 88)
    small, size = torch.rand(8, 32, 64, 64), image.numel() * FLOAT
    return {
        "max_pool2d, 16x64x88x88, 2x2": Case(lambda: functional.max_pool2d(image, 2), moved=size * 5 // 4),
        "max_pool2d, 16x64x88x88, 3x3, stride 2": Case(lambda: functional.max_pool2d(image, 3, 2), moved=size * 5 // 4),
        "avg_pool2d, 16x64x88x88, 2x2": Case(lambda: functional.avg_pool2d(image, 2), moved=size * 5 // 4),
        "interpolate 8x32x64x64 twice, nearest": Case(lambda: functional.interpolate(small, scale_factor=2), moved=5 * small.numel() * FLOAT),
        "interpolate 8x32x64x64 twice, bilinear": Case(
            lambda: functional.interpolate(small, scale_factor=2, mode="bilinear"), moved=5 * small.numel() * FLOAT
        ),
    }


def attention(torch):
    attend, found = torch.nn.functional.scaled_dot_product_attention, {}
    for batch, heads, length, width in ((1, 12, 128, 64), (8, 8, 197, 64), (1, 8, 1024, 64)):
        q = torch.rand(batch, heads, length, width)
        name, flops = f"attention {batch}x{heads}x{length}x{width}", 4 * batch * heads * length * length * width
        found[name] = Case(lambda q=q: attend(q, q, q), flops=flops)
        found[name + ", causal"] = Case(lambda q=q: attend(q, q, q, is_causal=True), flops=flops // 2)
        found[name + ", + grad"] = Case(recorded(attend, q, q, q), flops=flops * 7 // 2)
    for queries, keys in ((1, 300), (2, 300), (1, 2000)):
        q, k = torch.rand(1, 32, queries, 64), torch.rand(1, 32, keys, 64)
        moved = 2 * k.numel() * FLOAT
        found[f"attention 1x32, {queries} of {keys} keys x64"] = Case(lambda q=q, k=k: attend(q, k, k), moved=moved)
    return found


def others(torch):
    functional, nn = torch.nn.functional, torch.nn
    table, ids = torch.rand(30000, 384), torch.randint(0, 30000, (32, 128))
    scores, labels = torch.rand(256, 1000), torch.randint(0, 1000, (256,))
    lstm, sequence = nn.LSTM(64, 128, batch_first=True), torch.rand(16, 50, 64)
    return {
        "embedding 32x128 of 30000x384": Case(lambda: functional.embedding(ids, table), moved=2 * 32 * 128 * 384 * FLOAT),
        "embedding 512 of 3000x64, + grad": Case(recorded(lambda t: functional.embedding(ids[:4] % 3000, t), torch.rand(3000, 64))),
        "cross_entropy 256x1000, + grad": Case(
            recorded(lambda s: functional.cross_entropy(s, labels), scores), moved=3 * scores.numel() * FLOAT
        ),
        "mse_loss 256x1000": Case(lambda: functional.mse_loss(scores, scores), moved=scores.numel() * FLOAT),
        "LSTM 64 to 128, 16x50": Case(lambda: lstm(sequence)[0], flops=2 * 16 * 50 * 512 * 192),
        "one_hot 256 of 1000": Case(lambda: functional.one_hot(labels, 1000), moved=256 * 1000 * 8),
    }
