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

/// How many products the host's cuBLAS has made, and its cuBLASLt, which end with a bias; none on a GPU.
fn made() -> Option<[i32; 2]> {
    let alone = host_driver::counted("libcublas.so.13", "opforge_host_products")?;
    Some([alone, host_driver::counted("libcublasLt.so.13", "opforge_host_epilogues")?])
}

/// What computes a product.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Blas,
    /// cuBLASLt; of f64 cuBLAS, which adds to a bias.
    BlasLt,
    OurOwn,
}

impl By {
    /// How many calls of cuBLAS and cuBLASLt that is.
    fn calls(self, dtype: DType) -> [i32; 2] {
        match self {
            By::BlasLt if dtype != DType::F64 => [0, 1],
            By::OurOwn => [0, 0],
            _ => [1, 0],
        }
    }
}

type Case = (&'static str, By, fn(DType, &Device) -> Result<Tensor>);

const CASES: [Case; 15] = [
    ("a matrix", By::Blas, |t, d| numbers(&[40, 33], t, d)?.matmul(&numbers(&[33, 45], t, d)?)),
    ("transposed left", By::Blas, |t, d| numbers(&[33, 40], t, d)?.t()?.matmul(&numbers(&[33, 45], t, d)?)),
    ("transposed right", By::Blas, |t, d| numbers(&[40, 33], t, d)?.matmul(&numbers(&[45, 33], t, d)?.t()?)),
    ("both transposed", By::Blas, |t, d| numbers(&[33, 40], t, d)?.t()?.matmul(&numbers(&[45, 33], t, d)?.t()?)),
    ("parts of matrices", By::Blas, |t, d| {
        let (a, b) = (numbers(&[50, 60], t, d)?.narrow(0, 3, 40)?, numbers(&[60, 50], t, d)?.narrow(1, 2, 45)?);
        a.narrow(1, 5, 33)?.matmul(&b.narrow(0, 7, 33)?)
    }),
    ("a batch", By::Blas, |t, d| numbers(&[3, 2, 20, 30], t, d)?.matmul(&numbers(&[3, 2, 30, 21], t, d)?)),
    ("a batch by one matrix", By::Blas, |t, d| {
        numbers(&[3, 2, 20, 30], t, d)?.broadcast_matmul(&numbers(&[30, 21], t, d)?)
    }),
    ("a transposed batch by one", By::Blas, |t, d| {
        numbers(&[6, 30, 20], t, d)?.transpose(D::Minus1, D::Minus2)?.broadcast_matmul(&numbers(&[30, 21], t, d)?)
    }),
    ("linear", By::BlasLt, |t, d| {
        f::linear(&numbers(&[5, 9, 40], t, d)?, &numbers(&[30, 40], t, d)?, Some(&numbers(&[30], t, d)?))
    }),
    ("linear of a row", By::BlasLt, |t, d| {
        f::linear(&numbers(&[400], t, d)?, &numbers(&[130, 400], t, d)?, Some(&numbers(&[130], t, d)?))
    }),
    ("linear of a transposed input and weight", By::BlasLt, |t, d| {
        let (x, w) = (numbers(&[40, 32], t, d)?.t()?, numbers(&[40, 30], t, d)?.t()?);
        f::linear(&x, &w, Some(&numbers(&[30], t, d)?))
    }),
    ("linear with a bias of gaps", By::Blas, |t, d| {
        let bias = numbers(&[30, 2], t, d)?.narrow(1, 0, 1)?.squeeze(1)?;
        f::linear(&numbers(&[40, 32], t, d)?, &numbers(&[30, 32], t, d)?, Some(&bias))
    }),
    ("linear with a bias that is not aligned", By::Blas, |t, d| {
        let bias = numbers(&[31], t, d)?.narrow(0, 1, 30)?;
        f::linear(&numbers(&[40, 32], t, d)?, &numbers(&[30, 32], t, d)?, Some(&bias))
    }),
    ("batches apart in two ways", By::OurOwn, |t, d| {
        numbers(&[2, 3, 20, 30], t, d)?.transpose(0, 1)?.matmul(&numbers(&[3, 2, 30, 21], t, d)?)
    }),
    ("a small one", By::OurOwn, |t, d| numbers(&[4, 3], t, d)?.matmul(&numbers(&[3, 5], t, d)?)),
];

#[test]
fn products_and_their_gradients_are_those_of_the_cpu() -> Result<()> {
    host_driver::install();
    let gpu = opforge_cuda::device(0)?;
    for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-12), (DType::F16, 2e-3), (DType::BF16, 2e-2)] {
        for (name, by, case) in CASES {
            let before = made();
            let got = case(dtype, &gpu)?;
            let (got, want) = (flat(&got)?, flat(&case(dtype, &Device::Cpu)?)?);
            if let (Some(before), Some(after)) = (before, made()) {
                assert_eq!([after[0] - before[0], after[1] - before[1]], by.calls(dtype), "{name} of {dtype:?}");
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
    gradients_are_those_of_the_cpu(&gpu)?;
    f32_is_computed_in_full_unless_tf32_is_allowed(&gpu)
}

fn f32_is_computed_in_full_unless_tf32_is_allowed(gpu: &Device) -> Result<()> {
    let products = |dtype, device: &Device| -> Result<[Vec<f64>; 2]> {
        let (x, w) = (numbers(&[40, 33], dtype, device)?, numbers(&[45, 33], dtype, device)?);
        Ok([flat(&x.matmul(&w.t()?)?)?, flat(&f::linear(&x, &w, Some(&numbers(&[45], dtype, device)?))?)?])
    };
    let want = products(DType::F64, &Device::Cpu)?;
    let far = || -> Result<[f64; 2]> {
        let got = products(DType::F32, gpu)?;
        Ok([0, 1].map(|i| got[i].iter().zip(&want[i]).fold(0f64, |far, (got, want)| far.max((got - want).abs()))))
    };
    assert!(!opforge_cuda::tf32_products() && far()?.iter().all(|&far| far < 1e-5));
    opforge_cuda::set_tf32_products(true)?;
    let reduced = far()?;
    opforge_cuda::set_tf32_products(false)?;
    // A GPU may have no units for TF32.
    assert!(reduced.iter().all(|&far| far < 2e-2 && (made().is_none() || far > 1e-5)), "{reduced:?}");
    assert!(far()?.iter().all(|&far| far < 1e-5));
    Ok(())
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
    let before = made();
    let got = gradients(gpu)?;
    if let (Some(before), Some(after)) = (before, made()) {
        assert_eq!(after[0] - before[0], 3, "a product and its two gradients");
    }
    for (got, want) in got.iter().flatten().zip(gradients(&Device::Cpu)?.iter().flatten()) {
        assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{got} is not {want}");
    }
    Ok(())
}
