"""Whatever size a call asks for, in its result or in working memory: it is an `OutOfMemoryError`, and the process lives."""

import subprocess
import sys

import pytest

import opforge as torch

# Calls that need more memory than there is, of stretched tensors: `big(..)` takes 4 bytes. Those that were found to end the process come first.
CALLS = """
torch.repeat_interleave(torch.tensor([2**40]))
torch.ones(1).repeat_interleave(torch.tensor([2**33]))
torch.matmul(big(2**33, 2), big(2, 1))
torch.einsum('i,j->ij', big(2**30), big(2**30))
F.conv1d(big(1, 1, 2**36), big(1, 1, 2**36))
F.conv1d(big(1, 1, 2**33), big(1, 1, 3))
F.conv1d(big(1, 2**30, 4), big(1, 2**30, 3))
F.conv_transpose1d(big(1, 1, 2), big(1, 1, 3), stride=2**26)
torch.linalg.inv(big(2**16, 2**16))
torch.linalg.pinv(big(1, 2**31))
torch.linalg.lu_factor(big(2**31, 1))
torch.linalg.svdvals(big(2**15, 2**16))
torch.linalg.qr(big(2**31, 1), mode='r')
torch.linalg.lstsq(big(2**31, 1), big(2**31, 1))
torch.linalg.slogdet(big(2**15, 2**15))
torch.linalg.eigvals(big(2**15, 2**15))
torch.linalg.matrix_exp(big(2**14, 2**14))
torch.sort(big(2**31))
torch.argsort(big(2**29))
torch.topk(big(2**31), 2**28)
torch.unique(big(2**31))
torch.quantile(big(2**31), 0.5)
big(2**33).cumsum(0)
torch.nonzero(big(2**33))
big(4)[torch.zeros(1, dtype=torch.int64).expand(2**33)]
F.embedding(torch.zeros(1, dtype=torch.int64).expand(2**33), big(4, 4))
torch.bincount(torch.tensor([2**40]))
big(2**36).tolist()
big(2**36).unbind(0)
big(2**24).unbind(0)
big(2**36).split(1)
F.pad(big(1, 1, 2**35), (2**34, 2**34), mode='replicate')
F.pad(big(4), (2**36, 0))
torch.arange(2**40)
torch.eye(2**30)
torch.randperm(2**34)
torch.combinations(big(2**20))
F.interpolate(big(1, 1, 2), size=2**34, mode='nearest')
F.avg_pool1d(big(1, 1, 2**31), 2**31)
F.scaled_dot_product_attention(big(1, 2**31, 1), big(1, 4, 1), big(1, 4, 1))
F.scaled_dot_product_attention(big(1, 4, 2), big(1, 2**33, 2), big(1, 2**33, 2))
F.one_hot(torch.tensor([1]), 2**40)
torch.nn.LSTM(1, 1)(big(2**31, 1, 1))
torch.tensor([0] * 2**28)
torch.autograd.grad(torch.as_strided(x := torch.ones(1, requires_grad=True), (2**28,), (0,)).sum(), x)
"""

# Each call in a child of its own that may map 2 GiB.
SCRIPT = """
import os, resource, signal
import opforge as torch
F = torch.nn.functional
one = torch.ones(1)

def big(*shape):
    return one.expand(*shape)

for call in calls.strip().splitlines():
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
        outcome = "a result"
        try:
            eval(call)
            torch.synchronize()
        except MemoryError:
            outcome = ""
        except BaseException as error:
            outcome = repr(error)[:200]
        if outcome:
            print(call, "gives", outcome, flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        print(call, "ends the process:", status, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_sizes_beyond_memory_are_errors():
    script = f"calls = {CALLS!r}\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.fixture
def limited():
    """Sets a limit of `nbytes` beyond what is in use."""
    before = torch.memory_stats()["limit"]
    yield lambda nbytes: torch.set_memory_limit(torch.memory_allocated() + nbytes)
    torch.set_memory_limit(before)


# Calls with the bytes of their results, which working memory exceeds.
SCRATCH = {
    "sort": (lambda: torch.argsort(LONG), 8 << 20),
    "svd": (lambda: torch.linalg.svdvals(SQUARE), 1 << 12),
    "solve": (lambda: torch.linalg.solve(SQUARE, SQUARE[:, :1]), 1 << 12),
    "eigenvalues": (lambda: torch.linalg.eigvals(SQUARE), 1 << 13),
    "sums of narrow numbers": (lambda: torch.zeros(1 << 20, dtype=torch.float16).index_add(0, NOWHERE, LONG.half()), 3 << 20),
}
LONG = torch.rand(1 << 20)
SQUARE = torch.rand(256, 256) + 256 * torch.eye(256)
NOWHERE = torch.zeros(1 << 20, dtype=torch.int64)


@pytest.mark.parametrize("name", SCRATCH)
def test_working_memory_is_counted_and_limited(name, limited):
    call, nbytes = SCRATCH[name]
    torch.synchronize()
    torch.reset_peak_memory_stats()
    before = torch.memory_allocated()
    call()
    torch.synchronize()
    needed = torch.max_memory_allocated() - before
    assert needed > nbytes + (256 << 10)
    limited(needed // 2)
    with pytest.raises(MemoryError):
        call()
        torch.synchronize()
    limited(2 * needed)
    call()
    torch.synchronize()


def test_the_number_of_views_is_checked_first(limited):
    limited(100_000_000)
    for views in [lambda: LONG.unbind(0), lambda: LONG.split(1), lambda: LONG.chunk(1 << 20), lambda: LONG.tensor_split(1 << 20)]:
        with pytest.raises(MemoryError):
            views()
    assert len(LONG.split(1 << 10)) == 1 << 10
