"""Puts one pattern of steps in the place of another."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from .graph import Graph
from .graph_module import GraphModule, _adopt
from .node import Node, map_arg
from .tracer import Tracer

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: the node of its result, and the nodes, or plain values, for those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(gm, pattern, replacement):
    """Replaces what `pattern` does in a [`GraphModule`] by what `replacement` does, wherever it is found; returns the matches.

    Both are functions, modules or graphs with as many inputs, in the same order, and one result. Inputs stand for any node or plain value; whatever
    else the pattern has must be used within it alone, and matches that share nodes with an earlier one are left. Parameters and modules that the
    replacement names are those of `gm`, or, if it has none of the name, copies of the replacement's.

    >>> module = opforge.fx.symbolic_trace(lambda x, y: opforge.add(x, y).relu())
    >>> len(opforge.fx.replace_pattern(module, lambda a, b: opforge.add(a, b), lambda a, b: a * b))
    1
    >>> module(opforge.tensor(2.0), opforge.tensor(3.0)).item()
    6.0
    """
    (wanted, _), (other, root) = _graph_of(pattern), _graph_of(replacement)
    inputs, others = wanted.find_nodes(op="placeholder"), other.find_nodes(op="placeholder")
    if len(inputs) != len(others):
        raise AssertionError(f"replace_pattern: the pattern has {len(inputs)} inputs, the replacement {len(others)}: expected as many")
    result = _result_of(wanted)
    matches, replaced, root = _matches(gm.graph, result), {}, copy.deepcopy(root)
    for node in other.nodes:
        if node.op in ("get_attr", "call_module") and not _has(gm, node.target):
            _adopt(gm, root, node.target)
    for match in matches:
        found = match.nodes_map
        found.update({node: replaced[found[node]] for node in inputs if isinstance(found.get(node), Node) and found[node] in replaced})
        replaced[match.anchor] = _replace(gm.graph, match, [found.get(node) for node in inputs], other)
    gm.recompile()
    return matches


def _graph_of(program):
    """The graph of a function, module or graph, and the module that has what it names."""
    if isinstance(program, Graph):
        return program, program.owning_module
    if isinstance(program, GraphModule):
        return program.graph, program
    tracer = Tracer()
    return tracer.trace(program), tracer.root


def _result_of(graph):
    [output] = graph.find_nodes(op="output")
    if not isinstance(output.args[0], Node) or output.args[0].op == "placeholder":
        raise NotImplementedError(f"replace_pattern: the pattern gives {output.args[0]} (accepted: the result of one step)")
    return output.args[0]


def _has(module, path):
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _matches(graph, result):
    """The matches of a pattern with this result, none of which share steps."""
    matches, taken = [], set()
    for anchor in graph.nodes:
        found = {}
        if not _fits(result, anchor, found):
            continue
        steps = {node for wanted, node in found.items() if wanted.op != "placeholder"}
        is_closed = all(user in steps for node in steps - {anchor} for user in node.users)
        if is_closed and not steps & taken:
            taken |= steps
            matches.append(Match(anchor, found))
    return matches


def _fits(wanted, node, found):
    """Whether a node, or another value, does what the pattern's does; `found` has the nodes so far."""
    if not isinstance(wanted, Node):
        return _values_fit(wanted, node, found)
    if not isinstance(node, Node) and (wanted.op != "placeholder" or isinstance(node, (list, tuple, dict, slice))):
        return False
    if wanted in found:
        return found[wanted] is node or (not isinstance(node, Node) and _values_fit(found[wanted], node, found))
    found[wanted] = node
    if wanted.op == "placeholder":
        return True
    is_same = (wanted.op, wanted.target) == (node.op, node.target)
    return is_same and _values_fit(wanted.args, node.args, found) and _values_fit(wanted.kwargs, node.kwargs, found)


def _values_fit(wanted, value, found):
    if isinstance(wanted, (tuple, list)):
        return type(wanted) is type(value) and len(wanted) == len(value) and all(_fits(a, b, found) for a, b in zip(wanted, value))
    if isinstance(wanted, dict):
        return isinstance(value, dict) and wanted.keys() == value.keys() and all(_fits(wanted[key], value[key], found) for key in wanted)
    if isinstance(wanted, slice):
        parts = lambda part: (part.start, part.stop, part.step)  # noqa: E731
        return isinstance(value, slice) and _values_fit(parts(wanted), parts(value), found)
    return type(wanted) is type(value) and wanted == value


def _replace(graph, match, inputs, replacement):
    """Puts the replacement in the place of the match; the node, or other value, of its result."""
    copies = dict(zip(replacement.find_nodes(op="placeholder"), inputs))
    with graph.inserting_before(match.anchor):
        for node in replacement.nodes:
            if node.op not in ("placeholder", "output"):
                copies[node] = graph.node_copy(node, copies.__getitem__)
    [output] = replacement.find_nodes(op="output")
    result = map_arg(output.args[0], copies.__getitem__)
    match.anchor.replace_all_uses_with(result)
    steps = [node for wanted, node in match.nodes_map.items() if wanted.op != "placeholder"]
    for node in sorted(steps, key=graph.nodes.index, reverse=True):
        graph.erase_node(node)
    return result
