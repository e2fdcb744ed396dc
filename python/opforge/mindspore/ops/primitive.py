"""`Primitive`: what operators that are objects have in common."""

from __future__ import annotations

import functools

from ..._absent import absent_function


class Primitive:
    """An operator; `name` is its class's name, unless it is made with another. What `add_prim_attr` adds is an attribute of the object too.

    >>> op = Primitive("scale").add_prim_attr("factor", 2)
    >>> op.name, op.factor, op.get_attr_dict()
    ('scale', 2, {'factor': 2})
    """

    def __init__(self, name=None):
        self._name = name

    @property
    def name(self):
        return self.__dict__.get("_name") or type(self).__name__

    @property
    def attrs(self) -> dict:
        """What `add_prim_attr` added, by name."""
        return self.__dict__.setdefault("_attrs", {})

    def add_prim_attr(self, name, value):
        """Adds an attribute; returns the operator."""
        self.attrs[name] = value
        self.__dict__[name] = value
        return self

    def del_prim_attr(self, name):
        """Takes an attribute away; returns the operator."""
        self.attrs.pop(name, None)
        self.__dict__.pop(name, None)
        return self

    def get_attr_dict(self) -> dict:
        """A copy of what `add_prim_attr` added, by name."""
        return dict(self.attrs)

    def init_prim_io_names(self, inputs, outputs):
        """Names the inputs and outputs, as the attributes `input_names` and `output_names`."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_device(self, device_target):
        """Keeps the name of a device as the attribute `primitive_target`; calls run where their tensors are. Returns the operator."""
        return self.add_prim_attr("primitive_target", device_target)

    def _unused(self, *args, **kwargs):
        """Returns the operator: it chooses among MindSpore's ways to run in parallel or on other devices."""
        return self

    set_prim_instance_name = set_stage = shard = place = recompute = set_user_data = _unused

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.name}: a primitive without a computation of its own (accepted: ops.Custom, and the operators of opforge.mindspore.ops)")

    def __repr__(self):
        return f"Prim[{self.name}]"


class PrimitiveWithInfer(Primitive):
    """A `Primitive` whose subclasses tell shapes and dtypes of outputs by `infer_shape` and `infer_dtype`, which nothing asks here."""


class PrimitiveWithCheck(Primitive):
    """A `Primitive` whose subclasses check inputs by `check_shape` and `check_dtype`, which nothing asks here."""


def prim_attr_register(fn):
    """`__init__` of a primitive, whose arguments become its attributes.

    >>> class Scale(Primitive):
    ...     @prim_attr_register
    ...     def __init__(self, factor=2):
    ...         pass
    >>> Scale(3).factor
    3
    """
    import inspect

    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self, *args, **kwargs):
        Primitive.__init__(self)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        fn(self, *args, **kwargs)

    return init


def constexpr(fn=None, get_instance=True, name=None, reuse_result=True, check=True):
    """`fn` itself: constants need no preparation. Also a decorator with options."""
    return fn if fn is not None else constexpr


_primexpr = constexpr
CustomOpBuilder = absent_function("mindspore.ops.CustomOpBuilder", "operators in MindSpore's own C++ classes are not there; see ops.Custom and opforge.custom_op")
