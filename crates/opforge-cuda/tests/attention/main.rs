//! Attention as the CPU has it: in one kernel, by products of cuBLAS, and by what is written where neither takes it.

#[path = "../host_driver/mod.rs"]
mod host_driver;

mod cases;

use cases::{CASES, flat, numbers};
use opforge::{DType, Device, Result, Tensor, functional as f};

#[test]
fn attention_and_its_gradients_are_those_of_the_cpu() -> Result<()> {
    host_driver::install();
    opforge_cuda::set_fallback(false);
    let gpu = opforge_cuda::device(0)?;
    let all = std::env::var("OPFORGE_CUDA_SAMPLES").is_ok_and(|text| text == "all");
    let dtypes = [(DType::F32, 1e-5), (DType::BF16, 2e-2), (DType::F64, 1e-12), (DType::F16, 3e-3)];
    for (dtype, tolerance) in dtypes.into_iter().take(if all { 4 } else { 2 }) {
        for case in CASES {
            let before = host_driver::products();
            let got = case.run(dtype, &gpu)?;
            if let (Some(before), Some(after)) = (before, host_driver::products()) {
                let is_flash = case.is_flash && matches!(dtype, DType::F16 | DType::BF16);
                assert_eq!(after == before, is_flash, "{} of {dtype:?}: {} products", case.name, after - before);
            }
            case.compare(&got, dtype, tolerance)?;
        }
    }
    Ok(())
}

#[test]
fn what_is_not_finite_spreads_as_on_the_cpu() -> Result<()> {
    host_driver::install();
    let gpu = opforge_cuda::device(0)?;
    for (dtype, causal) in [DType::F32, DType::F16].into_iter().flat_map(|dtype| [(dtype, false), (dtype, true)]) {
        let run = |device: &Device| -> Result<Vec<f64>> {
            let mut values = vec![0.5f32; 48 * 32];
            (values[5 * 32], values[7 * 32 + 1], values[9 * 32 + 2]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
            let q = Tensor::from_vec(values, (48, 32), &Device::Cpu)?.to_dtype(dtype)?.to_device(device)?;
            let [k, v] = [numbers(&[48, 32], dtype, device)?, numbers(&[48, 32], dtype, device)?];
            flat(&f::scaled_dot_product_attention(&q, &k, &v, None, 0.0, causal, None, false)?)
        };
        for (i, (got, want)) in run(&gpu)?.into_iter().zip(run(&Device::Cpu)?).enumerate() {
            let is_same = got.is_nan() && want.is_nan() || (got - want).abs() <= 3e-3;
            assert!(is_same, "{dtype:?}, element {i}: {got} is not {want}");
        }
    }
    Ok(())
}
