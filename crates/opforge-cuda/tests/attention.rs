//! Attention as the CPU has it: in one kernel, by products of cuBLAS, and by what is written where neither takes it.

mod host_driver;

use opforge::{DType, Device, Result, Tensor, functional as f};

fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919 + shape[0] * 31 + 13) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

fn flat(t: &Tensor) -> Result<Vec<f64>> {
    t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// Lets each query see some keys, and the second none.
fn mask(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let [n, m] = [shape[shape.len() - 2], shape[shape.len() - 1]];
    let seen = |i: usize| u8::from(i / m % n != 1 && (2 * (i / m) + i % m) % 3 != 1);
    let values: Vec<u8> = (0..shape.iter().product()).map(seen).collect();
    let seen = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(DType::Bool)?;
    let added = Tensor::full(0.25f32, shape, &Device::Cpu)?;
    let mask =
        if dtype == DType::Bool { seen } else { f::where_cond(&seen, (&added).into(), f64::NEG_INFINITY.into())? };
    mask.to_device(device)
}

/// A call of attention.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    q: &'static [usize],
    k: &'static [usize],
    /// The columns of values.
    size: usize,
    causal: bool,
    mask: Option<(&'static [usize], DType)>,
    /// How tensors of contiguous elements become the arguments.
    view: fn(&Tensor) -> Result<Tensor>,
    /// Whether scores of halves stay in registers.
    is_flash: bool,
}

const PLAIN: Case = Case {
    name: "plain",
    q: &[2, 3, 20, 16],
    k: &[2, 3, 37, 16],
    size: 24,
    causal: false,
    mask: None,
    view: |t| Ok(t.clone()),
    is_flash: true,
};

fn heads_inside(t: &Tensor) -> Result<Tensor> {
    t.transpose(1, 2)?.contiguous()?.transpose(1, 2)
}

fn without_first(t: &Tensor) -> Result<Tensor> {
    let padded = Tensor::cat(&[&t.narrow(3, 0, 1)?, t], 3)?;
    padded.narrow(3, 1, t.dims()[3])
}

const CASES: [Case; 14] = [
    PLAIN,
    Case { name: "causal", causal: true, ..PLAIN },
    Case {
        name: "causal, more queries than keys",
        q: &[1, 2, 150, 64],
        k: &[1, 2, 70, 64],
        size: 64,
        causal: true,
        ..PLAIN
    },
    Case { name: "two tiles of rows and three of keys", q: &[1, 1, 131, 64], k: &[1, 1, 140, 64], size: 64, ..PLAIN },
    Case { name: "wide", q: &[1, 2, 40, 128], k: &[1, 1, 70, 128], size: 80, causal: true, ..PLAIN },
    Case { name: "keys that nothing sees", q: &[1, 2, 70, 32], k: &[1, 1, 150, 32], size: 64, causal: true, ..PLAIN },
    Case { name: "heads in common", q: &[2, 4, 20, 32], k: &[2, 2, 40, 32], size: 16, ..PLAIN },
    Case { name: "heads inside", q: &[2, 4, 20, 32], k: &[2, 2, 40, 32], size: 16, view: heads_inside, ..PLAIN },
    Case { name: "a head's matrix", q: &[40, 32], k: &[40, 32], size: 32, causal: true, ..PLAIN },
    Case { name: "a mask", mask: Some((&[20, 37], DType::Bool)), is_flash: false, ..PLAIN },
    Case { name: "a mask that is added", mask: Some((&[2, 1, 20, 37], DType::F32)), is_flash: false, ..PLAIN },
    Case { name: "few queries, heads in common", q: &[2, 4, 1, 32], k: &[2, 2, 500, 32], is_flash: false, ..PLAIN },
    Case { name: "rows that begin anywhere", view: without_first, is_flash: false, ..PLAIN },
    Case { name: "odd widths", q: &[2, 3, 20, 15], k: &[2, 3, 37, 15], size: 7, is_flash: false, ..PLAIN },
];

impl Case {
    /// The result, and the gradients of queries, keys and values.
    fn run(&self, dtype: DType, device: &Device) -> Result<Vec<Vec<f64>>> {
        let values = [&self.k[..self.k.len() - 1], &[self.size]].concat();
        let leaves =
            [numbers(self.q, dtype, device)?, numbers(self.k, dtype, device)?, numbers(&values, dtype, device)?];
        leaves.iter().try_for_each(|leaf| leaf.set_requires_grad(true))?;
        let mask = self
            .mask
            .map(|(shape, kind)| mask(shape, kind, device)?.to_dtype(if kind == DType::Bool { kind } else { dtype }));
        let [q, k, v] = [(self.view)(&leaves[0])?, (self.view)(&leaves[1])?, (self.view)(&leaves[2])?];
        let y = f::scaled_dot_product_attention(&q, &k, &v, mask.transpose()?.as_ref(), 0.0, self.causal, None, true)?;
        let mut results = vec![flat(&y)?];
        let found = y.mul(&numbers(y.dims(), dtype, device)?)?.sum_all()?.backward()?;
        results
            .extend(leaves.iter().map(|leaf| flat(found.get(leaf).expect("a gradient"))).collect::<Result<Vec<_>>>()?);
        Ok(results)
    }
}

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
            let want = case.run(dtype, &Device::Cpu)?;
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let size = want.iter().fold(0f64, |size, x| size.max(x.abs()));
                assert_eq!(got.len(), want.len());
                let far =
                    got.iter().zip(want).position(|(got, want)| got.is_nan() || (got - want).abs() > tolerance * size);
                assert!(
                    far.is_none(),
                    "{} of {dtype:?}, result {i}: {:?}",
                    case.name,
                    far.map(|j| (j, got[j], want[j]))
                );
            }
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
