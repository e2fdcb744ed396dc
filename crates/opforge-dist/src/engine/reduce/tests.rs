//! Reductions of ranks' elements: integers wrap, half precision rounds once, NaN stays, complex numbers and truth values.

use super::*;

fn bytes<T: opforge_core::Element>(values: &[T]) -> crate::Buffer {
    crate::Buffer::of(values).unwrap()
}

/// The reduction of one element a rank.
fn of<T: opforge_core::Element>(op: Reduction, values: &[T]) -> T {
    let ranks: Vec<_> = values.iter().map(|&value| bytes(&[value])).collect();
    let all: Vec<Option<&[u8]>> = ranks.iter().map(|rank| Some(rank.bytes().unwrap())).collect();
    let mut out = bytes(&[T::default()]);
    reduce(T::DTYPE, op, &all, out.bytes_mut().unwrap()).unwrap();
    // The same with each rank's elements where the result goes.
    for (own, &value) in values.iter().enumerate() {
        let all: Vec<_> = all.iter().enumerate().map(|(rank, &of)| of.filter(|_| rank != own)).collect();
        let mut place = bytes(&[value]);
        reduce(T::DTYPE, op, &all, place.bytes_mut().unwrap()).unwrap();
        assert_eq!(place.bytes().unwrap(), out.bytes().unwrap());
    }
    out.to_vec::<T>().unwrap()[0]
}

#[test]
fn integers_wrap() {
    assert_eq!(of(Reduction::Sum, &[200u8, 100]), 44);
    assert_eq!(of(Reduction::Product, &[i64::MAX, 2]), -2);
    assert_eq!(of(Reduction::Max, &[-3i16, -7, -5]), -3);
    assert_eq!(of(Reduction::Min, &[3u32, 7, 2]), 2);
}

#[test]
fn sixteen_bits_are_added_in_f32_and_rounded_once() {
    // 1 is half a step at 2048 in f16: a sum that rounds each time stays there.
    let values: Vec<f16> = [2048.0, 1.0, 1.0, 1.0, 1.0].map(f16::from_f32).to_vec();
    assert_eq!(of(Reduction::Sum, &values).to_f32(), 2052.0);
    let values: Vec<bf16> = [256.0, 1.0, 1.0, 1.0, 1.0].map(bf16::from_f32).to_vec();
    assert_eq!(of(Reduction::Sum, &values).to_f32(), 260.0);
}

#[test]
fn nan_is_kept_wherever_it_comes_from() {
    for op in [Reduction::Max, Reduction::Min, Reduction::Sum, Reduction::Product] {
        for values in [[f32::NAN, 1.0, 2.0], [1.0, f32::NAN, 2.0], [1.0, 2.0, f32::NAN]] {
            assert!(of(op, &values).is_nan(), "{op} of {values:?}");
            assert!(of(op, &values.map(f16::from_f32)).is_nan(), "{op} of f16 {values:?}");
        }
    }
}

#[test]
fn any_and_all_take_every_byte_but_0_as_true() {
    assert_eq!([of(Reduction::Any, &[0u8, 0]), of(Reduction::Any, &[0u8, 7]), of(Reduction::Any, &[9u8])], [0, 1, 1]);
    assert_eq!([of(Reduction::All, &[3u8, 7]), of(Reduction::All, &[0u8, 7]), of(Reduction::All, &[9u8])], [1, 0, 1]);
    assert!(of(Reduction::Max, &[false, true]));
    assert!(!of(Reduction::Min, &[false, true]));
}

#[test]
fn complex_numbers_are_added_and_multiplied() {
    let values = [Complex::new(1.0f32, 2.0), Complex::new(3.0, -1.0)];
    assert_eq!(of(Reduction::Sum, &values), Complex::new(4.0, 1.0));
    assert_eq!(of(Reduction::Product, &values), Complex::new(5.0, 5.0));
}

#[test]
fn what_a_reduction_does_not_take_is_an_error() {
    for op in Reduction::ALL {
        for dtype in DType::ALL {
            let (zeros, mut out) = (bytes(&[0u64; 2]), bytes(&[0u64; 2]));
            let result = reduce(dtype, op, &[Some(zeros.bytes().unwrap())], out.bytes_mut().unwrap());
            assert_eq!(result.is_ok(), op.takes(dtype), "{op} of {dtype}: {result:?}");
        }
    }
}

#[test]
fn blocks_join() {
    let long: Vec<i32> = (0..3 * BLOCK as i32 + 7).collect();
    let (a, mut out) = (bytes(&long), bytes(&vec![0i32; long.len()]));
    reduce(DType::I32, Reduction::Sum, &[Some(a.bytes().unwrap()); 2], out.bytes_mut().unwrap()).unwrap();
    assert_eq!(out.to_vec::<i32>().unwrap(), long.iter().map(|x| 2 * x).collect::<Vec<_>>());
}
