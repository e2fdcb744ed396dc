"""Memory of numpy that another thread changes while a function reads it: an error or some result, never a crash."""

import subprocess
import sys

import numpy as np
import pytest

import opforge as torch

# Copies of large arrays let go of the interpreter's lock, and so do functions that work on them.
CHILD = """
import sys, threading, time
import numpy as np
import opforge as torch
import opforge.nn.functional as F

n = 200_000
ids, mask = np.zeros(n, np.int64), np.zeros(n, np.bool_)
wrong = np.full(n, 2**40); wrong[::2] = -(2**40); most = np.ones(n, np.bool_)
right, few = np.arange(n) % 8, np.arange(n) % 8 == 0
done = False

def change():
    while not done:
        # Now without a pause, so that what was checked is written over, and now with one, so that counts agree.
        for pause in (None, None, None, 0.0001):
            ids[:] = right; mask[:] = few
            if pause: time.sleep(pause)
            ids[:] = wrong; mask[:] = most
            if pause: time.sleep(pause)

sys.setswitchinterval(1e-5)
i, m = torch.from_numpy(ids), torch.from_numpy(mask)
table, flat, gaps = torch.zeros(8, 8), torch.zeros(n), torch.zeros(n, 2)
calls = {
    "embedding": lambda: F.embedding(i, table),
    "embedding_bag": lambda: F.embedding_bag(i, table, torch.arange(0, n, 10)),
    "embedding_bag offsets": lambda: F.embedding_bag(torch.zeros(n, dtype=torch.int64), table, i),
    "gather": lambda: flat.gather(0, i),
    "gather of gaps": lambda: gaps[:, 0].gather(0, i),
    "scatter": lambda: torch.zeros(8).scatter_(0, i, flat),
    "scatter_add": lambda: torch.zeros(8).scatter_add(0, i, flat),
    "scatter_reduce": lambda: torch.zeros(8).scatter_reduce(0, i, flat, "amax"),
    "index_select": lambda: table.index_select(0, i),
    "index_add": lambda: torch.zeros(8).index_add_(0, i, flat),
    "index_fill": lambda: torch.zeros(8).index_fill_(0, i, 1.0),
    "index_copy": lambda: torch.zeros(8).index_copy_(0, i, flat),
    "index": lambda: table[i],
    "index_put": lambda: table.clone().index_put_((i,), torch.zeros(8)),
    "take": lambda: table.take(i),
    "take_along_dim": lambda: flat.take_along_dim(i, 0),
    "put": lambda: table.clone().put_(i, flat),
    "bincount": lambda: torch.bincount(i) if int(i[-1]) < 9 and int(i[-1]) >= 0 else None,
    "one_hot": lambda: F.one_hot(i, 8),
    "cross_entropy": lambda: F.cross_entropy(torch.zeros(n, 8), i),
    "nll_loss": lambda: F.nll_loss(torch.zeros(n, 8), i),
    "unique": lambda: torch.unique(i, return_inverse=True, return_counts=True),
    "sort": lambda: i.sort(),
    "topk": lambda: i.topk(5),
    "kthvalue": lambda: i.kthvalue(3),
    "searchsorted": lambda: torch.searchsorted(i, i),
    "max_unpool": lambda: F.max_unpool1d(flat[None, None, :8], i[None, None, :8], 2),
    "argmax": lambda: i.argmax(),
    "nonzero": lambda: m.nonzero(),
    "argwhere": lambda: torch.argwhere(m),
    "x[mask]": lambda: flat[m],
    "x[mask] = y": lambda: flat.clone().__setitem__(m, 1.0),
    "masked_select": lambda: flat.masked_select(m),
    "masked_scatter": lambda: flat.clone().masked_scatter_(m, flat),
    "masked_fill": lambda: flat.masked_fill(m, 1.0),
    "where": lambda: torch.where(m),
    "count_nonzero": lambda: torch.count_nonzero(m),
}
# Those that crashed soonest when indices were read twice.
LONG = ("gather of gaps", "nonzero", "x[mask]")
thread = threading.Thread(target=change)
thread.start()
try:
    for name in calls:
        end, outcomes = time.monotonic() + (1.0 if name in LONG else 0.1), set()
        while time.monotonic() < end:
            try:
                calls[name]()
                outcomes.add("result")
            except (RuntimeError, IndexError, ValueError, MemoryError) as error:
                outcomes.add(type(error).__name__)
        print(name, sorted(outcomes), flush=True)
finally:
    done = True
    thread.join()
while True:
    try:
        torch.synchronize()  # Failures of results that nobody asked for.
        break
    except IndexError:
        pass
print("survived")
"""


def test_indices_and_masks_that_change_meanwhile():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.endswith("survived\n"), done.stdout[-300:] + done.stderr[-2000:]


def truths():
    """A bool tensor and the memory of its bytes."""
    memory = np.array([0, 1, 2, 255], np.uint8)
    tensor = torch.from_numpy(np.zeros(4, np.bool_))
    tensor.numpy().view(np.uint8)[:] = memory
    return tensor


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda x: x.tolist(), [False, True, True, True]),
        (lambda x: [x[i].item() for i in range(4)], [False, True, True, True]),
        (lambda x: (x == torch.tensor([False, True, True, True])).tolist(), [True] * 4),
        (lambda x: (x == x[1]).tolist(), [False, True, True, True]),
        (lambda x: (x != True).tolist(), [True, False, False, False]),  # noqa: E712
        (lambda x: (x > False).tolist(), [False, True, True, True]),
        (lambda x: (x & x[1]).tolist(), [False, True, True, True]),
        (lambda x: (x ^ x[1]).tolist(), [True, False, False, False]),
        (lambda x: (~x).tolist(), [True, False, False, False]),
        (lambda x: x.sum().item(), 3),
        (lambda x: x.long().tolist(), [0, 1, 1, 1]),
        (lambda x: x.float().tolist(), [0, 1, 1, 1]),
        (lambda x: x.all().item(), False),
        (lambda x: x[1:].all().item(), True),
        (lambda x: x.nonzero().flatten().tolist(), [1, 2, 3]),
        (lambda x: torch.arange(4)[x].tolist(), [1, 2, 3]),
        (lambda x: torch.where(x, 1, 0).tolist(), [0, 1, 1, 1]),
        (lambda x: x.argmax().item(), 1),
        (lambda x: x.int().max().item(), 1),
        (lambda x: x.sort(stable=True)[1].tolist(), [0, 1, 2, 3]),
        (lambda x: x.sort(stable=True, descending=True)[1].tolist(), [1, 2, 3, 0]),
        (lambda x: torch.unique(x).tolist(), [False, True]),
        (lambda x: x.cumsum(0).tolist(), [0, 1, 2, 3]),
        (lambda x: (x * 2).tolist(), [0, 2, 2, 2]),
        (lambda x: torch.equal(x, torch.tensor([False, True, True, True])), True),
        (lambda x: str(x), "tensor([False,  True,  True,  True])"),
        (lambda x: torch.zeros(4).masked_fill(x, 1.0).tolist(), [0, 1, 1, 1]),
        (lambda x: torch.count_nonzero(x).item(), 3),
        (lambda x: x.clone().logical_xor(torch.ones(4, dtype=torch.bool)).tolist(), [True, False, False, False]),
    ],
)
def test_bytes_of_bools_other_than_0_and_1_are_true(call, expected):
    assert call(truths()) == expected
