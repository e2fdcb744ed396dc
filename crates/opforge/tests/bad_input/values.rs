//! Dtypes, numbers, devices and gradients.

use super::*;

#[test]
fn class_9_dtypes_and_values_that_do_not_fit() {
    let typed = |dtype| Tensor::ones(2, dtype, CPU).unwrap();
    all_refused(vec![
        case(&[DTypeError], &["add", "f32", "f64"], move || x(&[2]).add(&typed(DType::F64))),
        case(&[DTypeError], &["eq", "i64"], move || x(&[2]).eq(&typed(DType::I64))),
        case(&[DTypeError], &["cat", "u8"], move || Tensor::cat(&[x(&[2]), typed(DType::U8)], 0)),
        case(&[DTypeError], &["maximum", "c64"], move || typed(DType::C64).maximum(&typed(DType::C64))),
        case(&[DTypeError], &["sub", "bool"], move || typed(DType::Bool).sub(&typed(DType::Bool))),
        case(&[DTypeError], &["sqrt", "i64"], move || typed(DType::I64).sqrt()),
        case(&[DTypeError], &["affine", "0.5", "i64"], move || f::affine(&typed(DType::I64), 0.5, 0.0)),
        case(&[DTypeError], &["affine", "u32"], move || f::affine(&typed(DType::U32), 1.0, -1.0)),
        case(&[DTypeError], &["full", "300", "u8"], || f::full(&[2], Scalar::Int(300), Some(DType::U8), None, false)),
        case(&[DTypeError], &["full", "NaN", "i32"], || {
            f::full(&[2], Scalar::Float(f64::NAN), Some(DType::I32), None, false)
        }),
        case(&[DTypeError], &["full", "f32"], || {
            f::full(&[2], Scalar::Complex(1.0, 1.0), Some(DType::F32), None, false)
        }),
        case(&[DTypeError], &["softshrink", "0.5"], move || f::softshrink(&typed(DType::I64), 0.5)),
        case(&[DTypeError], &["const_set", "-1"], move || done(typed(DType::U8).const_set(Scalar::Int(-1)))),
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
