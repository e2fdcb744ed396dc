//! Errors with candle's names: their classes, and what they say.

use super::{Error, ErrorKind, Report};
use crate::{DType, Shape};

pub(super) const EQUAL_DTYPES: &str = "equal dtypes";
const EQUAL_STORED: &str = "equal dtypes, as floats of 8 bits are not promoted; convert with to_dtype (to in Python)";
const COMPUTED: &str = "dtypes that are computed in, as f16, bf16, f32 or f64; convert with to_dtype (to in Python)";

/// What is accepted where two dtypes should be equal.
pub(super) fn equal_dtypes(lhs: DType, rhs: DType) -> &'static str {
    if lhs.is_storage_only() || rhs.is_storage_only() { EQUAL_STORED } else { EQUAL_DTYPES }
}

impl Error {
    /// The class of an error with a name of candle's.
    pub(super) fn known_kind(&self) -> ErrorKind {
        match self {
            Error::DTypeMismatchBinaryOp { .. } => ErrorKind::DType,
            Error::UnexpectedNumberOfDims { .. }
            | Error::UnexpectedShape { .. }
            | Error::ShapeMismatch { .. }
            | Error::ShapeMismatchBinaryOp { .. }
            | Error::ShapeMismatchCat { .. }
            | Error::ShapeMismatchSplit { .. }
            | Error::EmptyTensor { .. }
            | Error::Conv1dInvalidArgs { .. }
            | Error::BroadcastIncompatibleShapes { .. }
            | Error::MatMulUnexpectedStriding(_)
            | Error::RequiresContiguous { .. } => ErrorKind::Shape,
            Error::DimOutOfRange { .. }
            | Error::DuplicateDimIndex { .. }
            | Error::NarrowInvalidArgs { .. }
            | Error::InvalidIndex { .. } => ErrorKind::Index,
            Error::DeviceMismatchBinaryOp { .. }
            | Error::NotCompiledWithCudaSupport
            | Error::NotCompiledWithMetalSupport => ErrorKind::Device,
            Error::OnlySingleDimension { .. }
            | Error::OpRequiresAtLeastOneTensor { .. }
            | Error::OpRequiresAtLeastTwoTensors { .. } => ErrorKind::Value,
            Error::CannotSetVar { .. } | Error::BackwardNotSupported { .. } => ErrorKind::Autograd,
            _ => ErrorKind::Other,
        }
    }

    /// What an error with a name of candle's says.
    pub(super) fn known_report(&self) -> Option<Report> {
        Some(match self {
            Error::DTypeMismatchBinaryOp { lhs, rhs, op } => {
                report(op, &[("lhs", lhs.to_string()), ("rhs", rhs.to_string())], equal_dtypes(*lhs, *rhs))
            }
            Error::UnsupportedDTypeForOp(dtype, op) if dtype.is_storage_only() => {
                report(op, &[("input", dtype.to_string())], COMPUTED)
            }
            Error::DimOutOfRange { shape, dim, op } => {
                report(op, &[("dim", dim.to_string())], format!("a dimension of the shape {shape:?}"))
            }
            Error::DuplicateDimIndex { dims, op, .. } => {
                report(op, &[("dims", format!("{dims:?}"))], "each dimension at most once")
            }
            Error::UnexpectedNumberOfDims { expected, shape, .. } => {
                let op = shape.op().map_or_else(|| format!("dims{expected}"), str::to_owned);
                report(op, &[("shape", format!("{shape:?}"))], format!("rank {expected}"))
            }
            Error::UnexpectedShape { msg, expected, got } => {
                report(msg, &[("got", format!("{got:?}"))], format!("{expected:?}"))
            }
            Error::ShapeMismatch { buffer_size, shape } => {
                let accepted = format!("{} elements for the shape {shape:?}", shape.elem_count());
                report("from_vec", &[("data", format!("{buffer_size} elements"))], accepted)
            }
            Error::ShapeMismatchBinaryOp { lhs, rhs, op } => {
                report(op, &[("lhs", format!("{lhs:?}")), ("rhs", format!("{rhs:?}"))], together(op, lhs, rhs))
            }
            Error::ShapeMismatchCat { dim, first_shape, n, nth_shape } => {
                let given = [("tensor 0", format!("{first_shape:?}"))];
                let mut report = report("cat", &given, format!("shapes that differ along dim {dim} only"));
                report.given.push((format!("tensor {n}").into(), format!("{nth_shape:?}")));
                report
            }
            Error::ShapeMismatchSplit { shape, dim, n_parts } => {
                let accepted = format!("a length in dim {dim} that is a multiple of {n_parts}");
                report("split", &[("shape", format!("{shape:?}"))], accepted)
            }
            Error::DeviceMismatchBinaryOp { lhs, rhs, op } => {
                report(op, &[("lhs", lhs.to_string()), ("rhs", rhs.to_string())], "one device")
            }
            Error::OnlySingleDimension { op, dims } => {
                report(op, &[("dims", format!("{dims:?}"))], "a single dimension")
            }
            Error::EmptyTensor { op } => report(op, &[("tensor", "empty".into())], "a tensor with elements"),
            Error::NarrowInvalidArgs { shape, dim, start, len, .. } => {
                let given = format!("start {start}, len {len} in dim {dim} of {shape:?}");
                let size = shape.dims().get(*dim).copied().unwrap_or_default();
                report("narrow", &[("range", given)], format!("start + len <= {size}"))
            }
            Error::Conv1dInvalidArgs { inp_shape, k_shape, padding, stride, msg } => {
                let given = [
                    ("input", format!("{inp_shape:?}")),
                    ("kernel", format!("{k_shape:?}")),
                    ("padding", padding.to_string()),
                    ("stride", stride.to_string()),
                ];
                report("conv1d", &given, *msg)
            }
            Error::InvalidIndex { op, index, size } => {
                let accepted = match size {
                    0 => "none, for the axis is empty".to_owned(),
                    size => format!("0 to {}", size - 1),
                };
                report(op, &[("index", index.to_string())], accepted)
            }
            Error::BroadcastIncompatibleShapes { src_shape, dst_shape } => {
                let given = [("lhs", format!("{src_shape:?}")), ("rhs", format!("{dst_shape:?}"))];
                report("expand", &given, "lhs that broadcasts to rhs")
            }
            Error::CannotSetVar { msg } => report("set", &[("var", (*msg).into())], "a tensor of the variable's kind"),
            Error::MatMulUnexpectedStriding(striding) => {
                let given = [("lhs", format!("{:?}", striding.lhs_l)), ("rhs", format!("{:?}", striding.rhs_l))];
                report("matmul", &given, format!("other strides: {}", striding.msg))
            }
            Error::RequiresContiguous { op } => {
                report(op, &[("tensor", "not contiguous".into())], "contiguous tensors")
            }
            Error::OpRequiresAtLeastOneTensor { op } => {
                report(op, &[("tensors", "none".into())], "at least one tensor")
            }
            Error::OpRequiresAtLeastTwoTensors { op } => {
                report(op, &[("tensors", "one".into())], "at least two tensors")
            }
            Error::BackwardNotSupported { op } => {
                report(op, &[("bwd", "not defined".into())], "an operator with a gradient")
            }
            Error::NotCompiledWithCudaSupport => {
                report("device", &[("device", "cuda".into())], "cpu; CUDA where opforge-cuda is used")
            }
            Error::NotCompiledWithMetalSupport => {
                report("device", &[("device", "metal".into())], "cpu: this build has no Metal")
            }
            _ => return None,
        })
    }
}

fn report(op: impl std::fmt::Display, given: &[(&'static str, String)], accepted: impl Into<String>) -> Report {
    let given = given.iter().map(|(argument, given)| ((*argument).into(), given.clone())).collect();
    Report { op: op.to_string().into(), given, accepted: accepted.into() }
}

/// The shapes that an operator of two takes.
fn together(op: &str, lhs: &Shape, rhs: &Shape) -> String {
    let spread = "dimensions that are equal or 1, aligned at the end";
    match op {
        "reshape" => format!("a shape of {} elements", lhs.elem_count()),
        "matmul" => "[.., m, k] and [.., k, n]".to_owned(),
        _ if op.starts_with("broadcast") => spread.to_owned(),
        // Whoever refuses what broadcasts wants equal shapes.
        _ if lhs.broadcast(rhs, "").is_ok() => "equal shapes".to_owned(),
        _ => format!("equal shapes; where it broadcasts, {spread}"),
    }
}
