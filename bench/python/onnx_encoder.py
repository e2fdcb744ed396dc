"""MiniLM's encoder as ONNX Runtime runs it; the same network as `cases.networks.encoders`, its weights random too."""

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from case import Case
from cases.networks import SENTENCES

WIDTH, HEADS, LAYERS = 384, 12, 6


class Graph:
    """Nodes, and the constants that they use."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], numpy.random.default_rng(0)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.normal(0, 0.02, shape).astype(numpy.float32))

    def __call__(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(self, x, before, after):
        return self("Add", self("MatMul", x, self.weight(before, after)), self.weight(after))

    def norm(self, x):
        return self("LayerNormalization", x, self.constant(numpy.ones(WIDTH, numpy.float32)), self.weight(WIDTH), axis=-1, epsilon=1e-5)

    def layer(self, x):
        heads, whole = self.constant(numpy.array([0, 0, HEADS, WIDTH // HEADS])), self.constant(numpy.array([0, 0, WIDTH]))
        scale = self.constant(numpy.float32((WIDTH // HEADS) ** -0.5))

        def split(order):
            return self("Transpose", self("Reshape", self.linear(x, WIDTH, WIDTH), heads), perm=order)

        query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
        scores = self("Softmax", self("Mul", self("MatMul", query, key), scale), axis=-1)
        y = self("Reshape", self("Transpose", self("MatMul", scores, value), perm=[0, 2, 1, 3]), whole)
        x = self.norm(self("Add", x, self.linear(y, WIDTH, WIDTH)))
        y = self("Gelu", self.linear(x, WIDTH, 4 * WIDTH))
        return self.norm(self("Add", x, self.linear(y, 4 * WIDTH, WIDTH)))


def session(length):
    graph = Graph()
    places = graph.weight(length, WIDTH)
    x = graph.norm(graph("Add", graph("Gather", graph.weight(30522, WIDTH), "ids"), places))
    for _ in range(LAYERS):
        x = graph.layer(x)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", length])
    out = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", length, WIDTH])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "encoder", [ids], [out], graph.constants), opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def cases():
    found = {}
    for batch, length in SENTENCES:
        run, ids = session(length), numpy.random.default_rng(0).integers(0, 30522, (batch, length))
        case = Case(lambda run=run, ids=ids: run.run(None, {"ids": ids}))
        for kind in ("", ", compiled"):  # Its graphs always are.
            found[f"MiniLM's encoder, {batch}x{length}{kind}"] = case
    return found
