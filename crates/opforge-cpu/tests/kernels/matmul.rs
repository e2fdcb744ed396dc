//! Products beside plain sums, in every dtype, layout and instruction set.

use std::sync::Arc;

use opforge_core::{DType, Element, ErrorKind, Layout, Meta, Result, Scalar, WithDType, bf16, f16};
use opforge_cpu::matmul::{linear, matmul};
use opforge_runtime::HostKernel;

use crate::testing::Threads;

/// Small whole numbers, so that every dtype's sums are exact.
fn values<T: WithDType>(n: usize, seed: usize) -> Vec<T> {
    let low = if T::DTYPE.is_signed() { -2.0 } else { 0.0 };
    (0..n).map(|i| T::from_f64(((((i * 7 + seed) * 2654435761) >> 7) & 3) as f64 + low)).collect()
}

fn run<T: Element>(kernel: &dyn HostKernel, inputs: &[&[T]], len: usize) -> Vec<T> {
    let mut out = vec![T::from_scalar(Scalar::Int(77)); len];
    let inputs: Vec<*const u8> = inputs.iter().map(|i| i.as_ptr().cast()).collect();
    // SAFETY: the tests make buffers of the layouts' spans.
    unsafe { kernel.run(&inputs, &[out.as_mut_ptr().cast()]) }.unwrap();
    out
}

/// The same with the right operand packed before, where the kernel gains from that.
fn run_prepacked<T: Element>(kernel: &dyn HostKernel, inputs: &[&[T]], len: usize) -> Option<Vec<T>> {
    let prepack = kernel.prepack()?;
    let packed = run::<T>(&*prepack.pack, &[inputs[prepack.input]], prepack.bytes / size_of::<T>());
    let mut inputs = inputs.to_vec();
    inputs[prepack.input] = &packed;
    Some(run(&*prepack.kernel, &inputs, len))
}

/// Compares with sums in f64 of small whole numbers; wrapped to the type where they exceed it.
fn check<T: WithDType>(a: Layout, b: Layout) {
    let meta = |layout: &Layout| Meta { dtype: T::DTYPE, layout: layout.clone() };
    let (ra, rb) = (a.rank(), b.rank());
    let (m, k, n) = (a.dims()[ra - 2], a.dims()[ra - 1], b.dims()[rb - 1]);
    let mut dims = a.dims()[..ra - 2].to_vec();
    dims.extend([m, n]);
    let output = Meta::contiguous(T::DTYPE, dims);
    let (av, bv) = (values::<T>(a.span(), 1), values::<T>(b.span(), 5));
    let kernel = matmul("matmul", &meta(&a), &meta(&b), &output).unwrap();
    let operands = [&av[a.start_offset()..], &bv[b.start_offset()..]];
    let got = run::<T>(&*kernel, &operands, output.elem_count());
    if let Some(packed) = run_prepacked(&*kernel, &operands, output.elem_count()) {
        assert!(packed == got, "{a:?} x {b:?}, packed before");
    }
    let (at, bt): (Vec<usize>, Vec<usize>) = (a.indices().collect(), b.indices().collect());
    for (e, got) in got.iter().enumerate() {
        let (batch, i, j) = (e / (m * n), e / n % m, e % n);
        let sum: i64 = (0..k)
            .map(|p| {
                let (x, y) = (av[at[(batch * m + i) * k + p]], bv[bt[(batch * k + p) * n + j]]);
                (x.to_f64() * y.to_f64()) as i64
            })
            .sum();
        let expected = if T::DTYPE.is_int() { wrap::<T>(sum) } else { T::from_f64(sum as f64).to_f64() };
        assert_eq!(got.to_f64(), expected, "{a:?} x {b:?} at {batch} {i} {j}");
    }
}

fn wrap<T: WithDType>(sum: i64) -> f64 {
    let bits = 64 - 8 * size_of::<T>();
    if T::DTYPE.is_signed() { (sum << bits >> bits) as f64 } else { ((sum as u64) << bits >> bits) as f64 }
}

fn check_all_dtypes(a: Layout, b: Layout) {
    check::<u8>(a.clone(), b.clone());
    check::<u16>(a.clone(), b.clone());
    check::<u32>(a.clone(), b.clone());
    check::<u64>(a.clone(), b.clone());
    check::<i8>(a.clone(), b.clone());
    check::<i16>(a.clone(), b.clone());
    check::<i32>(a.clone(), b.clone());
    check::<i64>(a.clone(), b.clone());
    check::<f16>(a.clone(), b.clone());
    check::<bf16>(a.clone(), b.clone());
    check::<f32>(a.clone(), b.clone());
    check::<f64>(a, b);
}

/// The layouts in which an `[m, n]` matrix may come.
fn layouts(m: usize, n: usize) -> [Layout; 3] {
    let wide = Layout::contiguous([m, 2 * n + 1]).slice(1, 1, 2 * n + 1, 2).unwrap();
    [Layout::contiguous([m, n]), Layout::contiguous([n, m]).transpose(0, 1).unwrap(), wide]
}

#[test]
fn every_dtype() {
    for isa in opforge_cpu::simd::Isa::supported() {
        opforge_cpu::simd::with_isa(isa, every_dtype_on_one_isa);
    }
}

fn every_dtype_on_one_isa() {
    for (m, k, n) in [(1, 1, 1), (4, 4, 4), (13, 9, 33), (25, 20, 16), (1, 30, 20), (20, 30, 1), (3, 70, 2)] {
        for a in layouts(m, k) {
            for b in layouts(k, n) {
                check_all_dtypes(a.clone(), b);
            }
        }
    }
}

#[test]
fn every_edge_of_the_kernels() {
    for (isa, m) in opforge_cpu::simd::Isa::supported().flat_map(|isa| (1..35).map(move |m| (isa, m))) {
        for n in [1, 2, 3, 15, 16, 17, 31, 32, 33, 49, 64] {
            opforge_cpu::simd::with_isa(isa, || {
                check::<f32>(Layout::contiguous([m, 5]), Layout::contiguous([5, n]));
                check::<f64>(Layout::contiguous([m, 3]), Layout::contiguous([3, n]));
                // Pairs and tiles of the depth, with a rest.
                for (a, b) in layouts(m, 67).into_iter().zip(layouts(67, n)) {
                    check::<bf16>(a, b);
                }
            });
        }
    }
}

/// Rows of a few elements each, and few columns; long rows too, of very few.
#[test]
fn tall_matrices() {
    for isa in opforge_cpu::simd::Isa::supported() {
        opforge_cpu::simd::with_isa(isa, || {
            for (m, k, n) in [
                (300, 1, 2),
                (300, 3, 5),
                (260, 70, 3),
                (260, 40, 33),
                (300, 2, 33),
                (200, 16, 70),
                (270, 8, 257),
                (130, 64, 32),
                (300, 15, 1),
                (70, 31, 1),
                (90, 130, 1),
                (17, 16, 4),
                (20, 700, 2),
                (35, 270, 8),
            ] {
                let part = Layout::contiguous([m, k + 2]).narrow(1, 1, k).unwrap();
                for a in layouts(m, k).into_iter().chain([part]) {
                    for b in layouts(k, n) {
                        check_all_dtypes(a.clone(), b);
                    }
                }
            }
        });
    }
}

#[test]
fn several_blocks_and_threads() {
    for (m, k, n) in [(250, 300, 70), (33, 40, 1300), (500, 17, 130), (130, 600, 129), (5, 33000, 40)] {
        for (a, b) in layouts(m, k).into_iter().zip(layouts(k, n)) {
            check::<f32>(a.clone(), b.clone());
            check::<bf16>(a.clone(), b.clone());
            check::<i32>(a, b);
        }
    }
}

#[test]
fn long_vectors() {
    for (a, b) in layouts(1, 700).into_iter().zip(layouts(700, 1500)) {
        check::<f32>(a.clone(), b.clone());
        check::<f16>(a.clone(), b.clone());
        let (a, b) = (b.transpose(0, 1).unwrap(), a.transpose(0, 1).unwrap());
        check::<f32>(a, b);
    }
    // Chunks of the sum with more terms than one running sum takes, the last of fewer.
    for (a, b) in layouts(1, 9001).into_iter().zip(layouts(9001, 40)) {
        check_all_dtypes(a, b);
    }
}

#[test]
fn batches() {
    let a = Layout::contiguous([3, 2, 5, 7]);
    for b in [Layout::contiguous([7, 6]), Layout::contiguous([2, 7, 6]), Layout::contiguous([3, 1, 7, 6])] {
        let b = b.broadcast_as(&[3, 2, 7, 6].into(), "expand").unwrap();
        check_all_dtypes(a.clone(), b.clone());
        check_all_dtypes(a.transpose(0, 1).unwrap(), b.transpose(0, 1).unwrap());
    }
    let row = Layout::contiguous([40, 1, 64]);
    check::<f32>(row, Layout::contiguous([40, 64, 300]));
    check::<f32>(Layout::contiguous([40, 30, 64]), Layout::contiguous([40, 64, 30]));
}

#[test]
fn zero_sizes() {
    for (m, k, n) in [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 0, 4), (4, 0, 1), (0, 0, 0)] {
        check_all_dtypes(Layout::contiguous([m, k]), Layout::contiguous([k, n]));
    }
    check::<f32>(Layout::contiguous([0, 3, 4]), Layout::contiguous([0, 4, 5]));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (a, b) = (Meta::contiguous(DType::F32, [200, 900]), Meta::contiguous(DType::F32, [900, 150]));
    let output = Meta::contiguous(DType::F32, [200, 150]);
    let av: Vec<f32> = (0..200 * 900).map(|i| (i as f32 * 0.37).sin()).collect();
    let bv: Vec<f32> = (0..900 * 150).map(|i| (i as f32 * 0.73).cos()).collect();
    let product = |threads: usize| {
        let _threads = Threads::set(threads);
        run::<f32>(&*matmul("matmul", &a, &b, &output).unwrap(), &[&av, &bv], 200 * 150)
    };
    let one = product(1);
    for threads in [2, 3, 16] {
        assert!(one == product(threads), "{threads} threads");
    }
}

#[test]
fn linear_adds_the_bias() {
    for [rows, k, n] in [
        [1, 40, 30],
        [7, 40, 1],
        [30, 20, 50],
        [1, 3, 1],
        [5, 0, 3],
        [300, 9, 70],
        [20, 300, 700],
        [300, 10, 70],
        [300, 8, 7],
        [300, 20, 1],
    ] {
        check_linear::<f32>(rows, k, n);
        check_linear::<bf16>(rows, k, n);
    }
    check_linear::<f32>(30, 300, 50);
}

/// Sums are whole numbers, rounded once where the dtype does not hold them.
fn check_linear<T: Element + WithDType>(rows: usize, k: usize, n: usize) {
    let of = |dims: &[usize]| Meta::contiguous(T::DTYPE, dims);
    let (x, w, bias, output) = (of(&[rows, k]), of(&[n, k]), of(&[n]), of(&[rows, n]));
    let (xv, wv, bv) = (values::<T>(rows * k, 1), values::<T>(n * k, 2), values::<T>(n, 3));
    let with = linear("linear", &x, &w, Some(&bias), &output).unwrap();
    let without = linear("linear", &x, &w, None, &output).unwrap();
    let (got, bare) = (run::<T>(&*with, &[&xv, &wv, &bv], rows * n), run::<T>(&*without, &[&xv, &wv], rows * n));
    for i in 0..rows * n {
        let dot: f64 = (0..k).map(|p| xv[i / n * k + p].to_f64() * wv[i % n * k + p].to_f64()).sum();
        let rounded = |sum: f64| T::from_f64(sum).to_f64();
        let expected = (rounded(dot), rounded(dot + bv[i % n].to_f64()));
        assert_eq!((bare[i].to_f64(), got[i].to_f64()), expected, "{rows} {k} {n} at {i}");
    }
    if let Some(packed) = run_prepacked(&*with, &[&xv[..], &wv, &bv], rows * n) {
        assert!(packed == got, "{rows} {k} {n}, packed before");
    }
}

#[test]
fn halves_round_once() {
    let (a, b) = (Meta::contiguous(DType::F16, [2, 3000]), Meta::contiguous(DType::F16, [3000, 2]));
    let kernel = matmul("matmul", &a, &b, &Meta::contiguous(DType::F16, [2, 2])).unwrap();
    let ones = vec![f16::ONE; 6000];
    // Counting in f16 would stop at 2048.
    assert_eq!(run::<f16>(&*kernel, &[&ones, &ones], 4), [f16::from_f32(3000.0); 4]);
}

#[test]
fn products_of_halves_may_keep_their_sums() {
    fn check<T: Element + WithDType>(batches: usize, m: usize, k: usize, n: usize) {
        let of = |dtype, dims: [usize; 3]| Meta::contiguous(dtype, dims);
        let number = |i: usize| T::from_f64((i as f64 * 0.37).sin());
        let (a, b): (Vec<T>, Vec<T>) =
            ((0..batches * m * k).map(number).collect(), (0..batches * k * n).rev().map(number).collect());
        let metas = [of(T::DTYPE, [batches, m, k]), of(T::DTYPE, [batches, k, n])];
        let kernel = matmul("matmul", &metas[0], &metas[1], &of(DType::F32, [batches, m, n])).unwrap();
        let mut got = vec![77f32; batches * m * n];
        // SAFETY: the buffers have the metas' elements.
        unsafe { kernel.run(&[a.as_ptr().cast(), b.as_ptr().cast()], &[got.as_mut_ptr().cast()]) }.unwrap();
        for (e, &got) in got.iter().enumerate() {
            let (batch, i, j) = (e / (m * n), e / n % m, e % n);
            let term = |p: usize| a[(batch * m + i) * k + p].to_f64() * b[(batch * k + p) * n + j].to_f64();
            let (sum, size) = (0..k).map(term).fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            assert!((f64::from(got) - sum).abs() <= 1e-6 * size, "{batches} {m} {k} {n} at {e}: {got}, not {sum}");
        }
    }
    for isa in opforge_cpu::simd::Isa::supported() {
        opforge_cpu::simd::with_isa(isa, || {
            for (batches, m, k, n) in [
                (1, 2, 3, 2),
                (3, 1, 40, 70),
                (2, 70, 40, 1),
                (2, 1, 9000, 1),
                (1, 300, 20, 9),
                (2, 30, 600, 100),
                (1, 8, 0, 8),
            ] {
                check::<f16>(batches, m, k, n);
                check::<bf16>(batches, m, k, n);
            }
        });
    }
}

#[test]
fn refusals() {
    let kind = |r: Result<Arc<dyn HostKernel>>| r.err().unwrap().kind();
    let f = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
    assert_eq!(kind(matmul("matmul", &f(&[2, 3]), &f(&[4, 5]), &f(&[2, 5]))), ErrorKind::Shape);
    assert_eq!(kind(matmul("matmul", &f(&[3]), &f(&[3, 5]), &f(&[5]))), ErrorKind::Shape);
    assert_eq!(kind(matmul("matmul", &f(&[2, 2, 3]), &f(&[3, 3, 5]), &f(&[2, 2, 5]))), ErrorKind::Shape);
    assert_eq!(kind(matmul("matmul", &f(&[2, 3]), &f(&[3, 5]), &f(&[5, 2]))), ErrorKind::Shape);
    let other = Meta::contiguous(DType::F64, [3, 5]);
    assert_eq!(kind(matmul("matmul", &f(&[2, 3]), &other, &f(&[2, 5]))), ErrorKind::DType);
    let flags = Meta::contiguous(DType::Bool, [2, 2]);
    assert_eq!(kind(matmul("matmul", &flags, &flags, &flags)), ErrorKind::DType);
    assert_eq!(kind(linear("linear", &f(&[2, 3]), &f(&[5, 4]), None, &f(&[2, 5]))), ErrorKind::Shape);
    assert_eq!(kind(linear("linear", &f(&[2, 3]), &f(&[5, 3]), Some(&f(&[4])), &f(&[2, 5]))), ErrorKind::Shape);
    assert_eq!(kind(linear("linear", &f(&[]), &f(&[5, 3]), None, &f(&[5]))), ErrorKind::Shape);
}

#[test]
fn small_and_tall_products_are_those_of_packed_operands() {
    for (m, k, n) in [(2, 3, 2), (8, 8, 8), (13, 256, 33), (100, 100, 100), (7, 1, 64), (30, 2, 31)] {
        for a in layouts(m, k) {
            check_all_dtypes(a, Layout::contiguous([k, n]));
        }
        // With more rows the product is none of the small ones: of short rows a tall one, else one of packed operands.
        let numbers = |count: usize, step: f32| (0..count).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
        let (many, of) = ((1 << 14) / k + 1, |rows, columns| Meta::contiguous(DType::F32, [rows, columns]));
        let (av, bv) = (numbers(many * k, 0.37), numbers(k * n, 0.73));
        let product = |rows: usize| matmul("matmul", &of(rows, k), &of(k, n), &of(rows, n)).unwrap();
        let (small, large) = (product(m), product(many));
        assert!(small.rectangles().is_none() && (large.rectangles().is_some() || k < 100), "{m} {k} {n}");
        let (small, large) = (run::<f32>(&*small, &[&av, &bv], m * n), run::<f32>(&*large, &[&av, &bv], many * n));
        assert!(small == large[..m * n], "{m} {k} {n}");
    }
    let batch = Layout::contiguous([300, 8, 8]);
    check::<f32>(batch.clone(), batch.transpose(1, 2).unwrap());
    check::<f32>(batch.transpose(1, 2).unwrap(), batch.clone());
    check::<f64>(batch.clone(), batch);
}
