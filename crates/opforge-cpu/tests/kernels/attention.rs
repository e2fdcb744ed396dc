//! Few queries of many keys, and halves, against the definition in f64.

use opforge_core::{DType, Layout, Meta, Result, Scalar};
use opforge_cpu::attention::{Attention, attention};
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, noise, run};

/// Heads of queries, how many of them share keys, queries, keys, and the lengths of a key and of a value.
#[derive(Debug, Clone, Copy)]
struct Case {
    heads: usize,
    group: usize,
    queries: usize,
    keys: usize,
    width: usize,
    size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Masked {
    No,
    Truth,
    Added,
}

const SCALE: f64 = 0.02;

impl Case {
    fn mask(&self, masked: Masked) -> Option<Array> {
        let dims = [self.heads, self.queries, self.keys];
        // Some rows see nothing, and few see much of the first 520 keys.
        let (keys, hidden_rows) = (self.keys, [1, 4]);
        let hidden =
            move |i: usize| hidden_rows.contains(&(i / keys)) || i % keys < 520 && !(i / keys).is_multiple_of(3);
        match masked {
            Masked::No => None,
            Masked::Truth => Some(Array::contiguous(DType::Bool, &dims, |i| if hidden(i) { 0.0 } else { 1.0 })),
            Masked::Added => {
                Some(Array::contiguous(DType::F32, &dims, |i| if hidden(i) { f64::NEG_INFINITY } else { noise(i) }))
            }
        }
    }

    fn reference(&self, [q, k, v]: [&[f64]; 3], mask: Option<&Array>, causal: bool) -> Vec<f64> {
        let mask_values = mask.map(Array::values);
        let is_truth = mask.is_some_and(|mask| mask.meta.dtype == DType::Bool);
        let mut result = Vec::new();
        for row in 0..self.heads * self.queries {
            let shared = row / self.queries / self.group * self.keys;
            let scores: Vec<f64> = (0..self.keys)
                .map(|key| {
                    let of = |i: usize| q[row * self.width + i] * k[(shared + key) * self.width + i];
                    let score = SCALE * (0..self.width).map(of).sum::<f64>();
                    match mask_values.as_ref().map(|mask| mask[row * self.keys + key]) {
                        None if causal && key > row % self.queries => f64::NEG_INFINITY,
                        None => score,
                        Some(seen) if is_truth => {
                            if seen != 0.0 {
                                score
                            } else {
                                f64::NEG_INFINITY
                            }
                        }
                        Some(added) => score + added,
                    }
                })
                .collect();
            let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for j in 0..self.size {
                let value = |(key, weight): (usize, &f64)| weight * v[(shared + key) * self.size + j];
                let total: f64 = weights.iter().enumerate().map(value).sum();
                result.push(if greatest == f64::NEG_INFINITY { 0.0 } else { total / sum });
            }
        }
        result
    }

    /// Compares at every level of instructions; keys and values are the first of longer rows of memory, as in a cache of them, if `apart`.
    fn check(&self, dtype: DType, masked: Masked, apart: bool) -> Result<()> {
        self.check_at(dtype, masked, apart, false)
    }

    fn check_at(&self, dtype: DType, masked: Masked, apart: bool, causal: bool) -> Result<()> {
        let shared = self.heads / self.group;
        let rows = |count: usize, length: usize, salt: usize| {
            let capacity = if apart { 2 * count + 1 } else { count };
            let strides = [capacity * length, length, 1].into_iter().collect();
            let layout = Layout::new((shared, count, length).into(), strides, 0, "test")?;
            Ok::<_, opforge_core::Error>(Array::new(dtype, layout, |i| noise(i + salt)))
        };
        let q = Array::contiguous(dtype, &[self.heads, self.queries, self.width], |i| noise(i + 7));
        let (k, v) = (rows(self.keys, self.width, 1000)?, rows(self.keys, self.size, 5000)?);
        let mask = self.mask(masked);
        let values = [&q, &k, &v].map(Array::values);
        let want = self.reference([&values[0], &values[1], &values[2]], mask.as_ref(), causal);
        let output = Meta::contiguous(dtype, &[self.heads, self.queries, self.size]);
        let how = Attention { scale: Scalar::Float(SCALE), causal, gradient: false };
        for isa in Isa::supported() {
            let got = with_isa(isa, || {
                let metas = [&q.meta, &k.meta, &v.meta];
                let kernel = attention("attention", how, metas, mask.as_ref().map(|mask| &mask.meta), &output)?;
                let inputs: Vec<&Array> = [&q, &k, &v].into_iter().chain(&mask).collect();
                Ok::<_, opforge_core::Error>(run(&*kernel, &inputs, std::slice::from_ref(&output))[0].values())
            })?;
            let within = match dtype {
                DType::BF16 => 1.0 / 32.0,
                DType::F16 => 1.0 / 256.0,
                DType::F32 => 1e-5,
                _ => 1e-13,
            };
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                assert!((got - want).abs() < within, "{self:?} {dtype} {masked:?} {isa:?} at {i}: {got}, not {want}");
            }
        }
        Ok(())
    }
}

#[test]
fn few_queries_of_many_keys() -> Result<()> {
    let cases = [
        Case { heads: 2, group: 1, queries: 1, keys: 128, width: 64, size: 64 },
        Case { heads: 3, group: 1, queries: 2, keys: 700, width: 17, size: 33 },
        Case { heads: 6, group: 3, queries: 1, keys: 1025, width: 8, size: 200 },
        Case { heads: 4, group: 2, queries: 3, keys: 513, width: 40, size: 5 },
        Case { heads: 1, group: 1, queries: 8, keys: 530, width: 1, size: 130 },
    ];
    for case in cases {
        for (masked, apart) in [(Masked::No, true), (Masked::Truth, false), (Masked::Added, true)] {
            case.check(DType::F32, masked, apart)?;
        }
        case.check(DType::F64, Masked::Truth, true)?;
    }
    Ok(())
}

#[test]
fn halves_of_any_lengths() -> Result<()> {
    let cases = [
        Case { heads: 2, group: 1, queries: 1, keys: 128, width: 64, size: 64 },
        Case { heads: 3, group: 1, queries: 70, keys: 70, width: 17, size: 33 },
        Case { heads: 2, group: 2, queries: 5, keys: 3, width: 3, size: 2 },
        Case { heads: 4, group: 2, queries: 33, keys: 413, width: 40, size: 205 },
        Case { heads: 1, group: 1, queries: 100, keys: 195, width: 1, size: 31 },
    ];
    for (case, dtype) in cases.iter().flat_map(|case| [DType::F16, DType::BF16].map(|dtype| (case, dtype))) {
        for (masked, causal) in
            [(Masked::No, false), (Masked::No, true), (Masked::Truth, false), (Masked::Added, false)]
        {
            case.check_at(dtype, masked, masked == Masked::Added, causal)?;
        }
    }
    Ok(())
}

/// Where later keys are hidden, what is not finite among their values does not reach queries of other strips.
#[test]
fn values_of_hidden_keys_stay_theirs() -> Result<()> {
    let (keys, size) = (150, 40);
    for (dtype, isa) in
        [DType::F16, DType::BF16, DType::F32].into_iter().flat_map(|d| Isa::supported().map(move |isa| (d, isa)))
    {
        let [q, k] = [7, 1000].map(|salt| Array::contiguous(dtype, &[1, keys, 8], move |i| noise(i + salt)));
        let v = Array::contiguous(dtype, &[1, keys, size], |i| if i / size == 140 { f64::NAN } else { noise(i) });
        let output = Meta::contiguous(dtype, &[1, keys, size]);
        let how = Attention { scale: Scalar::Float(SCALE), causal: true, gradient: false };
        let got = with_isa(isa, || {
            let kernel = attention("attention", how, [&q.meta, &k.meta, &v.meta], None, &output)?;
            Ok::<_, opforge_core::Error>(run(&*kernel, &[&q, &k, &v], std::slice::from_ref(&output))[0].values())
        })?;
        assert!(got[..96 * size].iter().all(|y| y.is_finite()), "{dtype} {isa:?}");
        assert!(got[140 * size..].iter().all(|y| y.is_nan()), "{dtype} {isa:?}");
    }
    Ok(())
}
