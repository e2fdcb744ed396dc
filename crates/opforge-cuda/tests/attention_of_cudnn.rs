//! Attention by cuDNN's graphs, and its gradients, as the CPU has them.

mod host_driver;

#[path = "attention/cases.rs"]
mod cases;

use std::sync::{Mutex, PoisonError};

use cases::{CASES, flat, numbers};
use opforge::{DType, Device, Result, Tensor, functional as f};

/// Held while a test counts, or does what is counted.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How many graphs of several operations the host's cuDNN has run; none on a GPU.
fn graphs() -> Option<i32> {
    host_driver::counted("libcudnn.so.9", "opforge_host_graphs_of_several")
}

#[test]
fn attention_and_its_gradients_are_those_of_the_cpu() -> Result<()> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    host_driver::install();
    opforge_cuda::set_least_attention_of_cudnn(0);
    let gpu = opforge_cuda::device(0)?;
    for (dtype, tolerance) in [(DType::BF16, 2e-2), (DType::F16, 3e-3)] {
        for case in CASES {
            let before = graphs();
            let got = case.run(dtype, &gpu)?;
            if let (Some(before), Some(after)) = (before, graphs()) {
                // The forward pass, and for the gradients once more and their own.
                assert_eq!(after - before, if case.is_flash { 3 } else { 0 }, "{} of {dtype:?}", case.name);
            }
            case.compare(&got, dtype, tolerance)?;
        }
    }
    Ok(())
}

#[test]
fn what_is_not_finite_spreads_and_scales_may_be_negative() -> Result<()> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    host_driver::install();
    opforge_cuda::set_least_attention_of_cudnn(0);
    let gpu = opforge_cuda::device(0)?;
    for (causal, scale) in [(false, 0.3), (true, 0.3), (true, -0.4)] {
        let run = |device: &Device| -> Result<Vec<f64>> {
            let mut values = vec![0.5f32; 48 * 32];
            (values[5 * 32], values[7 * 32 + 1]) = (f32::NAN, f32::INFINITY);
            let q = Tensor::from_vec(values, (1, 1, 48, 32), &Device::Cpu)?.to_dtype(DType::BF16)?.to_device(device)?;
            let [k, v] = [1, 2].map(|_| numbers(&[1, 1, 48, 32], DType::BF16, device));
            flat(&f::scaled_dot_product_attention(&q, &k?, &v?, None, 0.0, causal, Some(scale), false)?)
        };
        for (i, (got, want)) in run(&gpu)?.into_iter().zip(run(&Device::Cpu)?).enumerate() {
            let is_same = got.is_nan() && want.is_nan() || (got - want).abs() <= 2e-2;
            assert!(is_same, "causal {causal}, scale {scale}, element {i}: {got} is not {want}");
        }
    }
    Ok(())
}
