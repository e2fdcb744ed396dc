//! Running sums and the places of running extremes beside plain loops.

use opforge_core::{DType, Meta, Result, bf16};
use opforge_cpu::scan::scan;
use opforge_tile::forms::{self as form, Extreme, Scan};

use crate::testing::{Array, layouts, noise, run};

#[test]
fn every_axis_layout_and_dtype() -> Result<()> {
    let dims = [3, 20, 4];
    for (dtype, layout) in [DType::F32, DType::F16, DType::I16, DType::U64]
        .into_iter()
        .flat_map(|dtype| layouts(&dims).into_iter().map(move |layout| (dtype, layout)))
    {
        let input = Array::new(dtype, layout, |i| (noise(i) * 3.0).round().abs());
        let output = Meta::contiguous(dtype, &dims);
        for axis in 0..3 {
            let kernel = scan("cumsum", Scan { running: form::Running::Sum, axis }, &input.meta, &output)?;
            let sums = run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values();
            let (values, step) = (input.values(), [80, 4, 1][axis]);
            for (i, &sum) in sums.iter().enumerate() {
                let before = if i / step % dims[axis] == 0 { 0.0 } else { sums[i - step] };
                assert_eq!(sum, before + values[i], "{dtype} {:?} axis {axis} at {i}", input.meta.layout);
            }
        }
    }
    Ok(())
}

#[test]
fn long_rows_in_segments() -> Result<()> {
    // Of lengths that segments divide, nearly divide, and do not.
    for (dtype, len) in
        [DType::F32, DType::BF16, DType::I16].into_iter().flat_map(|d| [1 << 13, 8199, 10_001].map(|n| (d, n)))
    {
        for layout in layouts(&[2, len]) {
            let input = Array::new(dtype, layout, |i| (noise(i) * 3.0).round());
            let output = Meta::contiguous(dtype, (2, len));
            let kernel = scan("cumsum", Scan { running: form::Running::Sum, axis: 1 }, &input.meta, &output)?;
            let sums = run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values();
            for (row, sums) in input.values().chunks(len).zip(sums.chunks(len)) {
                let mut sum = 0.0;
                for (i, (x, &got)) in row.iter().zip(sums).enumerate() {
                    sum += x;
                    let want = if dtype == DType::BF16 { bf16::from_f64(sum).to_f64() } else { sum };
                    assert_eq!(got, want, "{dtype} {:?} at {i}", input.meta.layout);
                }
            }
        }
    }
    Ok(())
}

/// Columns, whose elements lie between each other's: few long ones in segments, others as many side by side as are left.
#[test]
fn columns_of_every_number() -> Result<()> {
    for (len, columns) in [1, 3, 5, 8, 31].into_iter().flat_map(|n| [(70, n), (8199, n)]) {
        let input = Array::contiguous(DType::F32, &[len, columns], |i| (noise(i) * 3.0).round());
        let output = Meta::contiguous(DType::F32, (len, columns));
        let kernel = scan("cumsum", Scan { running: form::Running::Sum, axis: 0 }, &input.meta, &output)?;
        let sums = run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values();
        let mut expected = input.values();
        for i in columns..expected.len() {
            expected[i] += expected[i - columns];
        }
        assert_eq!(sums, expected, "{columns} columns of {len}");
    }
    Ok(())
}

#[test]
fn places_of_extremes() -> Result<()> {
    let input = Array::new(DType::F32, opforge_core::Layout::contiguous(6), |i| [1.0, 3.0, 3.0, 2.0, f64::NAN, 9.0][i]);
    let output = Meta::contiguous(DType::I64, 6);
    for (extreme, want) in
        [(Extreme::Max, [0.0, 1.0, 2.0, 2.0, 4.0, 4.0]), (Extreme::Min, [0.0, 0.0, 0.0, 0.0, 4.0, 4.0])]
    {
        let kernel = scan("cummax", Scan { running: form::Running::Place(extreme), axis: 0 }, &input.meta, &output)?;
        assert_eq!(run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values(), want, "{extreme:?}");
    }
    Ok(())
}
