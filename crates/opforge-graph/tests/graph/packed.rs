//! Weights that programs keep packed are those of the model at every run.

use crate::common::{floats, vec};
use opforge::functional as f;
use opforge::{Device, Result, Tensor, no_grad};
use opforge_graph::{Options, Program, trace};

/// `relu(x W^T) W`: one weight in two arrangements.
fn twice(weight: &Tensor) -> impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + use<'_> {
    |x| Ok(vec![x[0].matmul(&weight.t()?)?.relu()?.matmul(weight)?])
}

fn program(rows: usize, weight: &Tensor) -> (Tensor, Program) {
    let x = floats(&[rows, 40], rows);
    let program = trace(&[&x], twice(weight)).unwrap().compile().unwrap();
    (x, program)
}

fn expect_eager(x: &Tensor, program: &Program, weight: &Tensor) {
    let eager = no_grad(|| twice(weight)(std::slice::from_ref(x))).unwrap();
    assert_eq!(vec(&program.run(&[x]).unwrap()[0]), vec(&eager[0]));
}

#[test]
fn a_weight_that_was_changed_is_packed_anew() {
    let weight = floats(&[70, 40], 1);
    let (x, program) = program(5, &weight);
    let half = Tensor::full(-0.5f32, (), &Device::Cpu).unwrap();
    for _ in 0..2 {
        expect_eager(&x, &program, &weight);
        weight.mul_(&half).unwrap();
        expect_eager(&x, &program, &weight);
        // Changes that backward does not notice are noticed here.
        weight.untracked().mul_(&half).unwrap();
        expect_eager(&x, &program, &weight);
        weight.narrow(0, 3, 2).unwrap().mul_(&half).unwrap();
    }
}

#[test]
fn memory_that_others_write_is_packed_for_each_run() {
    let weight = floats(&[70, 40], 1);
    let (x, program) = program(5, &weight);
    expect_eager(&x, &program, &weight);
    let address = weight.storage().expose().unwrap().cast::<f32>();
    for value in [7.0, -2.0] {
        // SAFETY: the storage holds 70 x 40 floats, and no kernel runs on it now: it was waited for.
        unsafe { address.add(11).write(value) };
        expect_eager(&x, &program, &weight);
    }
}

#[test]
fn a_weight_that_the_program_changes_is_not_packed() {
    let weight = floats(&[40, 40], 1);
    let x = floats(&[6, 40], 2);
    let program = trace(&[&x], |x| {
        let y = x[0].matmul(&weight)?;
        weight.mul_(&Tensor::full(0.5f32, (), &Device::Cpu)?)?;
        Ok(vec![y])
    });
    let program = program.unwrap().compile().unwrap();
    for _ in 0..3 {
        let expected = vec(&x.matmul(&weight).unwrap());
        assert_eq!(vec(&program.run(&[&x]).unwrap()[0]), expected);
    }
}

#[test]
fn without_prepacking_the_bits_are_the_same() {
    let weight = floats(&[300, 33], 3);
    for rows in [2, 13, 100] {
        let x = floats(&[rows, 33], rows);
        let graph = || trace(&[&x], |x| Ok(vec![x[0].matmul(&weight.t()?)?])).unwrap();
        let plain = graph().compile_with(Options { prepacking: false, ..Options::ALL }).unwrap();
        let (packed, plain) = (graph().compile().unwrap().run(&[&x]).unwrap(), plain.run(&[&x]).unwrap());
        assert_eq!(vec(&packed[0]), vec(&plain[0]));
    }
}

#[test]
fn weights_of_convolutions_are_packed_and_packed_anew() {
    let weight = floats(&[20, 12, 3, 3], 3);
    let convolve = |x: &[Tensor]| {
        let y = f::conv2d(&x[0], &weight, None, &[1], &[1], &[1], 1)?.relu()?;
        // The same elements in another arrangement.
        Ok(vec![f::conv_transpose2d(&y, &weight, None, &[2], &[1], &[0], 1, &[1])?])
    };
    let x = floats(&[2, 12, 7, 7], 1);
    let program = trace(&[&x], convolve).unwrap().compile().unwrap();
    let plain = trace(&[&x], convolve).unwrap();
    let plain = plain.compile_with(Options { prepacking: false, ..Options::ALL }).unwrap();
    for _ in 0..3 {
        let eager = no_grad(|| convolve(std::slice::from_ref(&x))).unwrap();
        assert_eq!(vec(&program.run(&[&x]).unwrap()[0]), vec(&eager[0]));
        assert_eq!(vec(&plain.run(&[&x]).unwrap()[0]), vec(&eager[0]));
        weight.mul_(&Tensor::full(-0.5f32, (), &Device::Cpu).unwrap()).unwrap();
    }
}
