"""Elements copied, picked and put."""

from case import Case

FLOAT = 4


def cases(torch):
    functional = torch.nn.functional
    x, count = torch.rand(2048, 2048), 2048 * 2048
    image, photo = torch.rand(32, 256, 28, 28), torch.rand(224, 224, 3)
    rows, ids = torch.rand(4096, 256), torch.randint(0, 4096, (8192,))
    within, mask = torch.randint(0, 256, (4096, 64)), torch.rand(4096, 256) > 0.5
    whole, many = count * FLOAT, rows.repeat(2, 1)
    return {
        "transpose, 2048x2048": Case(lambda: x.t().contiguous(), moved=2 * whole),
        "channels last, 32x256x28x28": Case(lambda: image.permute(0, 2, 3, 1).contiguous(), moved=2 * image.numel() * FLOAT),
        "channels first, 224x224x3": Case(lambda: photo.permute(2, 0, 1).contiguous(), moved=2 * photo.numel() * FLOAT),
        "cat of two 2048x2048, dim 1": Case(lambda: torch.cat([x, x], 1), moved=4 * whole),
        "stack of two 2048x2048": Case(lambda: torch.stack([x, x]), moved=4 * whole),
        "flip, 2048x2048": Case(lambda: x.flip(1), moved=2 * whole),
        "roll, 2048x2048": Case(lambda: x.roll(7, 1), moved=2 * whole),
        "tril, 2048x2048": Case(lambda: x.tril(), moved=2 * whole),
        "pad, 32x256x28x28": Case(lambda: functional.pad(image, (1, 1, 1, 1)), moved=2 * image.numel() * FLOAT),
        "x[ids], 8192 of 4096x256": Case(lambda: rows[ids], moved=2 * 8192 * 256 * FLOAT),
        "gather, 4096x64 of 4096x256": Case(lambda: rows.gather(1, within), moved=4096 * 64 * (8 + 2 * FLOAT)),
        "scatter_add, 4096x64 into 4096x256": Case(lambda: torch.zeros(4096, 256).scatter_add(1, within, rows[:, :64])),
        "index_add, 8192 into 4096x256": Case(lambda: torch.zeros(4096, 256).index_add(0, ids, many), moved=4 * 8192 * 256 * FLOAT),
        "x[mask], half of 4096x256": Case(lambda: rows[mask], moved=4096 * 256 * 6),
        "nonzero, half of 4096x256": Case(lambda: mask.nonzero(), moved=4096 * 256 * 9),
        "arange, 1 M": Case(lambda: torch.arange(1 << 20), moved=8 << 20),
    }
