//! Products of matrices by cuBLAS, as the CPU has them: of all layouts that it takes, and of those that it does not.

mod host_driver;

use opforge::{D, DType, Device, Result, Tensor, functional as f};

fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919 + 13) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

fn flat(t: &Tensor) -> Result<Vec<f64>> {
    t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// How many products the host's cuBLAS has made; none on a GPU.
fn made() -> Option<i32> {
    let path = host_driver::folder().join("libcublas.so.13");
    if std::path::Path::new("/proc/driver/nvidia/version").exists() {
        return None;
    }
    // SAFETY: the library has this function, which is open already.
    unsafe {
        let library = libloading::Library::new(path).expect("the library");
        let count: libloading::Symbol<'_, unsafe extern "C" fn() -> i32> =
            library.get(b"opforge_host_products").expect("a function");
        Some(count())
    }
}

type Case = (&'static str, bool, fn(DType, &Device) -> Result<Tensor>);

const CASES: [Case; 12] = [
    ("a matrix", true, |t, d| numbers(&[40, 33], t, d)?.matmul(&numbers(&[33, 45], t, d)?)),
    ("transposed left", true, |t, d| numbers(&[33, 40], t, d)?.t()?.matmul(&numbers(&[33, 45], t, d)?)),
    ("transposed right", true, |t, d| numbers(&[40, 33], t, d)?.matmul(&numbers(&[45, 33], t, d)?.t()?)),
    ("both transposed", true, |t, d| numbers(&[33, 40], t, d)?.t()?.matmul(&numbers(&[45, 33], t, d)?.t()?)),
    ("parts of matrices", true, |t, d| {
        let (a, b) = (numbers(&[50, 60], t, d)?.narrow(0, 3, 40)?, numbers(&[60, 50], t, d)?.narrow(1, 2, 45)?);
        a.narrow(1, 5, 33)?.matmul(&b.narrow(0, 7, 33)?)
    }),
    ("a batch", true, |t, d| numbers(&[3, 2, 20, 30], t, d)?.matmul(&numbers(&[3, 2, 30, 21], t, d)?)),
    ("a batch by one matrix", true, |t, d| {
        numbers(&[3, 2, 20, 30], t, d)?.broadcast_matmul(&numbers(&[30, 21], t, d)?)
    }),
    ("a transposed batch by one", true, |t, d| {
        numbers(&[6, 30, 20], t, d)?.transpose(D::Minus1, D::Minus2)?.broadcast_matmul(&numbers(&[30, 21], t, d)?)
    }),
    ("linear", true, |t, d| {
        f::linear(&numbers(&[5, 9, 40], t, d)?, &numbers(&[30, 40], t, d)?, Some(&numbers(&[30], t, d)?))
    }),
    ("linear of a row", true, |t, d| {
        f::linear(&numbers(&[400], t, d)?, &numbers(&[130, 400], t, d)?, Some(&numbers(&[130], t, d)?))
    }),
    ("batches apart in two ways", false, |t, d| {
        numbers(&[2, 3, 20, 30], t, d)?.transpose(0, 1)?.matmul(&numbers(&[3, 2, 30, 21], t, d)?)
    }),
    ("a small one", false, |t, d| numbers(&[4, 3], t, d)?.matmul(&numbers(&[3, 5], t, d)?)),
];

#[test]
fn products_and_their_gradients_are_those_of_the_cpu() -> Result<()> {
    host_driver::install();
    let gpu = opforge_cuda::device(0)?;
    for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-12), (DType::F16, 2e-3), (DType::BF16, 2e-2)] {
        for (name, by_library, case) in CASES {
            let before = made();
            let got = case(dtype, &gpu)?;
            let (got, want) = (flat(&got)?, flat(&case(dtype, &Device::Cpu)?)?);
            if let (Some(before), Some(after)) = (before, made()) {
                assert_eq!(after - before, i32::from(by_library), "{name}");
            }
            let size = want.iter().fold(0f64, |size, x| size.max(x.abs()));
            assert_eq!(got.len(), want.len());
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() <= tolerance * size, "{name} of {dtype:?}: {got} is not {want}");
            }
        }
    }
    // Integers have kernels of their own.
    let integers =
        |device: &Device| numbers(&[40, 33], DType::I64, device)?.matmul(&numbers(&[33, 45], DType::I64, device)?);
    assert_eq!(flat(&integers(&gpu)?)?, flat(&integers(&Device::Cpu)?)?);
    gradients_are_those_of_the_cpu(&gpu)
}

fn gradients_are_those_of_the_cpu(gpu: &Device) -> Result<()> {
    let gradients = |device: &Device| -> Result<Vec<Vec<f64>>> {
        let leaves = [
            numbers(&[6, 20, 32], DType::F64, device)?,
            numbers(&[40, 32], DType::F64, device)?,
            numbers(&[40], DType::F64, device)?,
        ];
        leaves.iter().try_for_each(|leaf| leaf.set_requires_grad(true))?;
        let y = f::linear(&leaves[0], &leaves[1], Some(&leaves[2]))?.sqr()?.sum_all()?;
        let found = y.backward()?;
        leaves.iter().map(|leaf| flat(found.get(leaf).expect("a gradient"))).collect()
    };
    for (got, want) in gradients(gpu)?.iter().flatten().zip(gradients(&Device::Cpu)?.iter().flatten()) {
        assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{got} is not {want}");
    }
    Ok(())
}
