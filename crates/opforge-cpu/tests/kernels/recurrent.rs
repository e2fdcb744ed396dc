//! Refusals, and results with any number of threads; values are compared by the operators' samples.

use std::sync::Arc;

use opforge_core::{DType, Meta};
use opforge_cpu::recurrent::*;
use opforge_runtime::HostKernel;

use crate::testing::Threads;

#[test]
fn shapes_and_dtypes_that_do_not_go_together_are_refused() {
    let m = |dtype: DType, dims: &[usize]| Meta::contiguous(dtype, dims);
    let call = |dtype: DType, weight: &[usize]| {
        let inputs = [m(dtype, &[3, 2, 8]), m(dtype, weight), m(dtype, &[8]), m(dtype, &[2, 2]), m(dtype, &[2, 2])];
        let outputs = [m(dtype, &[3, 2, 2]), m(dtype, &[3, 2, 2]), m(dtype, &[3, 2, 8])];
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (inputs.iter().collect(), outputs.iter().collect());
        forward("lstm", CellKind::Lstm, false, &inputs, &outputs).map(|_| ()).map_err(|e| e.kind())
    };
    assert_eq!(call(DType::F32, &[8, 2]), Ok(()));
    assert_eq!(call(DType::F32, &[8, 3]), Err(opforge_core::ErrorKind::Shape));
    assert_eq!(call(DType::I64, &[8, 2]), Err(opforge_core::ErrorKind::DType));
}

/// Threads take rows of their own, and as many as there are threads; each row's numbers are those that it has alone.
#[test]
fn results_do_not_depend_on_threads() {
    let [steps, batch, hidden, gates] = [3, 9, 5, 20];
    let numbers = |count: usize, seed: usize| -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 1000) as f32 / 500.0 - 1.0).collect()
    };
    let shapes: [&[usize]; 5] =
        [&[steps, batch, gates], &[gates, hidden], &[gates], &[batch, hidden], &[batch, hidden]];
    let inputs: Vec<Meta> = shapes.iter().map(|&dims| Meta::contiguous(DType::F32, dims)).collect();
    let outputs = [hidden, hidden, gates].map(|wide| Meta::contiguous(DType::F32, [steps, batch, wide]));
    let data: Vec<Vec<f32>> = inputs.iter().enumerate().map(|(i, meta)| numbers(meta.elem_count(), i)).collect();
    let run = |kernel: Arc<dyn HostKernel>, inputs: &[&Vec<f32>], outputs: &[usize]| -> Vec<Vec<f32>> {
        let mut found: Vec<Vec<f32>> = outputs.iter().map(|&count| vec![f32::NAN; count]).collect();
        let from: Vec<*const u8> = inputs.iter().map(|x| x.as_ptr().cast()).collect();
        let to: Vec<*mut u8> = found.iter_mut().map(|y| y.as_mut_ptr().cast()).collect();
        // SAFETY: the vectors have the elements of the metas that the kernel was made for.
        unsafe { kernel.run(&from, &to).expect("a valid call") };
        found
    };
    let both_ways = |threads: usize| {
        let _threads = Threads::set(threads);
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (inputs.iter().collect(), outputs.iter().collect());
        let kernel = forward("lstm", CellKind::Lstm, true, &inputs, &outputs).expect("a valid layer");
        let made =
            run(kernel, &data.iter().collect::<Vec<_>>(), &outputs.iter().map(|m| m.elem_count()).collect::<Vec<_>>());
        let grads = [outputs[2], outputs[0], inputs[3], inputs[1], outputs[0], outputs[1], inputs[3], outputs[1]];
        let by = [outputs[2], outputs[2], inputs[3], inputs[3]];
        let kernel = backward("lstm", CellKind::Lstm, true, &grads, &by).expect("a valid layer");
        let of = [&made[2], &made[0], &data[3], &data[1], &made[1], &made[1], &data[4], &made[0]];
        let gradients = run(kernel, &of, &by.map(Meta::elem_count));
        [made, gradients].concat()
    };
    let alone = both_ways(1);
    assert!(alone.iter().flatten().all(|x| x.is_finite()));
    assert_eq!(alone, both_ways(2));
    assert_eq!(alone, both_ways(3));
}
