//! Norms of channels: planes, one element a channel (columns of a matrix, groups of single elements), with all parameters and gradients.

use super::*;

const EPS: f64 = 1e-5;

/// The sets that are normalised together, as places among the elements, and each element's channel.
fn sets(dims: &[usize], over: Over) -> (Vec<Vec<usize>>, Vec<usize>) {
    let (batch, channels, plane) = (dims[0], dims[1], dims[2..].iter().product::<usize>());
    let of = |i: usize| (i / (channels * plane), i / plane % channels);
    let set = |i: usize| match over {
        Over::Batch => of(i).1,
        Over::Groups(groups) => of(i).0 * groups + of(i).1 / (channels / groups),
    };
    let mut sets = vec![vec![]; if let Over::Groups(groups) = over { batch * groups } else { channels }];
    (0..batch * channels * plane).for_each(|i| sets[set(i)].push(i));
    (sets, (0..batch * channels * plane).map(|i| of(i).1).collect())
}

fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    exact_sum(values) / count
}

/// What is compared: result, mean, variance; gradient of x, and the sums for weight and bias by slot.
struct Expected {
    forward: [Vec<f64>; 3],
    dx: Vec<f64>,
    terms: [Vec<f64>; 2],
}

fn naive(dims: &[usize], over: Over, [x, dy, w, b]: [&[f64]; 4]) -> Expected {
    let (sets, channel) = sets(dims, over);
    let mut forward = [vec![0.0; x.len()], vec![], vec![]];
    let (mut dx, mut terms) = (vec![0.0; x.len()], [vec![0.0; x.len()], dy.to_vec()]);
    for set in &sets {
        let mean = mean_of(set.iter().map(|&i| x[i]));
        let var = mean_of(set.iter().map(|&i| (x[i] - mean).powi(2)));
        let rstd = 1.0 / (var + EPS).sqrt();
        let (h, g) = (|i: usize| (x[i] - mean) * rstd, |i: usize| dy[i] * w[channel[i]]);
        let (mean_g, mean_gh) = (mean_of(set.iter().map(|&i| g(i))), mean_of(set.iter().map(|&i| g(i) * h(i))));
        for &i in set {
            forward[0][i] = h(i) * w[channel[i]] + b[channel[i]];
            dx[i] = rstd * (g(i) - mean_g - h(i) * mean_gh);
            terms[0][i] = dy[i] * h(i);
        }
        forward[1].push(mean);
        forward[2].push(var);
    }
    Expected { forward, dx, terms }
}

/// The sums of terms by channel, or by element of the batch and channel.
fn by_slot(terms: &[f64], dims: &[usize], over: Over) -> Vec<f64> {
    let plane = dims[2..].iter().product::<usize>();
    let slots = if over == Over::Batch { dims[1] } else { dims[0] * dims[1] };
    let mut sums = vec![0.0; slots];
    terms.iter().enumerate().for_each(|(i, term)| sums[i / plane % slots] += term);
    sums
}

fn near(got: &Array, expected: &[f64], dtype: DType, scale: f64, what: &str) {
    assert_eq!(got.values().len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.values().iter().zip(expected).enumerate() {
        let tolerance = 32.0 * epsilon(dtype) * scale * expected.abs().max(1.0);
        assert!((got - expected).abs() <= tolerance, "{what} {dtype} {i}: {got}, not {expected}");
    }
}

fn check(dims: &[usize], over: Over, dtype: DType) {
    let channels = dims[1];
    let x = Array::contiguous(dtype, dims, noise);
    let dy = Array::contiguous(dtype, dims, |i| noise(i + 5));
    let weight = Array::contiguous(dtype, &[channels], |i| noise(i + 7) + 0.5);
    let bias = Array::contiguous(dtype, &[channels], |i| noise(i + 99));
    let what = format!("{dims:?} {over:?}");
    let expected = naive(dims, over, [&x, &dy, &weight, &bias].map(Array::values).each_ref().map(Vec::as_slice));
    let wide = stats_dtype(dtype);
    let stat =
        Meta::contiguous(wide, if let Over::Groups(groups) = over { vec![dims[0], groups] } else { vec![channels] });
    let outputs = [x.meta.clone(), stat.clone(), stat];
    let given = [Some(&weight.meta), Some(&bias.meta)];
    let kernel = batch_norm("norm", over, &x.meta, given, EPS, outputs.each_ref()).expect("a valid norm");
    let got = run(&*kernel, &[&x, &weight, &bias], &outputs);
    for (got, (expected, dtype)) in got.iter().zip(expected.forward.iter().zip([dtype, wide, wide])) {
        near(got, expected, dtype, 1.0, &what);
    }
    let slots = Meta::contiguous(wide, if over == Over::Batch { &dims[1..2] } else { &dims[..2] });
    let outputs = [x.meta.clone(), slots.clone(), slots];
    let inputs = [&x.meta, &dy.meta, &got[1].meta, &got[2].meta];
    let kernel = batch_norm_backward("norm", over, inputs, given[0], EPS, outputs.each_ref()).expect("a valid norm");
    let got = run(&*kernel, &[&x, &dy, &got[1], &got[2], &weight], &outputs);
    near(&got[0], &expected.dx, dtype, 8.0, &what);
    for (got, terms) in got[1..].iter().zip(&expected.terms) {
        near(got, &by_slot(terms, dims, over), wide, dims[0] as f64, &what);
    }
}

#[test]
fn norms_of_channels_and_their_gradients() {
    for_every_isa(|| {
        for dtype in [DType::BF16, DType::F32, DType::F64] {
            for dims in [&[5usize, 6][..], &[3, 66], &[300, 130], &[4, 6, 5], &[2, 66, 2, 20], &[7, 6, 1, 1]] {
                for over in [Over::Batch, Over::Groups(1), Over::Groups(2)] {
                    check(dims, over, dtype);
                }
            }
        }
    });
}

/// Squares of these overflow, the normalised numbers do not; other channels beside them are as ever.
#[test]
fn columns_of_large_numbers() {
    for_every_isa(|| {
        let large = |i: usize| if i % 3 == 1 { 1e30 } else { 1.0 };
        let sign = |i: usize| if (i / 3).is_multiple_of(2) { -1.0 } else { 1.0 };
        let x = Array::contiguous(DType::F32, &[4, 3], |i| sign(i) * large(i));
        let stat = Meta::contiguous(DType::F32, 3);
        let outputs = [x.meta.clone(), stat.clone(), stat];
        let kernel =
            batch_norm("norm", Over::Batch, &x.meta, [None; 2], 0.0, outputs.each_ref()).expect("a valid norm");
        let signs: Vec<f64> = (0..12).map(sign).collect();
        near(&run(&*kernel, &[&x], &outputs)[0], &signs, DType::F32, 1.0, "large columns");
    });
}
