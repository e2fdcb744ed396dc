"""The cases, a module a group. A group is a function of the library, which has PyTorch's names, to its cases by name."""

from . import elementwise, expressions, layers, linalg, movement, narrow, networks, products, reductions, tiny

GROUPS = {
    "tiny calls": tiny.cases,
    "element by element": elementwise.cases,
    "reductions and scans": reductions.cases,
    "expressions": expressions.cases,
    "products": products.cases,
    "layers": layers.cases,
    "copies and indices": movement.cases,
    "rows of a few elements": narrow.cases,
    "linear algebra": linalg.cases,
    "networks": networks.cases,
}
