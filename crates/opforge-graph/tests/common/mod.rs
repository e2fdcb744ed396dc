//! Tensors of numbers that look like any, and their elements.

use opforge::{Device, Tensor};

pub fn floats(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

pub fn vec(t: &Tensor) -> Vec<f32> {
    t.contiguous().unwrap().flatten_all().unwrap().to_vec1().unwrap()
}
