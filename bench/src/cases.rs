//! What is measured, written once: this file is compiled against each library in turn (see `opforge.rs` and `candle.rs`).

use super::lib::{D, DType, Device, Result, Tensor, Var};
use super::{cross_entropy, layer_norm, softmax, softmax_last_dim};
use crate::case::{Case, Work};

pub(super) const CPU: &Device = &Device::Cpu;
pub(super) const F32: usize = 4;
/// Eight million elements, in a matrix.
const MATRIX: (usize, usize) = (2048, 4096);
const COUNT: usize = MATRIX.0 * MATRIX.1;

/// A case whose result is complete when the timed call returns.
pub(super) fn case<T: 'static>(
    name: impl Into<String>,
    work: Work,
    prepare: impl FnOnce() -> Result<Box<dyn FnMut() -> Result<T>>> + 'static,
) -> Case {
    Case::new(name, work, || {
        let mut call = prepare()?;
        Ok(Box::new(move || {
            let result = call()?;
            CPU.synchronize()?;
            drop(result);
            Ok(())
        }))
    })
}

pub(super) fn random(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(0f32, 1f32, shape, CPU)
}

fn matrix() -> Result<Tensor> {
    random(&[MATRIX.0, MATRIX.1])
}

/// A function of one matrix. Traffic is in elements read and written.
fn of_matrix(name: &str, work: Work, f: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Case {
    case(name, work, move || {
        let x = matrix()?;
        Ok(Box::new(move || f(&x)))
    })
}

fn pair(name: &str, work: Work, a: &[usize], b: &[usize], f: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Case {
    let (a, b) = (a.to_vec(), b.to_vec());
    case(name, work, move || {
        let (a, b) = (random(&a)?, random(&b)?);
        Ok(Box::new(move || f(&a, &b)))
    })
}

fn matmul(dtype: DType, n: usize) -> Case {
    case(format!("matmul {} {n}", dtype.as_str()), Work::Flops(2 * n * n * n), move || {
        let (a, b) = (random(&[n, n])?.to_dtype(dtype)?, random(&[n, n])?.to_dtype(dtype)?);
        Ok(Box::new(move || a.matmul(&b)))
    })
}

/// Two layers, 784-512-10, on batches of 128: forward, loss, backward, and a step of gradient descent.
fn training_step() -> Result<Box<dyn FnMut() -> Result<()>>> {
    let parameter = |shape: &[usize]| Var::from_tensor(&random(shape)?.affine(0.05, 0.0)?);
    let parameters = [parameter(&[512, 784])?, parameter(&[512])?, parameter(&[10, 512])?, parameter(&[10])?];
    let images = random(&[128, 784])?;
    let labels = Tensor::from_vec((0..128).map(|i| i % 10).collect::<Vec<u32>>(), 128, CPU)?;
    Ok(Box::new(move || {
        let [w1, b1, w2, b2] = &parameters;
        let hidden = images.matmul(&w1.t()?)?.broadcast_add(b1)?.relu()?;
        let scores = hidden.matmul(&w2.t()?)?.broadcast_add(b2)?;
        let grads = cross_entropy(&scores, &labels)?.backward()?;
        for p in &parameters {
            if let Some(grad) = grads.get(p) {
                p.set(&p.as_detached_tensor().sub(&grad.affine(0.01, 0.0)?)?)?;
            }
        }
        Ok(())
    }))
}

/// The cases, in the order of the table.
pub fn cases() -> Vec<Case> {
    let copy = Work::Copy(2 * COUNT * F32);
    let read = Work::Read(COUNT * F32);
    let flops = |n: usize| Work::Flops(n);
    let mut cases = vec![
        pair("add, 4 elements", Work::Call, &[4], &[4], |a, b| a.add(b)),
        pair("add", Work::Copy(3 * COUNT * F32), &[COUNT], &[COUNT], |a, b| a.add(b)),
        pair(
            "broadcast_add (32,630,12,32)+(32,1,1,32)",
            Work::Copy(2 * 32 * 630 * 12 * 32 * F32),
            &[32, 630, 12, 32],
            &[32, 1, 1, 32],
            |a, b| a.broadcast_add(b),
        ),
        of_matrix("relu", copy, Tensor::relu),
        of_matrix("exp", copy, Tensor::exp),
        of_matrix("tanh", copy, Tensor::tanh),
        of_matrix("gelu", copy, Tensor::gelu),
        of_matrix("gelu_erf", copy, Tensor::gelu_erf),
        of_matrix("softmax, last dim", copy, softmax_last_dim),
        of_matrix("softmax, dim 0", copy, |x| softmax(x, 0)),
        of_matrix("sum, all", read, Tensor::sum_all),
        of_matrix("sum, dim 0", read, |x| x.sum(0)),
        of_matrix("sum, dim 1", read, |x| x.sum(1)),
        case("sum, dim 1 of 3", read, || {
            let x = random(&[64, 512, 256])?;
            Ok(Box::new(move || x.sum(1)))
        }),
        of_matrix("max, last dim", read, |x| x.max(D::Minus1)),
        of_matrix("argmax, last dim", read, |x| x.argmax(D::Minus1)),
        of_matrix("transpose copy", copy, |x| x.t()?.contiguous()),
        of_matrix("cast f32 to bf16", Work::Copy(COUNT * 6), |x| x.to_dtype(DType::BF16)),
        case("cast bf16 to f32", Work::Copy(COUNT * 6), || {
            let x = matrix()?.to_dtype(DType::BF16)?;
            Ok(Box::new(move || x.to_dtype(DType::F32)))
        }),
        case("index_select, rows", copy, || {
            let x = matrix()?;
            let ids: Vec<u32> = (0..MATRIX.0 as u32).map(|i| i * 797 % MATRIX.0 as u32).collect();
            let ids = Tensor::from_vec(ids, MATRIX.0, CPU)?;
            Ok(Box::new(move || x.index_select(&ids, 0)))
        }),
        case("layer_norm", copy, || {
            let (x, w, b) = (matrix()?, random(&[MATRIX.1])?, random(&[MATRIX.1])?);
            Ok(Box::new(move || layer_norm(&x, &w, &b)))
        }),
    ];
    cases.extend([64, 128, 256, 512, 1024, 2048].map(|n| matmul(DType::F32, n)));
    cases.extend([256, 1024].map(|n| matmul(DType::BF16, n)));
    // Three products of the forward pass's first layer, and two of the second's, in all.
    let products = 2 * 128 * 512 * (2 * 784 + 3 * 10);
    cases.push(case("training step, 784-512-10", flops(products), training_step));
    cases
}
