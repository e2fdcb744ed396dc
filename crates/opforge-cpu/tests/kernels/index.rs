//! Kernels that read indices, beside plain loops.

use std::sync::Arc;

use opforge_core::{DType, Element, ErrorKind, IntDType, Layout, Meta, Result, WithDType, bf16, f16};
use opforge_cpu::index::*;
use opforge_runtime::HostKernel;

/// Runs a kernel on buffers whose first elements are the layouts' offsets.
fn run<T: Element>(kernel: &dyn HostKernel, inputs: &[*const u8], len: usize) -> Result<Vec<T>> {
    let mut out = vec![T::default(); len];
    // SAFETY: the tests make buffers of the layouts' spans.
    unsafe { kernel.run(inputs, &[out.as_mut_ptr().cast()]) }?;
    Ok(out)
}

fn numbers<T: WithDType>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::from_f64((i % 50) as f64)).collect()
}

fn indices<I: IntDType>(n: usize, below: usize) -> Vec<I> {
    (0..n).map(|i| I::from_f64((((i * 2654435761) >> 5) % below) as f64)).collect()
}

/// A tensor for tests: a layout and the values it shows, in row-major order.
struct Sample<T> {
    data: Vec<T>,
    meta: Meta,
}

impl<T: Element> Sample<T> {
    /// The same values, contiguous or with gaps and exchanged dimensions.
    fn new(values: &[T], dims: &[usize], strided: bool) -> Self {
        let mut layout = Layout::contiguous(dims);
        if strided && !dims.is_empty() {
            let last = dims.len() - 1;
            let mut wide = dims.to_vec();
            wide[last] = 2 * wide[last] + 1;
            wide.swap(0, last);
            layout =
                Layout::contiguous(wide).transpose(0, last).unwrap().slice(last, 1, 2 * dims[last] + 1, 2).unwrap();
        }
        let mut data = vec![T::default(); layout.span()];
        for (value, at) in values.iter().zip(layout.indices()) {
            data[at] = *value;
        }
        Sample { data, meta: Meta { dtype: T::DTYPE, layout } }
    }
    fn ptr(&self) -> *const u8 {
        self.data[self.meta.layout.start_offset()..].as_ptr().cast()
    }
}

/// The position of an element in row-major order, and the parts of it before, along and after an axis.
fn split(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    (dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product())
}

fn check_select<T: WithDType, I: IntDType>(dims: &[usize], id_dims: &[usize], axis: usize, strided: bool) {
    let (outer, len, inner) = split(dims, axis);
    let (values, ids) = (numbers::<T>(outer * len * inner), indices::<I>(id_dims.iter().product(), len));
    let (x, i) = (Sample::new(&values, dims, strided), Sample::new(&ids, id_dims, strided));
    let out_dims = [&dims[..axis], id_dims, &dims[axis + 1..]].concat();
    let output = Meta::contiguous(T::DTYPE, out_dims);
    let kernel = index_select("index_select", &x.meta, &i.meta, axis, Special::None, &output).unwrap();
    let got = run::<T>(&*kernel, &[x.ptr(), i.ptr()], output.elem_count()).unwrap();
    let expected: Vec<T> = (0..got.len())
        .map(|e| {
            let (o, n, r) = (e / (ids.len() * inner), e / inner % ids.len(), e % inner);
            values[(o * len + ids[n].as_usize()) * inner + r]
        })
        .collect();
    assert!(got == expected, "{dims:?} at {id_dims:?} along {axis}, strided {strided}");
}

#[test]
fn selects() {
    for strided in [false, true] {
        for axis in 0..3 {
            for id_dims in [&[5][..], &[1], &[0], &[2, 3], &[]] {
                check_select::<f32, i64>(&[4, 3, 7], id_dims, axis, strided);
                check_select::<bf16, u8>(&[4, 3, 7], id_dims, axis, strided);
                check_select::<i8, i32>(&[4, 3, 7], id_dims, axis, strided);
                check_select::<f64, u32>(&[4, 3, 7], id_dims, axis, strided);
            }
        }
        check_select::<f32, u16>(&[1000], &[3000], 0, strided);
        check_select::<f32, i16>(&[300, 500], &[400], 0, strided);
        check_select::<f32, u64>(&[300, 500], &[400], 1, strided);
        check_select::<f32, i8>(&[100, 5], &[30, 20], 0, strided);
    }
}

/// Rows of every number of bytes, of which none beside is read or written.
#[test]
fn selects_rows_of_every_length() {
    for n in 1..=70 {
        for (rows, ids) in [(5, 3), (300, 3000)] {
            for strided in [false, true] {
                check_select::<u8, i64>(&[rows, n], &[ids], 0, strided);
                check_select::<u8, u16>(&[2, rows, n], &[ids], 1, strided);
            }
        }
    }
}

/// Indices that lines share, that follow from line to line, and that fill no batch, or several.
#[test]
fn gathers_in_lines() {
    for n in [1, 2, 3, 7, 8, 31, 64, 255, 256, 257, 511, 512, 513, 1100] {
        for rows in [1, 3, 600] {
            check_gather::<f32, i64>(&[rows, 300], &[rows, n], 1, false);
            check_gather::<u16, i32>(&[rows, 5], &[rows, n], 1, n % 2 == 0);
            check_select::<f32, i64>(&[rows, 300], &[n], 1, false);
            check_select::<f64, u8>(&[rows, 20], &[n], 1, true);
        }
    }
}

#[test]
fn negative_indices_count_from_the_end() {
    let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let (xm, om) = (Meta::contiguous(DType::F32, [4, 3]), Meta::contiguous(DType::F32, [4, 2]));
    let run_at = |ids: [i32; 8]| {
        let im = Meta::contiguous(DType::I32, [4, 2]);
        let kernel = gather("gather", &xm, &im, 1, Special::NegativeFromEnd, &om).unwrap();
        run::<f32>(&*kernel, &[x.as_ptr().cast(), ids.as_ptr().cast()], 8)
    };
    assert_eq!(run_at([0, -1, -3, 2, 1, -2, -1, -1]).unwrap(), [0.0, 2.0, 3.0, 5.0, 7.0, 7.0, 11.0, 11.0]);
    for wrong in [3, -4, i32::MIN, i32::MAX] {
        let error = run_at([0, -1, -3, 2, wrong, 0, 0, 0]).unwrap_err();
        let report = error.report().unwrap();
        assert_eq!((report.given[0].1.as_str(), report.accepted.as_str()), (wrong.to_string().as_str(), "-3 to 2"));
    }
    // One index tensor names slices, which are read as tuples are.
    let rows = Meta::contiguous(DType::F32, [3, 3]);
    let at = |ids: [i64; 3]| {
        let kernel = get("get", &xm, &[&Meta::contiguous(DType::I64, [3])], 0, &rows).unwrap();
        run::<f32>(&*kernel, &[x.as_ptr().cast(), ids.as_ptr().cast()], 9)
    };
    assert_eq!(at([-1, 0, -4]).unwrap(), [9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    assert_eq!(at([-1, 0, -5]).unwrap_err().report().unwrap().accepted, "-4 to 3");
    // Of a longer axis, of which this is the part from 4 on.
    let part = Some(opforge_tile::forms::Segment { start: 4, whole: 10 });
    let indices = Indices { special: Special::NegativeFromEnd, part };
    let kernel = index_select("part", &xm, &Meta::contiguous(DType::I64, [3]), 0, indices, &rows).unwrap();
    let got = run::<f32>(&*kernel, &[x.as_ptr().cast(), [4i64, -1, -4].as_ptr().cast()], 9).unwrap();
    assert_eq!(got, [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 6.0, 7.0, 8.0]);
}

/// The element of a tensor of `dims` that a scatter or gather at element `e` of `id_dims` touches.
fn target(dims: &[usize], id_dims: &[usize], axis: usize, e: usize, id: usize) -> usize {
    let mut rest = e;
    let mut at = vec![0; dims.len()];
    for d in (0..dims.len()).rev() {
        at[d] = rest % id_dims[d];
        rest /= id_dims[d];
    }
    at[axis] = id;
    at.iter().zip(dims).fold(0, |n, (i, d)| n * d + i)
}

fn check_gather<T: WithDType, I: IntDType>(dims: &[usize], id_dims: &[usize], axis: usize, strided: bool) {
    let (values, ids) = (numbers::<T>(dims.iter().product()), indices::<I>(id_dims.iter().product(), dims[axis]));
    let (x, i) = (Sample::new(&values, dims, strided), Sample::new(&ids, id_dims, strided));
    let output = Meta::contiguous(T::DTYPE, id_dims);
    let kernel = gather("gather", &x.meta, &i.meta, axis, Special::None, &output).unwrap();
    let got = run::<T>(&*kernel, &[x.ptr(), i.ptr()], output.elem_count()).unwrap();
    for (e, got) in got.iter().enumerate() {
        assert_eq!(*got, values[target(dims, id_dims, axis, e, ids[e].as_usize())], "{dims:?} {id_dims:?} {axis}");
    }
}

/// Also shows that a sum of halves is kept in f32: adding ones to 256 in bf16 one by one would not change it.
fn check_scatter<T: WithDType, I: IntDType>(dims: &[usize], id_dims: &[usize], axis: usize, strided: bool, add: bool) {
    let n: usize = id_dims.iter().product();
    let (base, values) = (numbers::<T>(dims.iter().product()), numbers::<T>(n));
    let ids = indices::<I>(n, dims[axis]);
    let (b, i, s) = (
        Sample::new(&base, dims, strided),
        Sample::new(&ids, id_dims, strided),
        Sample::new(&values, id_dims, strided),
    );
    let output = Meta::contiguous(T::DTYPE, dims);
    let how = if add { Combine::Add } else { Combine::Set };
    let kernel = scatter("scatter", [&b.meta, &i.meta, &s.meta], axis, Special::None, how, &output).unwrap();
    let got = run::<T>(&*kernel, &[b.ptr(), i.ptr(), s.ptr()], base.len()).unwrap();
    let mut expected: Vec<f64> = base.iter().map(|v| v.to_f64()).collect();
    for e in 0..n {
        let at = target(dims, id_dims, axis, e, ids[e].as_usize());
        expected[at] = values[e].to_f64() + if add { expected[at] } else { 0.0 };
    }
    let wrap = |v: f64| match T::DTYPE {
        DType::U8 => f64::from(v as i64 as u8),
        DType::I8 => f64::from(v as i64 as i8),
        _ => T::from_f64(v).to_f64(),
    };
    for (e, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert_eq!(got.to_f64(), wrap(expected), "{} {dims:?} {id_dims:?} {axis} {strided} {add} at {e}", T::DTYPE);
    }
}

#[test]
fn gathers_and_scatters() {
    let cases: [(&[usize], &[usize]); 13] = [
        (&[1200, 3], &[1100, 3]),
        // Few indices in each of many lines.
        (&[700, 40], &[600, 3]),
        (&[5, 700, 40], &[4, 600, 17]),
        (&[2, 97, 8], &[2, 97, 5]),
        // One, which each place is written by once at most.
        (&[70, 40], &[60, 1]),
        (&[6, 300, 20], &[6, 1, 20]),
        (&[4, 3, 7], &[4, 3, 7]),
        (&[4, 5, 9], &[2, 5, 9]),
        (&[40, 12], &[3, 2]),
        (&[50], &[50]),
        (&[9, 300], &[9, 300]),
        (&[200, 130], &[190, 129]),
        (&[3, 4], &[0, 4]),
    ];
    for (dims, id_dims) in cases {
        for axis in 0..dims.len() {
            for strided in [false, true] {
                check_gather::<f32, i64>(dims, id_dims, axis, strided);
                check_gather::<u16, i32>(dims, id_dims, axis, strided);
                check_gather::<f64, u32>(dims, id_dims, axis, strided);
                for add in [false, true] {
                    check_scatter::<f32, i64>(dims, id_dims, axis, strided, add);
                    check_scatter::<f64, i32>(dims, id_dims, axis, strided, add);
                    check_scatter::<u8, u16>(dims, id_dims, axis, strided, add);
                    check_scatter::<i8, u64>(dims, id_dims, axis, strided, add);
                    check_scatter::<i64, i16>(dims, id_dims, axis, strided, add);
                    check_scatter::<f16, i32>(dims, id_dims, axis, strided, add);
                    check_scatter::<bf16, u32>(dims, id_dims, axis, strided, add);
                }
            }
        }
    }
}

fn check_index_add<T: WithDType>(dims: &[usize], axis: usize, n: usize, strided: bool) {
    let (outer, len, inner) = split(dims, axis);
    let mut src_dims = dims.to_vec();
    src_dims[axis] = n;
    let (base, values) = (numbers::<T>(outer * len * inner), numbers::<T>(outer * n * inner));
    let ids = indices::<i64>(n, len);
    let (b, i, s) =
        (Sample::new(&base, dims, strided), Sample::new(&ids, &[n], strided), Sample::new(&values, &src_dims, strided));
    let output = Meta::contiguous(T::DTYPE, dims);
    let kernel = index_add("index_add", &b.meta, &i.meta, &s.meta, axis, Special::None, &output).unwrap();
    let got = run::<T>(&*kernel, &[b.ptr(), i.ptr(), s.ptr()], base.len()).unwrap();
    let mut expected: Vec<f64> = base.iter().map(|v| v.to_f64()).collect();
    for (e, value) in values.iter().enumerate() {
        let (o, k, r) = (e / (n * inner), e / inner % n, e % inner);
        expected[(o * len + ids[k] as usize) * inner + r] += value.to_f64();
    }
    let expected: Vec<T> = expected.into_iter().map(T::from_f64).collect();
    assert!(got == expected, "{dims:?} {axis} {n} {strided}");
}

#[test]
fn index_adds() {
    for strided in [false, true] {
        for axis in 0..3 {
            check_index_add::<f32>(&[4, 3, 10], axis, 20, strided);
            check_index_add::<bf16>(&[4, 3, 10], axis, 20, strided);
            check_index_add::<i32>(&[4, 3, 10], axis, 1, strided);
        }
        check_index_add::<f32>(&[20, 9000], 0, 33, strided);
        check_index_add::<f16>(&[20, 300], 1, 700, strided);
        check_index_add::<f32>(&[40, 16], 0, 1300, strided);
        check_index_add::<f32>(&[5000, 40], 1, 3, strided);
    }
}

#[test]
fn the_largest_index_may_stand_for_nothing() {
    for n in 1..=70usize {
        let (x, ids) = (vec![7u8; 3 * n], [2u8, 255, 0]);
        let rows = Meta::contiguous(DType::U8, [3, n]);
        let im = Meta::contiguous(DType::U8, [3]);
        let kernel = index_select("index_select", &rows, &im, 0, Special::LargestSkips, &rows).unwrap();
        let got = run::<u8>(&*kernel, &[x.as_ptr(), ids.as_ptr()], 3 * n).unwrap();
        assert_eq!(got, [vec![7; n], vec![0; n], vec![7; n]].concat());
    }
    let (x, ids) = ([1f32, 2.0, 3.0], [2u8, 255, 0]);
    let (xm, im) = (Meta::contiguous(DType::F32, [3]), Meta::contiguous(DType::U8, [3]));
    let inputs = [x.as_ptr().cast(), ids.as_ptr().cast()];
    let skip = gather("gather", &xm, &im, 0, Special::LargestSkips, &xm).unwrap();
    assert_eq!(run::<f32>(&*skip, &inputs, 3).unwrap(), [3.0, 0.0, 1.0]);
    let rows = Meta::contiguous(DType::F32, [3, 1]);
    let skip = index_select("index_select", &rows, &im, 0, Special::LargestSkips, &rows).unwrap();
    assert_eq!(run::<f32>(&*skip, &inputs, 3).unwrap(), [3.0, 0.0, 1.0]);
    let add = [x.as_ptr().cast(), ids.as_ptr().cast(), x.as_ptr().cast()];
    for (how, expected) in [(Combine::Add, [4.0, 2.0, 4.0]), (Combine::Set, [3.0, 2.0, 1.0])] {
        let kernel = scatter("scatter", [&xm, &im, &xm], 0, Special::LargestSkips, how, &xm).unwrap();
        assert_eq!(run::<f32>(&*kernel, &add, 3).unwrap(), expected);
    }
    let error = gather("gather", &xm, &im, 0, Special::None, &xm).unwrap();
    assert_eq!(run::<f32>(&*error, &inputs, 3).unwrap_err().kind(), ErrorKind::Index);
    // 255 is an index like any other where the axis is long enough.
    let long = vec![7f32; 256];
    let error = gather("gather", &Meta::contiguous(DType::F32, [256]), &im, 0, Special::None, &xm).unwrap();
    assert_eq!(run::<f32>(&*error, &[long.as_ptr().cast(), ids.as_ptr().cast()], 3).unwrap(), [7.0; 3]);
}

#[test]
fn wrong_indices_into_short_lines_are_named() {
    let x = [1f32; 12];
    let meta = |dtype, dims: [usize; 2]| Meta::contiguous(dtype, dims);
    let (xm, im, om) = (meta(DType::F32, [4, 3]), meta(DType::I64, [4, 2]), meta(DType::F32, [4, 2]));
    let kernel = gather("gather", &xm, &im, 1, Special::None, &om).unwrap();
    for wrong in [3i64, -1, i64::MIN] {
        let ids = [0, 1, 2, 0, wrong, 1, 0, 0];
        let error = run::<f32>(&*kernel, &[x.as_ptr().cast(), ids.as_ptr().cast()], 8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Index);
        assert!(error.to_string().contains(&wrong.to_string()), "{error}");
    }
}

#[test]
fn wrong_indices_are_named_and_nothing_is_changed_in_place() {
    let x = [1f32; 4];
    let (xm, im) = (Meta::contiguous(DType::F32, [4]), Meta::contiguous(DType::I64, [4]));
    for (ids, shown) in [([0i64, 1, 4, 9], "4"), ([-1, 0, 0, 0], "-1"), ([0, i64::MAX, 0, 0], "9223372036854775807")] {
        let kernel = scatter("scatter", [&xm, &im, &xm], 0, Special::None, Combine::Set, &xm).unwrap();
        let mut out = [5f32; 4];
        let base = out.as_mut_ptr().cast::<u8>();
        let inputs = [base.cast_const(), ids.as_ptr().cast(), x.as_ptr().cast()];
        // SAFETY: four elements each; the output is the base.
        let error = unsafe { kernel.run(&inputs, &[base]) }.unwrap_err();
        let report = error.report().unwrap();
        assert_eq!(
            (report.op.as_ref(), report.given[0].1.as_str(), report.accepted.as_str()),
            ("scatter", shown, "0 to 3")
        );
        assert_eq!(out, [5.0; 4]);
    }
    // -1 is never taken for the largest index.
    let kernel = gather("gather", &xm, &im, 0, Special::LargestSkips, &xm).unwrap();
    let inputs = [x.as_ptr().cast(), [-1i64; 4].as_ptr().cast()];
    assert_eq!(run::<f32>(&*kernel, &inputs, 4).unwrap_err().kind(), ErrorKind::Index);
    // An empty axis has no index, however many are given.
    let empty = Meta::contiguous(DType::F32, [0]);
    let kernel = gather("gather", &empty, &im, 0, Special::None, &xm).unwrap();
    let inputs = [x.as_ptr().cast(), [0i64; 4].as_ptr().cast()];
    assert_eq!(run::<f32>(&*kernel, &inputs, 4).unwrap_err().kind(), ErrorKind::Index);
}

#[test]
fn a_wrong_index_among_many_is_found() {
    let n = 100_000;
    let (mut ids, x) = (vec![1u32; n], vec![0u8; n]);
    ids[n - 7] = 2;
    let (xm, im, om) =
        (Meta::contiguous(DType::U8, [2]), Meta::contiguous(DType::U32, [n]), Meta::contiguous(DType::U8, [n]));
    let kernel = gather("gather", &xm, &im, 0, Special::None, &om).unwrap();
    let error = run::<u8>(&*kernel, &[x.as_ptr(), ids.as_ptr().cast()], n).unwrap_err();
    assert_eq!(error.report().unwrap().given[0].1, "2");
}

/// Lines are read and written by loops of their own where indices are `i64` or `u32`; a wrong one is found in any line.
#[test]
fn wrong_indices_in_lines() {
    fn check<I: IntDType>(rows: usize) {
        let (len, x) = (3, vec![1f32; 3 * rows]);
        let mut ids: Vec<I> = indices(3 * rows, len);
        ids[3 * rows - 2] = I::from_f64(3.0);
        let (xm, im) = (Meta::contiguous(DType::F32, [rows, 3]), Meta::contiguous(I::DTYPE, [rows, 3]));
        let kernels = [
            gather("gather", &xm, &im, 1, Special::None, &xm),
            scatter("scatter", [&xm, &im, &xm], 1, Special::None, Combine::Set, &xm),
            scatter("scatter_add", [&xm, &im, &xm], 1, Special::None, Combine::Add, &xm),
        ];
        for kernel in kernels {
            let inputs = [x.as_ptr().cast(), ids.as_ptr().cast(), x.as_ptr().cast()];
            let error = run::<f32>(&*kernel.unwrap(), &inputs, 3 * rows).unwrap_err();
            assert_eq!(error.report().unwrap().given[0].1, "3", "{}", I::DTYPE);
        }
    }
    for rows in [1, 10_000] {
        check::<i64>(rows);
        check::<u32>(rows);
        check::<i16>(rows);
    }
}

/// Indices are checked where they name nothing that is read.
#[test]
fn wrong_indices_of_nothing() {
    let (xm, im) = (Meta::contiguous(DType::F32, [3, 0]), Meta::contiguous(DType::I64, [1]));
    let om = Meta::contiguous(DType::F32, [1, 0]);
    let inputs = [std::ptr::dangling(), [3i64].as_ptr().cast(), std::ptr::dangling()];
    let kernel = index_select("index_select", &xm, &im, 0, Special::None, &om).unwrap();
    assert_eq!(run::<f32>(&*kernel, &inputs, 0).unwrap_err().kind(), ErrorKind::Index);
    let kernel = index_add("index_add", &xm, &im, &om, 0, Special::None, &xm).unwrap();
    assert_eq!(run::<f32>(&*kernel, &inputs, 0).unwrap_err().kind(), ErrorKind::Index);
}

#[test]
fn a_scatter_in_place() {
    let mut x = [1f32, 2.0, 3.0];
    let (xm, im) = (Meta::contiguous(DType::F32, [3]), Meta::contiguous(DType::I32, [2]));
    let sm = Meta::contiguous(DType::F32, [2]);
    let kernel = scatter("scatter_add", [&xm, &im, &sm], 0, Special::None, Combine::Add, &xm).unwrap();
    let (ids, src) = ([2i32, 2], [10f32, 5.0]);
    let out = x.as_mut_ptr().cast::<u8>();
    // SAFETY: the output is the base.
    unsafe { kernel.run(&[out, ids.as_ptr().cast(), src.as_ptr().cast()], &[out]) }.unwrap();
    assert_eq!(x, [1.0, 2.0, 18.0]);
}

#[test]
fn many_halves_add_up() {
    let n = 5000;
    let (ids, src) = (vec![0i64; n], vec![bf16::ONE; n]);
    let (bm, im) = (Meta::contiguous(DType::BF16, [1]), Meta::contiguous(DType::I64, [n]));
    let sm = Meta::contiguous(DType::BF16, [n]);
    let kernel = scatter("scatter_add", [&bm, &im, &sm], 0, Special::None, Combine::Add, &bm).unwrap();
    let inputs = [[bf16::ZERO].as_ptr().cast(), ids.as_ptr().cast(), src.as_ptr().cast()];
    assert_eq!(run::<bf16>(&*kernel, &inputs, 1).unwrap(), [bf16::from_f32(5000.0)]);
}

#[test]
fn refusals() {
    let kind = |r: Result<Arc<dyn HostKernel>>| r.err().unwrap().kind();
    let f = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
    let i = |dims: &[usize]| Meta::contiguous(DType::I64, dims);
    let e = Special::None;
    assert_eq!(kind(index_select("s", &f(&[2, 3]), &i(&[4]), 2, e, &f(&[2, 4]))), ErrorKind::Index);
    assert_eq!(kind(index_select("s", &f(&[2, 3]), &i(&[4]), 1, e, &f(&[2, 3]))), ErrorKind::Shape);
    assert_eq!(kind(index_select("s", &f(&[2, 3]), &f(&[4]), 1, e, &f(&[2, 4]))), ErrorKind::DType);
    assert_eq!(kind(gather("g", &f(&[2, 3]), &i(&[3, 3]), 1, e, &f(&[3, 3]))), ErrorKind::Shape);
    assert_eq!(kind(gather("g", &f(&[]), &i(&[]), 0, e, &f(&[]))), ErrorKind::Index);
    assert_eq!(
        kind(scatter("s", [&f(&[2, 3]), &i(&[2, 4]), &f(&[2, 3])], 1, e, Combine::Set, &f(&[2, 3]))),
        ErrorKind::Shape
    );
    assert_eq!(kind(index_add("a", &f(&[2, 3]), &i(&[4]), &f(&[2, 5]), 1, e, &f(&[2, 3]))), ErrorKind::Shape);
    assert_eq!(kind(get("i", &f(&[2, 3]), &[&i(&[4]), &i(&[3])], 0, &f(&[4]))), ErrorKind::Shape);
    assert_eq!(kind(get("i", &f(&[2]), &[&i(&[4]), &i(&[4])], 0, &f(&[4]))), ErrorKind::Index);
    assert_eq!(kind(put("i", &f(&[2, 3]), &[&i(&[4])], &f(&[4, 2]), 0, true, &f(&[2, 3]))), ErrorKind::Shape);
    assert_eq!(kind(nonzero("n", &f(&[2]), &i(&[1, 1]))), ErrorKind::DType);
}

/// Halves are summed wider, truth values with `or`, complex numbers by part.
#[test]
fn sums_of_every_kind() {
    let ids: [i64; 3] = [1, -1, 0];
    let sum = |dtype: DType, base: *const u8, src: *const u8, out: *mut u8| {
        let m = |n: usize| Meta::contiguous(dtype, [n]);
        let kernel = put("p", &m(2), &[&Meta::contiguous(DType::I64, [3])], &m(3), 0, true, &m(2)).unwrap();
        // SAFETY: two and three elements of the dtype.
        unsafe { kernel.run(&[base, ids.as_ptr().cast(), src], &[out]) }.unwrap();
    };
    let mut truths = [false; 2];
    sum(DType::Bool, [true, false].as_ptr().cast(), [false; 3].as_ptr().cast(), truths.as_mut_ptr().cast());
    assert_eq!(truths, [true, false]);
    let bf = bf16::from_f32;
    let mut halves = [bf(0.0); 2];
    let src = [bf(1.0), bf(1.0), bf(3.0)];
    sum(DType::BF16, [bf(0.0), bf(256.0)].as_ptr().cast(), src.as_ptr().cast(), halves.as_mut_ptr().cast());
    assert_eq!(halves, [bf(3.0), bf(258.0)]);
    let c = opforge_core::Complex::<f32>::new;
    let mut sums = [c(0.0, 0.0); 2];
    let src = [c(1.0, 1.0), c(2.0, 0.0), c(0.0, -3.0)];
    sum(DType::C64, [c(1.0, 2.0); 2].as_ptr().cast(), src.as_ptr().cast(), sums.as_mut_ptr().cast());
    assert_eq!(sums, [c(1.0, -1.0), c(4.0, 3.0)]);
}

/// Runs `call` many times while another thread writes `values` to the bytes, one after the other.
fn while_bytes_change(bytes: &[std::sync::atomic::AtomicU8], values: &[[u8; 8]], mut call: impl FnMut()) {
    use std::sync::atomic::{AtomicBool, Ordering};
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in values.iter().cycle() {
                for (byte, &value) in bytes.iter().zip(value.iter().cycle()) {
                    byte.store(value, Ordering::Relaxed);
                }
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        (0..20_000).for_each(|_| call());
        done.store(true, Ordering::Relaxed);
    });
}

/// Memory of numpy can change while a kernel reads it: what was checked once is what must be used.
#[test]
fn indices_that_change_meanwhile() {
    let ids: Vec<u64> = vec![0; 64];
    // SAFETY: the numbers are 8 bytes each, and are used through this alone while others write to them.
    let bytes = unsafe { std::slice::from_raw_parts(ids.as_ptr().cast(), 8 * ids.len()) };
    let (x, out) = (Meta::contiguous(DType::F32, [4, 3]), Meta::contiguous(DType::F32, [64, 3]));
    let source = vec![0f32; 64 * 3];
    let i = Meta::contiguous(DType::I64, 64);
    let rows = index_select("rows", &x, &i, 0, Special::None, &out).unwrap();
    let elements = index_select("elements", &x, &i, 1, Special::None, &Meta::contiguous(DType::F32, [4, 64])).unwrap();
    let add = index_add("add", &x, &i, &out, 0, Special::None, &x).unwrap();
    while_bytes_change(bytes, &[[1, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 64, 0, 0]], || {
        let at = ids.as_ptr().cast();
        let mut table = vec![0f32; 12];
        let _ = run::<f32>(&*rows, &[source.as_ptr().cast(), at], 64 * 3);
        let _ = run::<f32>(&*elements, &[source.as_ptr().cast(), at], 4 * 64);
        // SAFETY: the buffers are as long as the metas say.
        let _ = unsafe { add.run(&[table.as_ptr().cast(), at, source.as_ptr().cast()], &[table.as_mut_ptr().cast()]) };
    });
}

#[test]
fn masks_that_change_meanwhile() {
    let mask: Vec<u8> = vec![0; 1000];
    // SAFETY: the mask has as many bytes, which are used through this alone while others write to them.
    let bytes = unsafe { std::slice::from_raw_parts(mask.as_ptr().cast(), mask.len()) };
    let (few, many) = ([[1, 0, 0, 0, 0, 0, 0, 0]], [1, 1, 1, 1, 1, 1, 1, 255]);
    let kernel = nonzero("n", &Meta::contiguous(DType::Bool, 1000), &Meta::contiguous(DType::I64, [125, 1])).unwrap();
    let mut found = vec![-1i64; 1000];
    while_bytes_change(bytes, &[few[0], many], || {
        // SAFETY: the output is longer than the meta says.
        let _ = unsafe { kernel.run(&[mask.as_ptr()], &[found.as_mut_ptr().cast()]) };
        assert!(found[125..].iter().all(|&place| place == -1), "nothing is written beyond the output");
    });
}
