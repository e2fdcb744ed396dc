//! Blocks make up the whole, with and without a reduction at the end.

use std::sync::Arc;

use opforge_core::{DType, Layout, Meta};
use opforge_cpu::elementwise::binary;
use opforge_cpu::program::{Loop, Operand, Place, Program, Step, Total};
use opforge_runtime::HostKernel;
use opforge_tile::{BinaryFn, Float};
use smallvec::smallvec;

#[derive(Clone, Copy)]
struct Sum;

impl BinaryFn for Sum {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

/// The sum of two tensors of `len` floats.
fn sum(len: usize) -> Arc<dyn HostKernel> {
    let meta = Meta::contiguous(DType::F32, len);
    binary("sum", Sum, &meta, &meta, &meta).unwrap()
}

fn operand(place: Place, step: isize) -> Operand {
    Operand { place, steps: smallvec![step] }
}

/// `(x + x) + y` of 10 floats, in blocks of 4.
fn steps() -> Vec<Step> {
    let kernels = || smallvec![sum(4), sum(2)];
    let (x, y, local) = (operand(Place::Input(0), 16), operand(Place::Input(1), 16), operand(Place::Local(0), 0));
    vec![
        Step { kernels: kernels(), inputs: smallvec![x.clone(), x], outputs: smallvec![local.clone()] },
        Step { kernels: kernels(), inputs: smallvec![local, y], outputs: smallvec![operand(Place::Output(0), 16)] },
    ]
}

#[test]
fn blocks_make_the_whole() {
    let loops = smallvec![Loop { blocks: 3, ragged: true }];
    let program = Program::new(steps(), None, loops, 64).unwrap();
    let x: Vec<f32> = (0..10).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..10).map(|i| (i * i) as f32).collect();
    let mut out = [0f32; 10];
    // SAFETY: all tensors have the 10 floats that the blocks make up.
    unsafe { program.run(&[x.as_ptr().cast(), y.as_ptr().cast()], &[out.as_mut_ptr().cast()]).unwrap() };
    assert!(out.iter().enumerate().all(|(i, out)| *out == (2 * i + i * i) as f32), "{out:?}");
    // SAFETY: nothing is read of too few inputs.
    assert!(unsafe { program.run(&[x.as_ptr().cast()], &[out.as_mut_ptr().cast()]) }.is_err());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let loop_of = |blocks, ragged| Loop { blocks, ragged };
    assert!(Program::new(steps(), None, smallvec![], 64).is_err());
    assert!(Program::new(steps(), None, smallvec![loop_of(3, false)], 64).is_err());
    assert!(Program::new(steps(), None, smallvec![loop_of(3, true)], 64).is_ok());
}

#[derive(Clone, Copy)]
struct Added;

impl opforge_cpu::reduce::Reducer for Added {
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

#[test]
fn a_total_has_the_bits_of_the_whole_reduction() {
    for count in [70_000usize, 16_384 * 5, 100_001] {
        let (input, output) = (Meta::contiguous(DType::F32, count), Meta::contiguous(DType::F32, ()));
        let kernel = opforge_cpu::reduce::reduce("sum", Added, &input, &[0], &output).unwrap();
        let parts = kernel.parts().unwrap();
        let last = count % parts.elements;
        let x: Vec<f32> = (0..count).map(|i| (i % 1013) as f32 * 0.37).collect();
        let (mut doubled, mut expected, mut total) = (vec![0f32; count], 0f32, 0f32);
        doubled.iter_mut().zip(&x).for_each(|(y, x)| *y = x + x);
        // SAFETY: the tensors are those that the kernel was made for.
        unsafe { kernel.run(&[doubled.as_ptr().cast()], &[(&raw mut expected).cast()]).unwrap() };

        let step = (parts.elements * 4) as isize;
        let (x_block, local) = (operand(Place::Input(0), step), operand(Place::Local(0), 0));
        let step = Step {
            kernels: [parts.elements, last].into_iter().filter(|&len| len > 0).map(sum).collect(),
            inputs: smallvec![x_block.clone(), x_block],
            outputs: smallvec![local.clone()],
        };
        let loops = smallvec![Loop { blocks: parts.count, ragged: last > 0 }];
        let reduction = Total { kernel, input: local, output: 0 };
        let program = Program::new(vec![step], Some(reduction), loops, parts.elements * 4).unwrap();
        // SAFETY: the input has the elements that the blocks make up, the output is one.
        unsafe { program.run(&[x.as_ptr().cast()], &[(&raw mut total).cast()]).unwrap() };
        assert_eq!(total.to_bits(), expected.to_bits());
    }
}

/// A tensor of a chain: a matrix of a block, with its strides in elements.
#[derive(Clone)]
struct Matrix {
    place: Place,
    strides: [usize; 2],
}

/// Chains of sums of matrices, rows, columns and single elements, some in place: on blocks so large that they run strip by strip.
#[test]
fn strips_make_the_block() {
    for [rows, columns] in [[1, 20_001], [3, 5_000], [700, 33], [130, 130], [9000, 2]] {
        let meta = |matrix: &Matrix| Meta {
            dtype: DType::F32,
            layout: Layout::new((rows, columns).into(), matrix.strides[..].into(), 0, "test").unwrap(),
        };
        let count = rows * columns;
        let whole = |place| Matrix { place, strides: [columns, 1] };
        // A matrix, a row, a column, an element; working memory; results, the second of which is read and written.
        let inputs = [[columns, 1], [0, 1], [1, 0], [0, 0]];
        let [x, row, column, one] = std::array::from_fn(|i| Matrix { place: Place::Input(i), strides: inputs[i] });
        let [a, b] = [0, count * 4].map(|offset| whole(Place::Local(offset)));
        let [y, z] = [0, 1].map(|i| whole(Place::Output(i)));
        let calls =
            [[&x, &row, &a], [&a, &one, &b], [&b, &column, &b], [&a, &b, &y], [&z, &b, &z], [&y, &z, &a], [&a, &a, &z]];
        let operand = |matrix: &Matrix| Operand { place: matrix.place, steps: smallvec![0] };
        let steps = calls.iter().map(|[left, right, out]| Step {
            kernels: smallvec![binary("sum", Sum, &meta(left), &meta(right), &meta(out)).unwrap()],
            inputs: smallvec![operand(left), operand(right)],
            outputs: smallvec![operand(out)],
        });
        let loops = smallvec![Loop { blocks: 1, ragged: false }];
        let program = Program::new(steps.collect(), None, loops, 8 * count).unwrap();

        let number = |i: usize| (i * 7919 % 1000) as f32;
        let given: Vec<Vec<f32>> = [count, columns, rows, 1].map(|len| (0..len).map(number).collect()).into();
        let (mut y_found, mut z_found) = (vec![0f32; count], (0..count).map(number).collect::<Vec<f32>>());
        let from: Vec<*const u8> = given.iter().map(|x| x.as_ptr().cast()).collect();
        let to = [y_found.as_mut_ptr().cast(), z_found.as_mut_ptr().cast()];
        // SAFETY: the tensors are those that the program was made for.
        unsafe { program.run(&from, &to).unwrap() };
        for i in 0..count {
            let a = given[0][i] + given[1][i % columns];
            let b = a + given[3][0] + given[2][i / columns];
            let y = a + b;
            assert_eq!((y_found[i], z_found[i]), (y, 2.0 * (y + (number(i) + b))), "{i} of {rows} x {columns}");
        }
    }
}
