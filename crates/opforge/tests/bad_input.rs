//! Wrong arguments, by class: each gives a typed error that names the operator, the argument, what was given and what is accepted. Nothing
//! panics, and nothing is computed silently.
//!
//! Memory beyond the limit is in `memory.rs`, misuse of gradients in `autograd.rs`.

mod common;

use common::{data::elements, guarded};
use opforge::ErrorKind::{Autograd, DType as DTypeError, Device as DeviceError, Index, OutOfMemory, Shape, Value};
use opforge::dispatch::dispatch_into;
use opforge::functional as f;
use opforge::ops::linalg::matmul::MatMul;
use opforge::{DType, Device, ErrorKind, IndexOp, Result, Scalar, Tensor, Var};

const CPU: &Device = &Device::Cpu;

type Call = Box<dyn Fn() -> Result<Tensor>>;

/// A call, the kinds of error that are right for it, and words that its message must hold: the operator's name first.
struct Case(&'static [ErrorKind], &'static [&'static str], Call);

fn case(
    kind: &'static [ErrorKind],
    words: &'static [&'static str],
    call: impl Fn() -> Result<Tensor> + 'static,
) -> Case {
    Case(kind, words, Box::new(call))
}

/// Makes every call and reads its result, which is where an error may surface; reports all that do not fail as they should.
#[track_caller]
fn all_refused(cases: Vec<Case>) {
    let failures: Vec<String> =
        cases.iter().enumerate().filter_map(|(i, c)| failure(c).map(|e| format!("case {i}: {e}"))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn failure(Case(kinds, words, call): &Case) -> Option<String> {
    let result = guarded(|| {
        let tensor = call()?;
        elements(&tensor).map(|values| format!("{:?} {values:?}", tensor.meta()))
    });
    let error = match result {
        Err(panic) => return Some(format!("{words:?} panicked: {panic}")),
        Ok(Ok(value)) => return Some(format!("{words:?} gave {value}")),
        Ok(Err(error)) => error,
    };
    let message = error.to_string();
    let complete = match error.report() {
        Some(r) => {
            !r.op.is_empty() && !r.accepted.is_empty() && r.given.iter().all(|(a, g)| !a.is_empty() && !g.is_empty())
        }
        None => true,
    };
    let named = words.iter().all(|word| message.contains(word));
    (!(complete && named && kinds.contains(&error.kind())))
        .then(|| format!("{words:?} {kinds:?}: {:?} {message}", error.kind()))
}

fn x(dims: &[usize]) -> Tensor {
    Tensor::ones(dims, DType::F32, CPU).unwrap()
}

fn ids(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, values.len(), CPU).unwrap()
}

/// In-place calls have no result of their own.
fn done(result: Result<()>) -> Result<Tensor> {
    result.map(|()| x(&[1]))
}

#[test]
fn class_1_negative_sizes_and_two_holes() {
    all_refused(vec![
        case(&[Shape], &["reshape", "[-2, 3]"], || f::reshape(&x(&[6]), &[-2, 3])),
        case(&[Shape], &["reshape", "[-1, -1]", "at most one -1"], || f::reshape(&x(&[6]), &[-1, -1])),
        case(&[Shape], &["reshape", "[-1, 4]"], || f::reshape(&x(&[6]), &[-1, 4])),
        case(&[Shape], &["reshape", "[0, -1]"], || f::reshape(&x(&[0]), &[0, -1])),
        case(&[Shape], &["reshape", "[7]", "6 elements"], || f::reshape(&x(&[6]), &[7])),
        case(&[Shape], &["reshape", "4"], || x(&[6]).reshape((4, ()))),
        case(&[Shape], &["full", "[-1, 2]"], || f::full(&[-1, 2], Scalar::Int(1), None, None, false)),
        case(&[Shape], &["rand", "-3"], || f::rand(&[-3], None, None, None, false)),
        case(&[Shape], &["randn", "-3"], || f::randn(&[-3], None, None, None, false)),
        case(&[Value, Shape], &["expand", "-2"], || f::expand(&x(&[1, 3]), &[-2, 3])),
        case(&[Value, Shape], &["expand", "-1"], || f::expand(&x(&[3]), &[-1, 3])),
        case(&[Value, Shape], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[-1], &[1], None)),
        case(&[Value], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[2], &[-1], None)),
        case(&[Shape], &["layer_norm", "-4"], || f::layer_norm(&x(&[2, 4]), &[-4], None, None, 1e-5)),
    ]);
}

#[test]
fn class_2_sizes_that_overflow() {
    const HUGE: usize = 1 << 40;
    all_refused(vec![
        case(&[Shape], &["full"], || Tensor::zeros((HUGE, HUGE), DType::F32, CPU)),
        case(&[Shape], &["full"], || Tensor::zeros((0, HUGE, HUGE), DType::F32, CPU)),
        case(&[Shape], &["full"], || Tensor::zeros(usize::MAX / 2, DType::F64, CPU)),
        case(&[Shape], &["full"], || f::full(&[i64::MAX, 2, 0], Scalar::Int(0), None, None, false)),
        case(&[Shape], &["rand"], || f::rand(&[i64::MAX, 4], None, None, None, false)),
        case(&[Shape], &["from_vec"], || Tensor::from_vec(Vec::<f32>::new(), (0, usize::MAX, 2), CPU)),
        case(&[Shape], &["reshape"], || x(&[0]).reshape((0, HUGE, HUGE))),
        case(&[Shape], &["reshape"], || f::reshape(&x(&[4]), &[i64::MAX, i64::MAX])),
        case(&[Shape], &["expand"], || x(&[1]).broadcast_as((HUGE, HUGE))),
        case(&[Shape], &["expand"], || f::expand(&x(&[1]), &[i64::MAX, i64::MAX])),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided((HUGE, 2), &[HUGE, 1], 0)),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided(2, &[usize::MAX], 1)),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided(2, &[1], usize::MAX)),
        case(&[Shape, OutOfMemory], &[], || x(&[1]).pad_with_zeros(0, usize::MAX / 8, usize::MAX / 8)),
        case(&[Shape, OutOfMemory], &[], || x(&[1]).repeat((HUGE, HUGE))),
        case(&[Shape, OutOfMemory, Value], &[], || Tensor::arange(0i64, i64::MAX, CPU)),
        case(&[Shape, Index], &["narrow"], || x(&[4]).narrow(0, 2, usize::MAX)),
        case(&[Shape], &["matmul"], || {
            let column = x(&[1, 1]).broadcast_as((1 << 30, 1))?;
            let row = x(&[1, 1]).broadcast_as((1, 1 << 40))?;
            column.matmul(&row)
        }),
    ]);
}

#[test]
fn class_3_ranks() {
    all_refused(vec![
        case(&[Shape, Index], &["t"], || x(&[3]).t()),
        case(&[Index], &["softmax", "rank 0"], || f::softmax(&x(&[]), 1, None)),
        case(&[Index], &["index_select", "rank 0"], || f::index_select(&x(&[]), 1, &ids(&[0]))),
        case(&[Shape, Index], &["layer_norm"], || f::layer_norm(&x(&[]), &[], None, None, 1e-5)),
        case(&[Shape], &["matmul"], || f::matmul(&x(&[]), &x(&[2, 2]))),
        case(&[Shape], &["matmul"], || x(&[3]).matmul(&x(&[3, 1]))),
        case(&[Shape], &["dot"], || x(&[2, 2]).dot(&x(&[2, 2]))),
        case(&[Shape, Index], &["cat"], || Tensor::cat(&[x(&[]), x(&[])], 0)),
        case(&[Shape, Index], &["cat"], || f::cat(&[x(&[]), x(&[])], 0)),
        case(&[Index], &["max"], || x(&[]).max(0)),
        case(&[Index, Shape], &["narrow"], || x(&[]).narrow(0, 0, 1)),
        case(&[Index, Shape], &["gather"], || f::gather(&x(&[]), 1, &Tensor::new(0i64, CPU)?)),
        case(&[Index, Shape], &["cumsum"], || x(&[]).cumsum(0)),
        case(&[Shape], &["embedding"], || x(&[3]).embedding(&ids(&[0]))),
        case(&[Shape, Index], &["linear"], || f::linear(&x(&[]), &x(&[2, 2]), None)),
        case(&[Shape], &["to_vec1", "[]"], || x(&[]).to_vec1::<f32>().map(|_| x(&[1]))),
        case(&[Shape], &["rank at most 32"], || Tensor::zeros(vec![1; 33], DType::F32, CPU)),
        case(&[Shape], &["rank at most 32"], || x(&[1]).reshape(vec![1; 40])),
        case(&[Shape], &["rank at most 32"], || x(&[1]).broadcast_as(vec![1; 64])),
        case(&[Shape], &["rank at most 32"], || (0..40).try_fold(x(&[1]), |t, _| t.unsqueeze(0))),
        case(&[Shape], &["rank at most 32"], || Tensor::stack(&[x(&[1; 32]), x(&[1; 32])], 0)),
        case(&[Shape], &["rank at most 32"], || x(&[1; 32]).unfold(0, 1, 1)),
        case(&[Shape], &["rank at most 32"], || x(&[2, 1]).embedding(&ids(&[0]).reshape(vec![1; 32])?)),
    ]);
}

#[test]
fn class_4_axes() {
    all_refused(vec![
        case(&[Index], &["sum", "5"], || x(&[2, 3]).sum(5)),
        case(&[Index], &["sum", "[0, 0]"], || x(&[2, 3]).sum((0, 0))),
        case(&[Index], &["sum", "[0, -2]"], || f::sum(&x(&[2, 3]), Some(&[0, -2]), false, None)),
        case(&[Index], &["sum", "-3"], || f::sum(&x(&[2, 3]), Some(&[-3]), false, None)),
        case(&[Index], &["max", "2"], || f::amax(&x(&[2, 3]), Some(&[2]), false)),
        case(&[Index], &["argmax", "2"], || f::argmax(&x(&[2, 3]), Some(2), false)),
        case(&[Index], &["softmax", "-3"], || f::softmax(&x(&[2, 3]), -3, None)),
        case(&[Index], &["permute"], || x(&[2, 3]).permute((0, 0))),
        case(&[Index], &["permute"], || x(&[2, 3]).permute((0, 2))),
        case(&[Index], &["permute"], || x(&[2, 3]).permute(0)),
        case(&[Index], &["permute"], || f::permute(&x(&[2, 3]), &[0, -2])),
        case(&[Index], &["transpose"], || x(&[2, 3]).transpose(0, 2)),
        case(&[Index], &["squeeze"], || x(&[2, 3]).squeeze(2)),
        case(&[Index], &["unsqueeze"], || x(&[2, 3]).unsqueeze(4)),
        case(&[Index], &["flip"], || f::flip(&x(&[2, 3]), &[0, 0])),
        case(&[Index], &["flip"], || x(&[2, 3]).flip(&[3])),
        case(&[Index], &["cat"], || f::cat(&[x(&[2, 3]), x(&[2, 3])], 2)),
        case(&[Index], &["stack"], || f::stack(&[x(&[2]), x(&[2])], 3)),
        case(&[Index], &["diagonal"], || x(&[2, 3]).diagonal(0, 1, 1)),
        case(&[Index], &["diagonal"], || f::diagonal(&x(&[2, 3]), 0, 0, 2)),
        case(&[Index], &["gather"], || f::gather(&x(&[2]), 1, &ids(&[0]))),
        case(&[Index], &["cumsum"], || f::cumsum(&x(&[2]), 1, None)),
        case(&[Index], &["i"], || x(&[2]).i((0, 0))),
    ]);
}

#[test]
fn class_5_extremes_of_nothing() {
    all_refused(vec![
        case(&[Shape], &["max", "at least one element"], || f::amax(&x(&[2, 0]), Some(&[1]), false)),
        case(&[Shape], &["max"], || x(&[0]).max_all()),
        case(&[Shape], &["min"], || x(&[3, 0]).min(1)),
        case(&[Shape], &["argmax"], || f::argmax(&x(&[0, 2]), Some(0), false)),
        case(&[Shape], &["argmin"], || f::argmin(&x(&[0]), None, false)),
    ]);
    let empty = x(&[2, 0]);
    assert_eq!(f::sum(&empty, Some(&[1]), false, None).unwrap().to_vec1::<f32>().unwrap(), [0.0; 2]);
    assert_eq!(f::prod(&empty, None, false, None).unwrap().to_scalar::<f32>().unwrap(), 1.0);
    assert!(empty.mean_all().unwrap().to_scalar::<f32>().unwrap().is_nan());
    assert_eq!(f::amax(&empty, Some(&[0]), false).unwrap().dims(), [0]);
}

#[test]
fn class_6_indices_out_of_range() {
    let bad = |dtype, value: i64| move || ids(&[0, 1]).affine(0.0, value as f64)?.to_dtype(dtype);
    let mut cases = vec![
        case(&[Index], &["narrow", "start 2, len 2"], || x(&[3]).narrow(0, 2, 2)),
        case(&[Index], &["narrow", "-4"], || f::narrow(&x(&[3]), 0, -4, 1)),
        case(&[Index], &["narrow", "5"], || x(&[3]).i(5)),
        case(&[Index], &["gather"], || f::cross_entropy(&x(&[2, 3]), &ids(&[0, 3]), None, -100, "mean", 0.0)),
        case(&[Index], &["index_select"], || f::embedding(&ids(&[4]), &x(&[4, 2]), None, None, 2.0, false, false)),
    ];
    for (dtype, value) in [
        (DType::U8, 3),
        (DType::U16, 3),
        (DType::U32, 7),
        (DType::U64, 3),
        (DType::I8, -1),
        (DType::I16, 3),
        (DType::I32, -5),
        (DType::I64, i64::from(i32::MAX) + 1),
    ] {
        let ids = bad(dtype, value);
        cases.extend([
            case(&[Index], &["index_select"], move || x(&[3]).index_select(&ids()?, 0)),
            case(&[Index], &["gather"], move || x(&[3]).gather(&ids()?, 0)),
            case(&[Index], &["scatter"], move || x(&[3]).scatter(&ids()?, &x(&[2]), 0)),
            case(&[Index], &["scatter_add"], move || x(&[3]).scatter_add(&ids()?, &x(&[2]), 0)),
            case(&[Index], &["index_add"], move || x(&[3]).index_add(&ids()?, &x(&[2]), 0)),
            case(&[Index], &["index_select"], move || x(&[3, 2]).embedding(&ids()?)),
        ]);
    }
    all_refused(cases);
}

#[test]
fn class_7_indices_that_are_not_integers() {
    let with = |value: f32| Tensor::new(&[value], CPU).unwrap();
    all_refused(vec![
        case(&[DTypeError], &["index_select", "f32", "integer"], move || f::index_select(&x(&[3]), 0, &with(1.0))),
        case(&[DTypeError], &["index_select", "f32"], move || f::index_select(&x(&[3]), 0, &with(f32::NAN))),
        case(&[DTypeError], &["gather", "f32"], move || f::gather(&x(&[3]), 0, &with(f32::NAN))),
        case(&[DTypeError], &["scatter", "f32"], move || f::scatter(&x(&[3]), 0, &with(0.0), &x(&[1]), None)),
        case(&[DTypeError], &["scatter_add", "f32"], move || f::scatter_add(&x(&[3]), 0, &with(0.0), &x(&[1]))),
        case(&[DTypeError], &["index_add", "bool"], || {
            f::index_add(&x(&[3]), 0, &Tensor::new(&[true], CPU)?, &x(&[1]), Scalar::Int(1))
        }),
        case(&[DTypeError], &["cross_entropy", "f32"], || {
            f::cross_entropy(&x(&[2, 3]), &x(&[2]), None, -100, "mean", 0.0)
        }),
        case(&[DTypeError], &["where_cond", "f32", "bool or u8"], || {
            f::where_cond(&x(&[2]), (&x(&[2])).into(), 0.0.into())
        }),
    ]);
}

#[test]
fn class_8_shapes_that_do_not_go_together() {
    all_refused(vec![
        case(&[Shape], &["add", "[2, 3]", "[3, 2]"], || x(&[2, 3]).broadcast_add(&x(&[3, 2]))),
        case(&[Shape], &["add", "equal shapes"], || x(&[2, 3]).add(&x(&[3]))),
        case(&[Shape], &["mul"], || f::mul((&x(&[2])).into(), (&x(&[3])).into())),
        case(&[Shape], &["add"], || done(x(&[3]).add_(&x(&[2, 3])))),
        case(&[Shape], &["copy"], || done(x(&[3]).copy_from(&x(&[1])))),
        case(&[Shape], &["eq"], || x(&[2]).eq(&x(&[3]))),
        case(&[Shape], &["where_cond"], || f::where_cond(&x(&[2]).gt(0.0)?, (&x(&[3])).into(), 0.0.into())),
        case(&[Shape], &["expand", "[2, 3]", "[2, 4]"], || x(&[2, 3]).broadcast_as((2, 4))),
        case(&[Shape], &["expand"], || x(&[2, 3]).broadcast_as(3)),
        case(&[Shape], &["matmul", "[2, 3]", "[2, 3]"], || x(&[2, 3]).matmul(&x(&[2, 3]))),
        case(&[Shape], &["matmul"], || x(&[2, 2, 3]).matmul(&x(&[3, 3, 2]))),
        case(&[Shape], &["linear"], || f::linear(&x(&[2, 3]), &x(&[4, 2]), None)),
        case(&[Shape], &["linear"], || f::linear(&x(&[2, 3]), &x(&[4, 3]), Some(&x(&[3])))),
        case(&[Shape], &["layer_norm"], || f::layer_norm(&x(&[2, 3]), &[2], None, None, 1e-5)),
        case(&[Shape], &["layer_norm", "[2]"], || f::layer_norm(&x(&[2, 3]), &[3], Some(&x(&[2])), None, 1e-5)),
        case(&[Value], &["layer_norm", "bias"], || f::layer_norm(&x(&[2, 3]), &[3], None, Some(&x(&[3])), 1e-5)),
        case(&[Shape], &["rms_norm"], || f::rms_norm(&x(&[2, 3]), &[3], Some(&x(&[4])), Some(1e-5))),
        case(&[Shape], &["cross_entropy"], || f::cross_entropy(&x(&[2, 3]), &ids(&[0]), None, -100, "mean", 0.0)),
        case(&[Shape], &["cross_entropy", "weight"], || {
            f::cross_entropy(&x(&[2, 3]), &ids(&[0, 1]), Some(&x(&[2])), -100, "mean", 0.0)
        }),
        case(&[Shape], &["cat"], || Tensor::cat(&[x(&[2, 3]), x(&[2, 2])], 0)),
        case(&[Shape], &["cat"], || Tensor::cat(&[x(&[2, 3]), x(&[2])], 0)),
        case(&[Value], &["cat", "none"], || Tensor::cat::<Tensor, _>(&[], 0)),
        case(&[Value], &["stack"], || Tensor::stack::<Tensor, _>(&[], 0)),
        case(&[Shape], &["stack"], || Tensor::stack(&[x(&[2]), x(&[3])], 0)),
        case(&[Shape], &["gather"], || f::gather(&x(&[2, 3]), 0, &ids(&[0]))),
        case(&[Shape], &["index_add"], || f::index_add(&x(&[2, 3]), 0, &ids(&[0]), &x(&[2, 3]), Scalar::Int(1))),
        case(&[Shape], &["scatter"], || f::scatter(&x(&[3]), 0, &ids(&[0, 1]), &x(&[1]), None)),
        case(&[Shape], &["from_vec", "3 elements"], || Tensor::from_vec(vec![1f32; 3], (2, 2), CPU)),
        case(&[Shape], &["new"], || Tensor::new(vec![vec![1f32], vec![1.0, 2.0]], CPU)),
    ]);
}

#[test]
fn class_9_dtypes_and_values_that_do_not_fit() {
    let typed = |dtype| Tensor::ones(2, dtype, CPU).unwrap();
    all_refused(vec![
        case(&[DTypeError], &["add", "f32", "f64"], move || x(&[2]).add(&typed(DType::F64))),
        case(&[DTypeError], &["eq", "i64"], move || x(&[2]).eq(&typed(DType::I64))),
        case(&[DTypeError], &["cat", "u8"], move || Tensor::cat(&[x(&[2]), typed(DType::U8)], 0)),
        case(&[DTypeError], &["add", "c64"], move || typed(DType::C64).add(&typed(DType::C64))),
        case(&[DTypeError], &["sub", "bool"], move || typed(DType::Bool).sub(&typed(DType::Bool))),
        case(&[DTypeError], &["sqrt", "i64"], move || typed(DType::I64).sqrt()),
        case(&[DTypeError], &["add", "300", "u8"], move || {
            f::add((&typed(DType::U8)).into(), 300i64.into(), 1i64.into())
        }),
        case(&[DTypeError], &["sub", "-1", "u8"], move || {
            f::sub((&typed(DType::U8)).into(), (-1i64).into(), 1i64.into())
        }),
        case(&[DTypeError], &["affine", "0.5", "i64"], move || typed(DType::I64).affine(0.5, 0.0)),
        case(&[DTypeError], &["affine", "u32"], move || typed(DType::U32).affine(1.0, -1.0)),
        case(&[DTypeError], &["full", "300", "u8"], || f::full(&[2], Scalar::Int(300), Some(DType::U8), None, false)),
        case(&[DTypeError], &["full", "NaN", "i32"], || {
            f::full(&[2], Scalar::Float(f64::NAN), Some(DType::I32), None, false)
        }),
        case(&[DTypeError], &["full", "f32"], || {
            f::full(&[2], Scalar::Complex(1.0, 1.0), Some(DType::F32), None, false)
        }),
        case(&[DTypeError], &["clamp", "0.5"], move || typed(DType::I64).clamp(0.5, 9.0)),
        case(&[DTypeError], &["const_set", "-1"], move || done(typed(DType::U8).const_set(-1i64))),
        case(&[DTypeError], &["copy"], move || done(x(&[2]).copy_from(&typed(DType::F64)))),
        case(&[DTypeError], &["set", "f64"], move || done(Var::ones(2, DType::F32, CPU)?.set(&typed(DType::F64)))),
        case(&[DTypeError], &["mean", "i64"], move || f::mean(&typed(DType::I64), None, false, None)),
        case(&[DTypeError], &["index_add"], move || {
            f::index_add(&x(&[2]), 0, &ids(&[0, 1]), &typed(DType::F64), Scalar::Int(1))
        }),
        case(&[DTypeError], &["matmul"], move || x(&[2, 2]).matmul(&typed(DType::F64).broadcast_as((2, 2))?)),
        case(&[DTypeError], &["linear"], move || f::linear(&x(&[2]), &typed(DType::F64).unsqueeze(0)?, None)),
        case(&[DTypeError], &["f32", "i64"], move || typed(DType::I64).to_vec1::<f32>().map(|_| x(&[1]))),
        case(&[DTypeError], &["dropout", "i64"], move || f::dropout(&typed(DType::I64), 0.5, true, false)),
        case(&[DTypeError], &["bernoulli", "i64"], move || f::bernoulli(&typed(DType::I64), None)),
    ]);
}

#[test]
fn class_10_devices() {
    let meta = || Tensor::ones(2, DType::F32, &Device::Meta).unwrap();
    all_refused(vec![
        case(&[DeviceError], &["add", "one device"], move || x(&[2]).add(&meta())),
        case(&[DeviceError], &["cat"], move || Tensor::cat(&[x(&[2]), meta()], 0)),
        case(&[DeviceError], &["where_cond"], move || {
            f::where_cond(&x(&[2]).gt(0.0)?, (&x(&[2])).into(), (&meta()).into())
        }),
        case(&[DeviceError], &["index_select"], move || {
            f::index_select(&x(&[2]), 0, &Tensor::zeros(1, DType::I64, &Device::Meta)?)
        }),
        case(&[DeviceError], &["add"], move || done(x(&[2]).add_(&meta()))),
        case(&[DeviceError], &["copy"], move || done(meta().copy_from(&x(&[2])))),
        case(&[DeviceError, Value], &[], move || meta().to_vec1::<f32>().map(|_| x(&[1]))),
    ]);
}

#[test]
fn class_11_overlapping_arguments() {
    all_refused(vec![
        case(&[Value], &["add", "out"], || {
            let base = x(&[4]);
            done(base.narrow(0, 0, 3)?.add_(&base.narrow(0, 1, 3)?))
        }),
        case(&[Value], &["mul", "out"], || {
            let base = x(&[3, 3]);
            done(base.mul_(&base.t()?))
        }),
        case(&[Value], &["copy"], || {
            let base = x(&[4]);
            done(base.narrow(0, 1, 3)?.copy_from(&base.narrow(0, 0, 3)?))
        }),
        case(&[Value], &["matmul", "out"], || {
            let base = x(&[3, 3]);
            done(dispatch_into(&MatMul, &[&base, &x(&[3, 3])], &[&base]))
        }),
        case(&[Value], &["slice_set", "src"], || {
            let base = x(&[4]);
            done(base.slice_set(&base.narrow(0, 0, 1)?, 0, 2))
        }),
        case(&[Value], &["scatter_add", "src"], || {
            let base = x(&[4]);
            done(base.scatter_add_set(&ids(&[0, 1, 2, 3]), &base, 0))
        }),
    ]);
    let disjoint = x(&[4]);
    disjoint.narrow(0, 0, 2).unwrap().add_(&disjoint.narrow(0, 2, 2).unwrap()).unwrap();
    assert_eq!(disjoint.to_vec1::<f32>().unwrap(), [2.0, 2.0, 1.0, 1.0]);
}

#[test]
fn class_12_writes_through_stride_0() {
    all_refused(vec![
        case(&[Value], &["add", "out", "share memory"], || done(x(&[1]).broadcast_as(3)?.add_(&x(&[3])))),
        case(&[Value], &["copy", "out"], || done(x(&[3, 1]).broadcast_as((3, 2))?.copy_from(&x(&[3, 2])))),
        case(&[Value], &["full", "out"], || done(x(&[1]).broadcast_as(3)?.const_set(0i64))),
        case(&[Value], &["add", "out"], || done(x(&[4]).as_strided((3, 2), &[1, 1], 0)?.add_(&x(&[3, 2])))),
    ]);
}

#[test]
fn class_12_writes_into_a_mapped_file() -> opforge::Result<()> {
    let path = std::env::temp_dir().join(format!("opforge-read-only-{}.safetensors", std::process::id()));
    x(&[4]).save_safetensors("x", &path)?;
    let mapped = opforge::safetensors::load(&path, &Device::Cpu)?.remove("x").expect("what was saved");
    std::fs::remove_file(&path)?;
    let target = mapped.clone();
    all_refused(vec![case(&[Value], &["add", "read-only"], move || done(target.add_(&x(&[4]))))]);
    assert_eq!(mapped.to_vec1::<f32>()?, x(&[4]).to_vec1::<f32>()?);
    Ok(())
}

#[test]
fn class_13_layouts_beyond_the_storage() {
    all_refused(vec![
        case(&[Index], &["as_strided", "16 bytes"], || x(&[4]).as_strided(5, &[1], 0)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided(4, &[1], 1)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided((2, 2), &[3, 1], 0)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided(0, &[1], 5)),
        case(&[Index], &["as_strided"], || f::as_strided(&x(&[4]), &[2], &[1], Some(3))),
        case(&[Shape], &["as_strided", "stride"], || x(&[4]).as_strided((2, 2), &[1], 0)),
        case(&[Value], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[2], &[1], Some(-1))),
        case(&[Value], &["slice", "step"], || x(&[4]).slice(0, 0, 4, 0)),
        case(&[Value], &["slice", "step"], || f::slice(&x(&[4]), 0, None, None, -1)),
    ]);
}

#[test]
fn class_14_misuse_of_gradients() {
    all_refused(vec![
        case(&[Autograd], &["add", "leaf"], || done(Var::ones(2, DType::F32, CPU)?.add_(&x(&[2])))),
        case(&[Autograd], &["sqr", "version"], || {
            let y = Var::ones(2, DType::F32, CPU)?.affine(1.0, 0.0)?;
            let z = y.sqr()?;
            y.add_(&x(&[2]))?;
            z.backward().map(|_| x(&[1]))
        }),
    ]);
}

#[test]
fn class_16_windows() {
    all_refused(vec![
        case(&[Value, Shape, Index], &["unfold"], || x(&[4]).unfold(0, 5, 1)),
        case(&[Value], &["unfold", "step"], || x(&[4]).unfold(0, 2, 0)),
        case(&[Index], &["unfold"], || x(&[4]).unfold(1, 2, 1)),
        case(&[Value], &["arange", "step"], || Tensor::arange_step(0i64, 4, 0, CPU)),
        case(&[Value], &["arange", "step"], || Tensor::arange_step(0f32, 4.0, -1.0, CPU)),
        case(&[Value], &["arange"], || Tensor::arange_step(0f32, f32::NAN, 1.0, CPU)),
        case(&[Value], &["dropout", "1.5"], || f::dropout(&x(&[2]), 1.5, true, false)),
        case(&[Value], &["gelu", "quick"], || f::gelu(&x(&[2]), "quick")),
        case(&[Value], &["cross_entropy", "median"], || {
            f::cross_entropy(&x(&[2, 3]), &ids(&[0, 1]), None, -100, "median", 0.0)
        }),
    ]);
}

#[test]
fn class_16_convolutions() {
    const HUGE: i64 = i64::MAX;
    let conv2d = |stride: &[i64], padding: &[i64], dilation: &[i64], groups: i64| {
        f::conv2d(&x(&[1, 4, 5, 5]), &x(&[4, 4, 3, 3]), None, stride, padding, dilation, groups)
    };
    let transpose = |stride: &[i64], padding: &[i64], extra: &[i64]| {
        f::conv_transpose2d(&x(&[1, 4, 5, 5]), &x(&[4, 4, 3, 3]), None, stride, padding, extra, 1, &[1])
    };
    all_refused(vec![
        case(&[Value], &["conv2d", "stride", "[0]"], move || conv2d(&[0], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "stride", "[1, -1]"], move || conv2d(&[1, -1], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "stride", "[1, 1, 1]"], move || conv2d(&[1, 1, 1], &[0], &[1], 1)),
        case(&[Value], &["conv2d", "padding", "[-1]"], move || conv2d(&[1], &[-1], &[1], 1)),
        case(&[Value], &["conv2d", "dilation", "[0]"], move || conv2d(&[1], &[0], &[0], 1)),
        case(&[Value], &["conv2d", "groups"], move || conv2d(&[1], &[0], &[1], 0)),
        case(&[Value], &["conv2d", "groups"], move || conv2d(&[1], &[0], &[1], -2)),
        case(&[Shape], &["conv2d", "3 groups"], move || conv2d(&[1], &[0], &[1], 3)),
        case(&[Shape], &["conv2d", "kernel", "dilation 3"], move || conv2d(&[1], &[0], &[3], 1)),
        case(&[Shape], &["conv2d", "kernel"], move || conv2d(&[1], &[0], &[HUGE], 1)),
        case(&[Shape, Value, OutOfMemory], &["conv"], move || conv2d(&[1], &[HUGE], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[1], &[1 << 40], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[1 << 40], &[1 << 40], &[1], 1)),
        case(&[Shape, Value, OutOfMemory], &[], move || conv2d(&[HUGE], &[1 << 40], &[1 << 40], 1)),
        case(&[Shape], &["conv2d", "input"], || f::conv2d(&x(&[5, 5]), &x(&[4, 4, 3, 3]), None, &[1], &[0], &[1], 1)),
        case(&[Shape], &["conv1d"], || f::conv1d(&x(&[1, 2, 5]), &x(&[2, 3]), None, &[1], &[0], &[1], 1)),
        case(&[Shape], &["convolution", "bias"], || {
            f::conv1d(&x(&[1, 2, 5]), &x(&[3, 2, 3]), Some(&x(&[2])), &[1], &[0], &[1], 1)
        }),
        case(&[DTypeError], &["convolution"], || {
            f::conv1d(&x(&[1, 2, 5]), &x(&[3, 2, 3]).to_dtype(DType::F64)?, None, &[1], &[0], &[1], 1)
        }),
        case(&[Value], &["conv1d", "same"], || {
            f::conv1d_named_padding(&x(&[1, 2, 5]), &x(&[3, 2, 3]), None, &[2], "same", &[1], 1)
        }),
        case(&[Value], &["conv1d", "full"], || {
            f::conv1d_named_padding(&x(&[1, 2, 5]), &x(&[3, 2, 3]), None, &[1], "full", &[1], 1)
        }),
        case(&[Value], &["conv_transpose2d", "output_padding"], move || transpose(&[2], &[0], &[2])),
        case(&[Value], &["conv_transpose2d", "output_padding"], move || transpose(&[2], &[0], &[-1])),
        case(&[Shape], &["conv_transpose2d", "input"], move || transpose(&[1], &[4], &[0])),
        case(&[Shape, OutOfMemory], &["conv_transpose2d"], move || transpose(&[HUGE], &[0], &[0])),
        case(&[Shape, Value, OutOfMemory], &[], move || transpose(&[1 << 40], &[0], &[0])),
        case(&[Shape], &["conv_transpose2d"], || x(&[1, 3, 5, 5]).conv_transpose2d(&x(&[4, 4, 3, 3]), 0, 0, 1, 1)),
        case(&[Value], &["conv1d"], || x(&[1, 3, 5]).conv1d(&x(&[4, 3, 3]), 0, 0, 1, 1)),
    ]);
}

#[test]
fn class_16_pooling() {
    const HUGE: i64 = i64::MAX;
    let max = |kernel: &[i64], stride: &[i64], padding: &[i64], dilation: &[i64]| {
        f::max_pool2d(&x(&[1, 2, 5, 5]), kernel, Some(stride), padding, dilation, false)
    };
    let avg =
        |shape: &[usize], kernel: &[i64], divisor| f::avg_pool2d(&x(shape), kernel, None, &[0], false, true, divisor);
    all_refused(vec![
        case(&[Value], &["max_pool2d", "kernel_size", "[0]"], move || max(&[0], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "kernel_size", "[2, -2]"], move || max(&[2, -2], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "kernel_size", "[2, 2, 2]"], move || max(&[2, 2, 2], &[1], &[0], &[1])),
        case(&[Value], &["max_pool2d", "stride", "[0]"], move || max(&[2], &[0], &[0], &[1])),
        case(&[Value], &["max_pool2d", "dilation", "[0]"], move || max(&[2], &[1], &[0], &[0])),
        case(&[Value], &["max_pool2d", "padding", "[-1]"], move || max(&[2], &[1], &[-1], &[1])),
        case(&[Value], &["max_pool2d", "padding", "half"], move || max(&[3], &[1], &[2], &[1])),
        case(&[Value], &["max_pool2d", "padding"], move || max(&[3], &[1], &[HUGE], &[1])),
        case(&[Shape], &["max_pool2d", "kernel_size", "length 5"], move || max(&[6], &[1], &[0], &[1])),
        case(&[Shape, Value], &["max_pool2d"], move || max(&[HUGE], &[HUGE], &[0], &[1])),
        case(&[Shape, Value], &["max_pool2d"], move || max(&[2], &[HUGE], &[0], &[HUGE])),
        case(&[Shape, Value, OutOfMemory], &["max_pool"], move || max(&[HUGE / 2], &[1], &[HUGE / 4], &[1])),
        case(&[Shape], &["avg_pool2d", "input"], move || avg(&[5, 5], &[2], None)),
        case(&[Shape], &["avg_pool2d", "input"], move || avg(&[1, 2, 0, 5], &[2], None)),
        case(&[Value], &["avg_pool2d", "divisor_override", "0"], move || avg(&[1, 5, 5], &[2], Some(0))),
        case(&[Value], &["adaptive_avg_pool2d", "output_size", "-2"], || f::adaptive_avg_pool2d(&x(&[1, 5, 5]), &[-2])),
        case(&[Value], &["adaptive_avg_pool1d", "output_size"], || f::adaptive_avg_pool1d(&x(&[1, 5]), &[1, 2])),
        case(&[Shape, OutOfMemory], &[], || f::adaptive_avg_pool1d(&x(&[1, 5]), &[HUGE])),
        case(&[Value], &["max_pool2d"], || x(&[1, 1, 5, 5]).max_pool2d_with_stride(2, 0)),
        case(&[Value], &["avg_pool2d"], || x(&[1, 1, 5, 5]).avg_pool2d(0)),
    ]);
}

#[test]
fn class_17_integer_arithmetic() {
    let zero = || ids(&[1, 0]);
    all_refused(vec![
        case(&[Value], &["div", "divisor", "0"], move || ids(&[1, 2]).div(&zero())),
        case(&[Value], &["div", "divisor"], move || done(ids(&[1, 2]).div_(&zero()))),
        case(&[Value], &["pow", "exponent"], || ids(&[1, 2]).pow(&ids(&[-1, 2]))),
        case(&[Value], &["pow", "exponent"], || ids(&[1, 2]).powf(-1.0)),
    ]);
    let least = Tensor::new(&[i32::MIN], CPU).unwrap();
    let minus_one = Tensor::new(&[-1i32], CPU).unwrap();
    assert_eq!(least.div(&minus_one).unwrap().to_vec1::<i32>().unwrap(), [i32::MIN]);
    assert_eq!(least.neg().unwrap().to_vec1::<i32>().unwrap(), [i32::MIN]);
    assert_eq!(least.abs().unwrap().to_vec1::<i32>().unwrap(), [i32::MIN]);
}
