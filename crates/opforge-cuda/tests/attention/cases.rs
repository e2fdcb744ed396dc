//! Calls of attention, and their results with gradients.

use opforge::{DType, Device, Result, Tensor, functional as f};

pub fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919 + shape[0] * 31 + 13) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

pub fn flat(t: &Tensor) -> Result<Vec<f64>> {
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
pub struct Case {
    pub name: &'static str,
    q: &'static [usize],
    k: &'static [usize],
    /// The columns of values.
    size: usize,
    causal: bool,
    mask: Option<(&'static [usize], DType)>,
    /// How tensors of contiguous elements become the arguments.
    view: fn(&Tensor) -> Result<Tensor>,
    /// Whether scores of halves stay in registers.
    pub is_flash: bool,
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

pub const CASES: [Case; 14] = [
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
    pub fn run(&self, dtype: DType, device: &Device) -> Result<Vec<Vec<f64>>> {
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

    /// Whether these results are the CPU's.
    pub fn compare(&self, got: &[Vec<f64>], dtype: DType, tolerance: f64) -> Result<()> {
        let want = self.run(dtype, &Device::Cpu)?;
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let size = want.iter().fold(0f64, |size, x| size.max(x.abs()));
            assert_eq!(got.len(), want.len());
            let is_far = |(got, want): (&f64, &f64)| got.is_nan() || (got - want).abs() > tolerance * size;
            let far = got.iter().zip(want).position(is_far);
            assert!(far.is_none(), "{} of {dtype:?}, result {i}: {:?}", self.name, far.map(|j| (j, got[j], want[j])));
        }
        Ok(())
    }
}
