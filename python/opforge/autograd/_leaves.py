"""The leaves of the recorded graph that tensors were computed from."""

from __future__ import annotations

from .grad_mode import inference_mode


@inference_mode(False)
def leaf_node(leaf):
    """The node where gradients of a leaf that needs one end."""
    return leaf.view_as(leaf).grad_fn.next_functions[0][0]


def leaf_nodes(tensors):
    """The nodes where gradients of the tensors end, one after the other; each has its leaf as `variable`."""
    waiting = [leaf_node(t) if t.is_leaf else t.grad_fn for t in tensors if t.requires_grad]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node
        waiting += [source for source, _ in node.next_functions if source is not None]
