//! Indices.

use super::*;

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
