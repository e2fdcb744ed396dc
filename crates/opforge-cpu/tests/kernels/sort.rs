//! Sorting and selection beside a plain stable sort, in every dtype and layout.

use opforge_core::{DType, Meta, Result};
use opforge_cpu::sort::*;
use opforge_tile::forms::Rank;

use crate::testing::{Array, layouts, noise, run};

/// The stable order, NaN last, by comparison.
fn expected(values: &[f64], descending: bool) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let rank = |i: usize| if values[i].is_nan() { f64::INFINITY } else { values[i] };
    order.sort_by(|&a, &b| {
        let ascending = (rank(a), values[a].is_nan()).partial_cmp(&(rank(b), values[b].is_nan()));
        let ascending = ascending.expect("ranks are numbers");
        if descending { ascending.reverse() } else { ascending }
    });
    order.into_iter().map(|i| i as f64).collect()
}

#[test]
fn every_dtype_sorts_stably() -> Result<()> {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, -1.5, 1.5];
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex() && !d.is_storage_only()) {
        let value = |i: usize| match dtype {
            d if d.is_float() && i.is_multiple_of(3) => special[i / 3 % special.len()],
            DType::Bool => f64::from(i.is_multiple_of(3)),
            d if d.is_signed() => (noise(i) * 9.0).round(),
            _ => (noise(i) * 9.0).round().abs(),
        };
        // Short rows are sorted in a way of their own.
        for len in [100, 13, 12, 7, 1] {
            let input = Array::contiguous(dtype, &[len], value);
            for (index, descending) in [(DType::U32, false), (DType::I64, true), (DType::U32, true)] {
                let output = Meta::contiguous(index, len);
                let kernel = arg_sort("arg_sort", &input.meta, 0, descending, &output)?;
                let order = run(&*kernel, &[&input], &[output])[0].values();
                assert_eq!(order, expected(&input.values(), descending), "{len} of {dtype} descending {descending}");
            }
        }
    }
    Ok(())
}

#[test]
fn extremes_keep_their_order() -> Result<()> {
    for (dtype, low, high) in [(DType::I64, i64::MIN as f64, i64::MAX as f64), (DType::I8, -128.0, 127.0)] {
        let input = Array::contiguous(dtype, &[3], |i| [high, 0.0, low][i]);
        let output = Meta::contiguous(DType::U32, 3);
        let kernel = arg_sort("arg_sort", &input.meta, 0, false, &output)?;
        assert_eq!(run(&*kernel, &[&input], &[output])[0].values(), [2.0, 1.0, 0.0], "{dtype}");
    }
    Ok(())
}

#[test]
fn any_axis_of_any_layout() -> Result<()> {
    let dims = [3, 5, 4];
    for layout in layouts(&dims) {
        let input = Array::new(DType::F32, layout, noise);
        let values = input.values();
        for (axis, step) in [(0, 20), (1, 4), (2, 1)] {
            let output = Meta::contiguous(DType::I64, &dims);
            let kernel = arg_sort("arg_sort", &input.meta, axis, false, &output)?;
            let order = run(&*kernel, &[&input], &[output])[0].values();
            for first in (0..60).filter(|i| i / step % dims[axis] == 0) {
                let row = |all: &[f64]| -> Vec<f64> { (0..dims[axis]).map(|i| all[first + i * step]).collect() };
                assert_eq!(row(&order), expected(&row(&values), false), "{:?} axis {axis}", input.meta.layout);
            }
        }
    }
    Ok(())
}

#[test]
fn long_rows_sort_stably() -> Result<()> {
    for (dtype, scale) in
        [(DType::F32, 1e3), (DType::F32, 3.0), (DType::I32, 1e8), (DType::U8, 99.0), (DType::F64, 1e3)]
    {
        let value = |i: usize| match dtype.is_signed() {
            true => (noise(i) * scale).round(),
            false => (noise(i) * scale).round().abs(),
        };
        let input = Array::contiguous(dtype, &[2, 5000], value);
        for descending in [false, true] {
            let output = Meta::contiguous(DType::I64, [2, 5000]);
            let kernel = arg_sort("arg_sort", &input.meta, 1, descending, &output)?;
            let order = run(&*kernel, &[&input], &[output])[0].values();
            for (row, values) in input.values().chunks(5000).enumerate() {
                assert_eq!(
                    order[row * 5000..][..5000],
                    expected(values, descending),
                    "{dtype} descending {descending}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn the_first_of_an_order_are_those_of_the_whole() -> Result<()> {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, 7.0];
    for (dtype, descending) in [
        (DType::F32, true),
        (DType::F32, false),
        (DType::F64, true),
        (DType::I64, false),
        (DType::U8, true),
        (DType::BF16, true),
    ] {
        for (rows, len, count) in [(3, 1000, 10), (1, 200_000, 7), (2, 40, 1), (2, 400, 0), (5, 40, 9), (2, 9, 8)] {
            let value = |i: usize| match dtype.is_float() && i.is_multiple_of(97) {
                true => special[i / 97 % special.len()],
                false => (noise(i) * 50.0).round().abs(),
            };
            let input = Array::contiguous(dtype, &[rows, len], value);
            let output = Meta::contiguous(DType::I64, [rows, count]);
            let got = run(&*arg_sort("topk", &input.meta, 1, descending, &output)?, &[&input], &[output])[0].values();
            for (row, values) in input.values().chunks(len).enumerate() {
                let all = expected(values, descending);
                assert_eq!(got[row * count..][..count], all[..count], "{dtype} {rows} {len} {count} {descending}");
            }
        }
        for layout in layouts(&[50, 4]) {
            let input = Array::new(dtype, layout, |i| noise(i).abs() * 99.0);
            let (values, output) = (input.values(), Meta::contiguous(DType::U32, [5, 4]));
            let got = run(&*arg_sort("topk", &input.meta, 0, descending, &output)?, &[&input], &[output])[0].values();
            for column in 0..4 {
                let of = |all: &[f64]| -> Vec<f64> { all.iter().skip(column).step_by(4).copied().collect() };
                assert_eq!(of(&got), expected(&of(&values), descending)[..5]);
            }
        }
    }
    Ok(())
}

#[test]
fn places_are_those_of_the_whole_order() -> Result<()> {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, 7.0];
    for dtype in [DType::F32, DType::F64, DType::I64, DType::U8, DType::BF16, DType::Bool] {
        for (rows, len) in [(3, 1), (4, 2), (3, 50), (2, 1001)] {
            let value = |i: usize| match dtype {
                dtype if dtype.is_float() && i.is_multiple_of(5) => special[i / 5 % special.len()],
                DType::Bool => f64::from(i.is_multiple_of(3)),
                _ => (noise(i) * 20.0).round().abs(),
            };
            for layout in layouts(&[rows, len]) {
                let input = Array::new(dtype, layout, value);
                let orders: Vec<_> = input.values().chunks(len).map(|row| expected(row, false)).collect();
                let place = |rank: Rank, count: usize| -> Result<Vec<f64>> {
                    let output = Meta::contiguous(DType::I64, [rows, count]);
                    let kernel = arg_place("argplace", &input.meta, 1, rank, &output)?;
                    Ok(run(&*kernel, &[&input], &[output])[0].values())
                };
                for (first, count) in [(0, 1), (len / 2, 1), (len - 1, 1), (len / 3, 2), (0, len)] {
                    let count = count.min(len - first);
                    let wanted: Vec<f64> =
                        orders.iter().flat_map(|order| order[first..first + count].to_vec()).collect();
                    assert_eq!(place(Rank::At(first), count)?, wanted, "{dtype} {rows} {len} {first}");
                }
                let middles = input
                    .values()
                    .chunks(len)
                    .zip(&orders)
                    .map(|(row, order)| {
                        let numbers = row.iter().filter(|x| !x.is_nan()).count();
                        order[numbers.saturating_sub(1) / 2]
                    })
                    .collect::<Vec<_>>();
                assert_eq!(place(Rank::MiddleNumber, 1)?, middles, "{dtype} {rows} {len}");
                let output = Meta::contiguous(DType::I64, [rows, 1]);
                assert!(arg_place("argplace", &input.meta, 1, Rank::At(len), &output).is_err());
            }
        }
    }
    Ok(())
}
