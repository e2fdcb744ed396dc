"""Communication hooks for `DistributedDataParallel.register_comm_hook`. Their first argument is the group, or None for that of all processes."""

from __future__ import annotations

from .... import _core
from ... import _futures
from ..._state import resolve

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]


def _averaged(group, flat):
    """A future of a vector's average, which has its own memory."""
    group = resolve(group)
    if group.size() > 1:
        flat.div_(group.size())
    request = group._core.all_reduce(flat, "sum", True)
    request.release()

    def bring():
        result = request.wait()
        return flat if result is None else result

    return _futures.Deferred(request.test, bring)


def _compressed(group, bucket, dtype):
    buffer = bucket.buffer()
    return _averaged(group, buffer.to(dtype)).then(lambda future: buffer.copy_(future.value()))


def allreduce_hook(process_group, bucket):
    """Averages gradients in their own dtype, as without a hook: each rank divides, then all add.

    >>> model.register_comm_hook(None, allreduce_hook)                # doctest: +SKIP
    """
    return _averaged(process_group, bucket.buffer())


def bf16_compress_hook(process_group, bucket):
    """Sends gradients as bfloat16: half the bytes of float32, at 8 bits of precision. Sums are made in float32 and rounded once.

    >>> model.register_comm_hook(None, bf16_compress_hook)            # doctest: +SKIP
    """
    return _compressed(process_group, bucket, _core.bfloat16)


def fp16_compress_hook(process_group, bucket):
    """Sends gradients as float16: half the bytes of float32, at 11 bits of precision; what exceeds 65504 is infinite.

    >>> model.register_comm_hook(None, fp16_compress_hook)            # doctest: +SKIP
    """
    return _compressed(process_group, bucket, _core.float16)


def _wrapper(hook, dtype):
    def wrapped(state, bucket):
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda future: buffer.copy_(future.value().reshape(-1)))

    return wrapped


def bf16_compress_wrapper(hook):
    """The hook `hook`, given gradients as bfloat16."""
    return _wrapper(hook, _core.bfloat16)


def fp16_compress_wrapper(hook):
    """The hook `hook`, given gradients as float16."""
    return _wrapper(hook, _core.float16)
