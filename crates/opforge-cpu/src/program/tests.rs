use std::sync::Arc;

use opforge_core::{DType, Meta};
use opforge_runtime::HostKernel;
use opforge_tile::{BinaryFn, Float};
use smallvec::smallvec;

use super::{Loop, Operand, Place, Program, Step};
use crate::elementwise::binary;

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
    let kernels = || (sum(4), Some(sum(2)));
    let (x, y, local) = (operand(Place::Input(0), 16), operand(Place::Input(1), 16), operand(Place::Local(0), 0));
    vec![
        Step { kernels: kernels(), inputs: smallvec![x.clone(), x], outputs: smallvec![local.clone()] },
        Step { kernels: kernels(), inputs: smallvec![local, y], outputs: smallvec![operand(Place::Output(0), 16)] },
    ]
}

#[test]
fn blocks_make_the_whole() {
    let loops = smallvec![Loop { blocks: 3, ragged: true }];
    let program = Program::new(steps(), loops, 64).unwrap();
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
    assert!(Program::new(steps(), smallvec![], 64).is_err());
    assert!(Program::new(steps(), smallvec![loop_of(3, false)], 64).is_err());
    assert!(Program::new(steps(), smallvec![loop_of(3, true)], 64).is_ok());
}
