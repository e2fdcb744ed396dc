//! What has no kernel on a CUDA device is computed on the CPU, in tensors of the device.

mod host_driver;

use opforge::{Device, ErrorKind, Result, Tensor, functional as f};

fn on(device: &Device) -> Result<Tensor> {
    Tensor::new(&[[4f32, 1.0], [1.0, 3.0]], &Device::Cpu)?.to_device(device)
}

#[test]
fn what_has_no_kernel_is_computed_on_the_cpu() -> Result<()> {
    host_driver::install();
    let gpu = opforge_cuda::device(0)?;
    let results = [&Device::Cpu, &gpu].map(|device| -> Result<[Vec<f32>; 3]> {
        let x = on(device)?;
        x.set_requires_grad(true)?;
        let factor = f::cholesky(&x, false)?;
        assert!(factor.device().same_device(device));
        let gradient = opforge::autograd::grad(&[(factor.sum_all()?, None)], &[&x], Default::default())?;
        let gradient = gradient.into_iter().flatten().next().expect("a gradient");
        // Written in place: a part of a storage, whose other elements stay.
        let whole = Tensor::zeros((2, 2), opforge::DType::F32, device)?;
        whole.narrow(0, 1, 1)?.copy_from(&factor.narrow(0, 1, 1)?)?;
        let flat = |t: &Tensor| t.detach().flatten_all()?.to_vec1::<f32>();
        Ok([flat(&factor)?, flat(&gradient)?, flat(&whole)?])
    });
    let [cpu, gpu_s] = results;
    assert_eq!(cpu?, gpu_s?);
    opforge_cuda::set_fallback(false);
    // Another shape, whose kernel nobody has made yet.
    let refused = f::cholesky(&Tensor::zeros((3, 3), opforge::DType::F32, &gpu)?, false);
    assert_eq!(refused.map_err(|error| error.root().kind()).err(), Some(ErrorKind::Device));
    Ok(())
}
