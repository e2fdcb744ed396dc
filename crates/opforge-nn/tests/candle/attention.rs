//! Attention under the names of candle's kernels, against attention written out.

use candle::{DType, Device, Result, Tensor};
use candle_nn::attention::cpu_flash::causal::{causal_decode_f32_interleaved, run_causal_attn_cpu};
use candle_nn::attention::cpu_flash::standard::run_flash_attn_cpu;
use candle_nn::attention::{AttnMask, flash_attn, flash_attn_varlen_cpu, flash_attn_varlen_unfused};
use candle_nn::kv_cache::{InterleavedKvCache, RawInterleavedKvCache, rope_i_inplace};
use opforge as candle;
use opforge_nn as candle_nn;

const CPU: &Device = &Device::Cpu;

/// Numbers that look random, of `[length, heads, width]`.
struct Numbers {
    dims: [usize; 3],
    seed: usize,
}

impl Numbers {
    fn at(&self, i: usize, head: usize, d: usize) -> f64 {
        let [_, heads, width] = self.dims;
        let n = ((i * heads + head) * width + d) * 7919 + self.seed * 104_729;
        ((n * n / 7 + n) % 1009) as f64 / 504.5 - 1.0
    }

    fn tensor(&self) -> Result<Tensor> {
        let [length, heads, width] = self.dims;
        let places = (0..length).flat_map(|i| (0..heads).flat_map(move |h| (0..width).map(move |d| (i, h, d))));
        Tensor::from_iter(places.map(|(i, h, d)| self.at(i, h, d) as f32), CPU)?.reshape((length, heads, width))
    }
}

fn numbers(dims: [usize; 3], seed: usize) -> Numbers {
    Numbers { dims, seed }
}

/// Attention of a query and a head, where `bias` says what is added to the score of a key, if it is seen.
fn attention(
    [q, k, v]: [&Numbers; 3],
    (query, head): (usize, usize),
    scale: f64,
    cap: Option<f64>,
    bias: &dyn Fn(usize, usize, usize) -> Option<f64>,
) -> Vec<f64> {
    let [keys, kv_heads, width] = k.dims;
    let shared = head / (q.dims[1] / kv_heads);
    let weight = |key: usize| {
        let bias = bias(query, key, head)?;
        let score = (0..width).map(|d| q.at(query, head, d) * k.at(key, shared, d)).sum::<f64>() * scale;
        Some((cap.map_or(score, |cap| cap * (score / cap).tanh()) + bias).exp())
    };
    let weights: Vec<f64> = (0..keys).map(|key| weight(key).unwrap_or(0.0)).collect();
    let sum: f64 = weights.iter().sum();
    let mean = |d| weights.iter().enumerate().map(|(key, w)| w * v.at(key, shared, d)).sum::<f64>() / sum;
    (0..v.dims[2]).map(|d| if sum == 0.0 { 0.0 } else { mean(d) }).collect()
}

fn close(found: &[f32], expected: &[f64], case: &str) {
    for (a, b) in found.iter().zip(expected) {
        assert!((f64::from(*a) - b).abs() < 2e-5, "{case}: {found:?} beside {expected:?}");
    }
    assert_eq!(found.len(), expected.len(), "{case}");
}

/// `flash_attn` of two sequences beside attention written out; the second is the first with other numbers.
fn check(
    mask: &AttnMask,
    most: Option<f32>,
    cap: Option<f32>,
    bias: &dyn Fn(usize, usize, usize) -> Option<f64>,
) -> Result<()> {
    let case = format!("{mask:?}, {most:?}, {cap:?}");
    let parts: Vec<[Numbers; 3]> =
        (0..2).map(|b| [numbers([5, 6, 4], b), numbers([7, 2, 4], b + 10), numbers([7, 2, 4], b + 20)]).collect();
    let stacked = |i: usize| Tensor::stack(&[parts[0][i].tensor()?, parts[1][i].tensor()?], 0);
    let out = flash_attn::<f32>(&stacked(0)?, &stacked(1)?, &stacked(2)?, 0.7, mask.clone(), most, cap)?;
    assert_eq!(out.dims(), [2, 6, 5, 4], "{case}");
    for (b, [q, k, v]) in parts.iter().enumerate() {
        for (head, query) in (0..6).flat_map(|head| (0..5).map(move |query| (head, query))) {
            let found = out.get(b)?.get(head)?.get(query)?.to_vec1::<f32>()?;
            let cap = cap.map(f64::from);
            close(&found, &attention([q, k, v], (query, head), 0.699_999_988_079, cap, bias), &case);
        }
    }
    Ok(())
}

/// The slopes of six heads, as of eight, for the largest exponent 4.
fn slope(head: usize) -> f64 {
    2f64.powf(-4.0 * (head + 1) as f64 / 8.0)
}

#[test]
fn sequences_of_one_length() -> Result<()> {
    let all = |_: usize, _: usize, _: usize| Some(0.0);
    check(&AttnMask::None, None, None, &all)?;
    check(&AttnMask::None, Some(4.0), None, &all)?;
    check(&AttnMask::None, None, Some(0.5), &all)?;
    check(&AttnMask::causal(), None, None, &|i, j, _| (j <= i).then_some(0.0))?;
    check(&AttnMask::causal_with_offset(2), None, None, &|i, j, _| (j <= i + 2).then_some(0.0))?;
    check(&AttnMask::causal(), None, Some(2.0), &|i, j, _| (j <= i).then_some(0.0))?;
    let sloped = |i: usize, j: usize, head: usize| (j <= i + 2).then(|| slope(head) * (j as f64 - (i + 2) as f64));
    check(&AttnMask::causal_with_offset(2), Some(4.0), None, &sloped)?;
    check(&AttnMask::causal_with_offset(2), Some(4.0), Some(1.5), &sloped)?;
    let value = |i: usize, j: usize| if (i + 2 * j) % 3 == 1 { None } else { Some((i + j) as f64 / 4.0) };
    let rows = (0..5).flat_map(|i| (0..7).map(move |j| value(i, j).map_or(f32::NEG_INFINITY, |v| v as f32)));
    let mask = Tensor::from_iter(rows, CPU)?.reshape((5, 7))?;
    check(&AttnMask::Mask(mask.clone()), None, None, &|i, j, _| value(i, j))?;
    check(&AttnMask::Mask(mask.clone()), Some(4.0), None, &|i, j, head| value(i, j).map(|v| slope(head) * v))?;
    check(&AttnMask::Mask(mask), None, Some(1.0), &|i, j, _| value(i, j))
}

#[test]
fn kernels_of_one_mask_agree() -> Result<()> {
    let [q, k, v] = [numbers([3, 4, 8], 1), numbers([3, 4, 8], 2), numbers([3, 4, 8], 3)];
    let [q, k, v] = [q.tensor()?.unsqueeze(0)?, k.tensor()?.unsqueeze(0)?, v.tensor()?.unsqueeze(0)?];
    let vec = |t: Tensor| t.flatten_all()?.to_vec1::<f32>();
    let causal = flash_attn::<f32>(&q, &k, &v, 1.0, AttnMask::causal(), None, None)?;
    assert_eq!(vec(run_causal_attn_cpu::<f32>(&q, &k, &v, 1.0, 0, None, None)?)?, vec(causal.clone())?);
    let free = vec(flash_attn::<f32>(&q, &k, &v, 1.0, AttnMask::None, None, None)?)?;
    assert_eq!(vec(run_flash_attn_cpu::<f32>(&q, &k, &v, None, 1.0, None, None)?)?, free);
    assert_eq!(
        vec(candle_nn::cpu_flash_attention::run_flash_attn_cpu::<f32>(&q, &k, &v, None, 1.0, None, None)?)?,
        free
    );
    let half = [&q, &k, &v].map(|t| t.to_dtype(DType::F16).unwrap());
    let out = flash_attn::<candle::f16>(&half[0], &half[1], &half[2], 1.0, AttnMask::causal(), None, None)?;
    assert_eq!(out.dtype(), DType::F16);
    for (a, b) in vec(out.to_dtype(DType::F32)?)?.iter().zip(vec(causal)?) {
        assert!((a - b).abs() < 4e-3);
    }
    assert!(flash_attn::<f64>(&q, &k, &v, 1.0, AttnMask::None, None, None).is_err(), "another dtype");
    assert!(AttnMask::causal_with_offset(3).is_causal() && AttnMask::default().kv_offset() == 0);
    Ok(())
}

#[test]
fn sequences_of_several_lengths() -> Result<()> {
    let (lengths_q, lengths_k) = ([2usize, 0, 3], [4usize, 2, 3]);
    let parts: Vec<[Numbers; 3]> = (0..3)
        .map(|b| {
            [
                numbers([lengths_q[b], 4, 4], b),
                numbers([lengths_k[b], 2, 4], b + 5),
                numbers([lengths_k[b], 2, 4], b + 9),
            ]
        })
        .collect();
    let packed = |i: usize| Tensor::cat(&parts.iter().map(|part| part[i].tensor()).collect::<Result<Vec<_>>>()?, 0);
    let lengths = |of: [usize; 3]| Tensor::from_iter(of.map(|len| len as u32), CPU);
    let (seq_q, seq_k) = (lengths(lengths_q)?, lengths(lengths_k)?);
    let slopes = Tensor::new(&[0.5f32, 0.25, 0.125, 1.0], CPU)?;
    for (causal, left, right, sloped) in [
        (false, None, None, false),
        (true, None, None, false),
        (true, Some(1), None, false),
        (false, Some(1), Some(0), false),
        (false, Some(0), Some(1), true),
        (true, None, None, true),
        (false, Some(1), None, true),
    ] {
        let run = |f: Varlen| {
            let slopes = sloped.then_some(&slopes);
            f(&packed(0)?, &packed(1)?, &packed(2)?, slopes, &seq_q, &seq_k, 3, 4, 0.5, causal, left, right)
        };
        let out = run(flash_attn_varlen_cpu)?;
        assert_eq!(out.dims(), [5, 4, 4]);
        let other = run(flash_attn_varlen_unfused)?.flatten_all()?.to_vec1::<f32>()?;
        assert_eq!(other, out.flatten_all()?.to_vec1::<f32>()?);
        let mut row = 0;
        for [q, k, v] in &parts {
            let offset = k.dims[0] as isize - q.dims[0] as isize;
            let bias = |i: usize, j: usize, head: usize| {
                let ahead = j as isize - (i as isize + offset);
                let right = if causal || left.is_some() && right.is_none() { Some(0) } else { right };
                let hidden = left.is_some_and(|left| -ahead > left as isize)
                    || right.is_some_and(|right| ahead > right as isize);
                let slope = if sloped { [0.5, 0.25, 0.125, 1.0][head] } else { 0.0 };
                (!hidden).then(|| -slope * ahead.abs() as f64)
            };
            for query in 0..q.dims[0] {
                for head in 0..4 {
                    let found = out.get(row)?.get(head)?.to_vec1::<f32>()?;
                    let case = format!("{causal} {left:?} {right:?} {sloped}");
                    close(&found, &attention([q, k, v], (query, head), 0.5, None, &bias), &case);
                }
                row += 1;
            }
        }
    }
    Ok(())
}

type Varlen = fn(
    &Tensor,
    &Tensor,
    &Tensor,
    Option<&Tensor>,
    &Tensor,
    &Tensor,
    usize,
    usize,
    f32,
    bool,
    Option<usize>,
    Option<usize>,
) -> Result<Tensor>;

#[test]
fn lengths_that_do_not_go_together_are_errors() -> Result<()> {
    let x = numbers([4, 1, 2], 0).tensor()?;
    let run = |f: Varlen, q: &[u32], k: &[u32], causal, right| {
        let (q, k) = (Tensor::new(q, CPU)?, Tensor::new(k, CPU)?);
        f(&x, &x, &x, None, &q, &k, 4, 4, 1.0, causal, None, right)
    };
    assert!(run(flash_attn_varlen_cpu, &[1, 3], &[4, 0], true, None).is_ok());
    assert!(run(flash_attn_varlen_cpu, &[1, 2], &[4, 0], true, None).is_err(), "rows are left over");
    assert!(run(flash_attn_varlen_cpu, &[4], &[2, 2], true, None).is_err(), "other numbers of sequences");
    assert!(run(flash_attn_varlen_cpu, &[4], &[4], false, Some(1)).is_err(), "a window to the right alone");
    assert!(run(flash_attn_varlen_unfused, &[1, 3], &[4, 0], true, None).is_err(), "fewer keys than queries");
    Ok(())
}

#[test]
fn gradients_flow() -> Result<()> {
    let x = numbers([3, 2, 4], 1).tensor()?.unsqueeze(0)?;
    let q = candle::Var::from_tensor(&x)?;
    let out = flash_attn::<f32>(&q, &x, &x, 1.0, AttnMask::causal(), Some(2.0), None)?;
    let grads = out.sqr()?.backward()?;
    let grad = grads.get(&q).expect("a gradient").flatten_all()?.to_vec1::<f32>()?;
    assert!(grad.iter().any(|g| g.abs() > 1e-4) && grad.iter().all(|g| g.is_finite()));
    Ok(())
}

/// Decoding with keys and values side by side, as with caches of each.
#[test]
fn interleaved_caches_serve_decoding() -> Result<()> {
    let (heads, width, steps) = (2, 4, 3);
    let [k, v, q] = [numbers([steps, heads, width], 1), numbers([steps, heads, width], 2), numbers([1, 4, width], 3)];
    let flat = |n: &Numbers| n.tensor()?.flatten_all()?.to_vec1::<f32>();
    let mut raw = RawInterleavedKvCache::new(heads, width, 8);
    let (keys, values) = (flat(&k)?, flat(&v)?);
    raw.write_kv_batch(&keys, &values, 2);
    raw.write_kv(&keys[2 * heads * width..], &values[2 * heads * width..]);
    assert_eq!((raw.len(), raw.h_kv(), raw.d()), (steps, heads, width));

    let mut cache = InterleavedKvCache::new(width);
    assert!(cache.is_empty());
    for step in 0..steps {
        let part = |n: &Numbers| n.tensor()?.narrow(0, step, 1)?.transpose(0, 1)?.unsqueeze(0);
        cache.append(&part(&k)?, &part(&v)?)?;
    }
    let held = cache.kv().unwrap();
    assert_eq!((held.dims(), cache.current_seq_len()), (&[steps, heads, 2 * width][..], steps));
    assert_eq!(held.flatten_all()?.to_vec1::<f32>()?, raw.data());
    assert!(cache.append(&k.tensor()?, &v.tensor()?).is_err(), "another rank");

    let out = causal_decode_f32_interleaved(&flat(&q)?, raw.data(), 4, heads, width, raw.len(), 0.5)?;
    assert_eq!(out.dims(), [4, 1, width]);
    for head in 0..4 {
        let found = out.get(head)?.get(0)?.to_vec1::<f32>()?;
        close(&found, &attention([&q, &k, &v], (0, head), 0.5, None, &|_, _, _| Some(0.0)), "decoding");
    }
    cache.reset();
    raw.reset();
    assert!(cache.is_empty() && raw.is_empty());
    Ok(())
}

#[test]
fn positions_are_turned_in_place() -> Result<()> {
    let x = numbers([1, 2, 6], 4).tensor()?;
    let angles = [0.1f32, 0.7, 2.0];
    let (cos, sin) = (angles.map(f32::cos), angles.map(f32::sin));
    let mut numbers = x.flatten_all()?.to_vec1::<f32>()?;
    rope_i_inplace(&mut numbers, &cos, &sin, 2, 6);
    let table = |of: &[f32; 3]| Tensor::new(of, CPU)?.unsqueeze(0);
    let turned = candle_nn::rotary_emb::rope_i(&x.transpose(0, 1)?.unsqueeze(0)?, &table(&cos)?, &table(&sin)?)?;
    for (a, b) in numbers.iter().zip(turned.flatten_all()?.to_vec1::<f32>()?) {
        assert!((a - b).abs() < 1e-6);
    }
    Ok(())
}
