"""Messages between two processes."""

from __future__ import annotations

from ._collectives import member, root_of, write
from ._state import get_global_rank
from ._work import Work, check_tensor, done


def _peer(name, found, given, group_given, argument):
    if given is None and group_given is None and argument == "src":
        raise NotImplementedError(f"{name}: src=None, a message from any rank, is not there: expected the sender's rank")
    peer = root_of(name, found, given, group_given, argument)
    if peer == found.rank():
        raise ValueError(f"{name}: {argument} is this process itself, expected another rank")
    return peer


def _tag(name, tag):
    if not isinstance(tag, int) or not 0 <= tag <= 16382:
        raise ValueError(f"{name}: tag={tag}, expected 0 to 16382")
    return tag


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Begins to send a tensor to process `dst`, its number in the world; a Work. The elements at the time of this call are sent."""
    work = _sending(tensor, dst, group, tag, group_dst)
    return None if work is None else done(work, async_op=True)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Begins to receive a tensor from process `src`, its number in the world; a Work. Messages with one tag come in order. Raises
    NotImplementedError without `src`."""
    work = _receiving(tensor, src, group, tag, group_src)
    return None if work is None else done(work, async_op=True)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to process `dst`, its number in the world."""
    if (work := _sending(tensor, dst, group, tag, group_dst)) is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None) -> int:
    """Receives a tensor from process `src`, and gives its number; -1 if this process is not in the group. Raises DistError if what was sent has another
    dtype or length."""
    if (work := _receiving(tensor, src, group, tag, group_src)) is None:
        return -1
    work.wait()
    return work.source_rank()


def _sending(tensor, dst, group, tag, group_dst):
    if (found := member("isend", group)) is None:
        return None
    check_tensor("isend", "tensor", tensor)
    return Work(found._core.send(tensor, _peer("isend", found, dst, group_dst, "dst"), _tag("isend", tag)))


def _receiving(tensor, src, group, tag, group_src):
    if (found := member("irecv", group)) is None:
        return None
    check_tensor("irecv", "tensor", tensor, is_result=True)
    peer = _peer("irecv", found, src, group_src, "src")
    request = found._core.receive(tensor, peer, _tag("irecv", tag))
    return Work(request, lambda result: write(tensor, result), get_global_rank(found, peer), [tensor])


class P2POp:
    """A message for `batch_isend_irecv`: `op` is `isend` or `irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op={op!r}, expected distributed.isend or distributed.irecv")
        check_tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer

    def __repr__(self):
        return f"P2POp({self.op.__name__}, peer={self.peer}, tag={self.tag}, shape={tuple(self.tensor.shape)})"


def batch_isend_irecv(p2p_op_list):
    """Begins several messages; a list of Works. Raises ValueError for lists of anything but P2POp."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv: p2p_op_list must be a list of P2POp, with at least one")
    works = [message.op(message.tensor, message.peer, message.group, message.tag, message.group_peer) for message in p2p_op_list]
    return [work for work in works if work is not None]
