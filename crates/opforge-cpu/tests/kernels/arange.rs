//! Numbers in equal steps.

use opforge_core::{DType, ErrorKind, Meta, Scalar};
use opforge_cpu::arange::arange;

fn values(start: Scalar, step: Scalar, dtype: DType, n: usize) -> Vec<f64> {
    let output = Meta::contiguous(dtype, n);
    let kernel = arange("arange", start, step, &output).unwrap();
    crate::testing::run(&*kernel, &[], &[output])[0].values()
}

#[test]
fn every_dtype() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_int() || d.is_float()) {
        assert_eq!(values(3.into(), 2.into(), dtype, 5), [3.0, 5.0, 7.0, 9.0, 11.0], "{dtype}");
        assert_eq!(values(Scalar::Float(0.0), Scalar::Float(2.0), dtype, 3), [0.0, 2.0, 4.0], "{dtype}");
        assert!(values(3.into(), 2.into(), dtype, 0).is_empty());
        let long = values(0.into(), Scalar::Int(1), dtype, 40_000);
        let size = dtype.size_in_bytes();
        if size >= 4 {
            assert!(long.iter().enumerate().all(|(i, v)| *v == i as f64), "{dtype}");
        }
    }
}

#[test]
fn integers_are_exact_and_floats_do_not_accumulate_errors() {
    let output = Meta::contiguous(DType::I64, 2);
    let kernel = arange("arange", Scalar::Int(i64::MAX - 1), Scalar::Int(1), &output).unwrap();
    let mut out = [0i64; 2];
    // SAFETY: two elements.
    unsafe { kernel.run(&[], &[out.as_mut_ptr().cast()]) }.unwrap();
    assert_eq!(out, [i64::MAX - 1, i64::MAX]);
    let thirds = values(Scalar::Float(1.0), Scalar::Float(0.1), DType::F64, 1001);
    assert_eq!(thirds[1000], 1.0 + 1000.0 * 0.1);
    assert_eq!(values(5.into(), Scalar::Int(-2), DType::I8, 4), [5.0, 3.0, 1.0, -1.0]);
}

#[test]
fn refusals() {
    let kind =
        |start: Scalar, dtype| arange("arange", start, 1.into(), &Meta::contiguous(dtype, 2)).err().unwrap().kind();
    assert_eq!(kind(0.into(), DType::Bool), ErrorKind::DType);
    assert_eq!(kind(0.into(), DType::C64), ErrorKind::DType);
    assert_eq!(kind(Scalar::Complex(0.0, 1.0), DType::F32), ErrorKind::Value);
}
