"""Declarations of custom operators: `CustomRegOp` and `DataType`. What is expected was observed with MindSpore 2.10."""

import pytest

from opforge.mindspore.ops import CustomRegOp, DataType


def test_declaration():
    info = (
        CustomRegOp("add")
        .input(0, "x")
        .input(1, "y", "dynamic", shape="all")
        .output(0, "z")
        .dtype_format(DataType.F32_Default, DataType.F32_Default, DataType.F32_Default)
        .attr("axis", "required", "all", value=3)
        .attr("mode", "optional", "int", "5")
        .target("CPU")
        .get_op_info()
    )
    f32 = ("float32", "DefaultFormat")
    assert info == {
        "op_name": "add",
        "inputs": [
            {"index": 0, "name": "x", "paramType": "required"},
            {"index": 1, "name": "y", "paramType": "dynamic", "shape": "all"},
        ],
        "outputs": [{"index": 0, "name": "z", "paramType": "required"}],
        "attr": [
            {"name": "axis", "paramType": "required", "type": "all", "value": 3},
            {"name": "mode", "paramType": "optional", "type": "int", "defaultValue": "5"},
        ],
        "fusion_type": "",
        "dtype_format": [(f32, f32, f32)],
        "target": "CPU",
    }


def test_what_is_left_out():
    info = CustomRegOp().attr(name="u", value=None).attr().get_op_info()
    assert (info["op_name"], info["target"], info["attr"]) == ("Custom", "UnKnown", [{"name": "u", "value": None}, {}])


def test_declarations_are_independent():
    declaration = CustomRegOp("a").input(0, "x")
    first = declaration.get_op_info()
    declaration.input(1, "y")
    assert len(first["inputs"]) == 1


@pytest.mark.parametrize(
    ("declare", "error", "message"),
    [
        (lambda: CustomRegOp(3), TypeError, "op_name must be str, not int"),
        (lambda: CustomRegOp().input("a"), TypeError, "index must be int or None"),
        (lambda: CustomRegOp().output(0, 3), TypeError, "name must be str or None"),
        (lambda: CustomRegOp().attr(3), TypeError, "name must be str or None"),
        (lambda: CustomRegOp().attr("a", default_value=3), TypeError, "defaultValue"),
        (lambda: CustomRegOp().target(3), TypeError, "target"),
        (lambda: CustomRegOp().input(0, "x").output(0, "y").dtype_format(DataType.F32_Default), ValueError, "1 dtypes .*2, one for each"),
        (lambda: CustomRegOp().input(0, "x").dtype_format("F32_Default"), ValueError, "members of DataType"),
        (lambda: CustomRegOp().input(0, "x").dtype_format(("float32",)), ValueError, "members of DataType"),
    ],
)
def test_refused(declare, error, message):
    with pytest.raises(error, match=message):
        declare()


def test_data_types():
    assert DataType.F32_Default == ("float32", "DefaultFormat") and DataType.None_None == ("", "")
    assert DataType.I64_NHWC == ("int64", "NHWC") and DataType.F16_5HD == ("float16", "NC1HWC0")
    assert DataType.BF16_FracZ == ("bfloat16", "FRACTAL_Z") and DataType.BOOL_Default_List == ("bool", "DefaultFormat", "list")
    assert DataType.C128_Default == ("complex128", "DefaultFormat") and DataType.None_Default == ("", "DefaultFormat")
    with pytest.raises(AttributeError):
        DataType.F8_Default
