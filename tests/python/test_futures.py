"""Results that are not there yet."""

import pytest

import opforge as torch


def test_futures():
    future = torch.futures.Future()
    doubled = future.then(lambda done: 2 * done.wait())
    both = torch.futures.collect_all([future, doubled])
    assert not doubled.done()
    future.set_result(4)
    assert doubled.wait() == 8 and [done.value() for done in both.wait()] == [4, 8]
    failed = torch.futures.Future()
    failed.set_exception(KeyError("gone"))
    with pytest.raises(KeyError, match="gone"):
        failed.then(lambda done: done.wait()).wait()
