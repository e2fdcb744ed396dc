//! Operators whose libraries have code of NVIDIA's GPUs: on tensors of a CUDA device they are given its addresses and its stream. The library is one for the
//! host driver's devices.

mod host_driver;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use opforge::{Device, Result, Tensor};
use opforge_custom::{CustomOp, Gradient, ShapeRule};

/// The library; none on a machine with a GPU, whose addresses it does not know.
fn library(folder: &Path) -> Option<String> {
    if Path::new("/proc/driver/nvidia/version").exists() {
        return None;
    }
    host_driver::install();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host_driver/square.cpp");
    let path = folder.join("libsquare.so");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opforge-custom/include");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O1", "-shared", "-fPIC", "-I"]).arg(headers).arg("-o").arg(&path).arg(source);
    assert!(compiler.status().expect("g++").success());
    Some(path.display().to_string())
}

#[test]
fn kernels_of_others_get_the_devices_memory_and_stream() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = library(folder.path()) else { return Ok(()) };
    let gpu = opforge_cuda::device(0)?;
    let square = CustomOp::load(&format!("{library}:Square"))?.with_schema("(Tensor x) -> Tensor")?;
    let square = square.shapes(ShapeRule::Like(0)).gradient(Gradient::Function(Arc::new(|context| {
        Ok(vec![Some((&context.grads[0] * &context.inputs[0])?.affine(2.0, 0.0)?)])
    })))?;

    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &gpu)?;
    let y = square.apply(&[&x])?;
    assert!(y.device().same_device(&gpu));
    assert_eq!(y.to_vec2::<f32>()?, [[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]);
    // Strided tensors are made contiguous there; calls before and after keep their order.
    let z = (square.apply(&[&(&x + 1.0)?.t()?])? * 2.0)?;
    assert_eq!(z.to_vec2::<f32>()?, [[8.0, 50.0], [18.0, 72.0], [32.0, 98.0]]);
    x.set_requires_grad(true)?;
    let gradients = square.apply(&[&x])?.sum_all()?.backward()?;
    assert_eq!(gradients.get(&x).expect("a gradient").to_vec2::<f32>()?, [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]);

    let increase = CustomOp::load(&format!("{library}:Increase"))?
        .with_schema("(Tensor(a!) x) -> Tensor(a!)")?
        .shapes(ShapeRule::Like(0));
    let w = Tensor::new(&[1f32, 2.0], &gpu)?;
    increase.apply(&[&w])?;
    assert_eq!(w.to_vec1::<f32>()?, [2.0, 3.0]);
    let strided = Tensor::zeros((2, 2), opforge::DType::F32, &gpu)?.t()?.narrow(0, 0, 1)?;
    let error = increase.apply(&[&strided]).expect_err("strided").to_string();
    assert!(error.contains("contiguous tensors to be changed on a GPU"), "{error}");

    let host = Tensor::new(&[1f32], &Device::Cpu)?;
    let error = square.apply(&[&host]).expect_err("on the CPU").to_string();
    assert!(error.contains("is made for NVIDIA GPUs, and tensors on the CPU were given"), "{error}");
    let fails =
        CustomOp::load(&format!("{library}:Fails"))?.with_schema("(Tensor x) -> Tensor")?.shapes(ShapeRule::Like(0));
    let error = fails.apply(&[&x.detach()]).and_then(|y| y.to_vec2::<f32>()).expect_err("it fails").to_string();
    assert!(error.contains("Fails returned error code 7"), "{error}");

    // What fails later names who issued work.
    square.apply(&[&x.detach()])?;
    // SAFETY: the host driver's own threads do not read the environment, and this test is the process's only one.
    unsafe { std::env::set_var("OPFORGE_HOST_DRIVER_FAILS", "1") };
    let error = (&w + 1.0)?.to_vec1::<f32>().expect_err("a kernel that fails").to_string();
    assert!(error.contains("illegal memory access") && error.contains("Square"), "{error}");
    Ok(())
}
