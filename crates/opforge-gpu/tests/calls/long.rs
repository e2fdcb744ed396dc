//! Calls on tensors so long that groups of threads share their rows, and products so large that they are made of tiles: samples are small.

use opforge::autograd::{BackwardOptions, grad};
use opforge::functional::{
    argmax, argmin, argplace, argsort, cummax, cummin, cumprod, cumsum, embedding, index_add, index_get, index_put,
    index_select, logcumsumexp, median_dim, nanmedian_dim, nonzero, scatter, scatter_add, scatter_reduce, sort, topk,
};
use opforge::ops::fourier::dft::transformed;
use opforge::ops::linalg::linear::linear;
use opforge::ops::nn::batch_norm::batch_norm;
use opforge::ops::nn::group_norm::group_norm;
use opforge::ops::nn::layer_norm::layer_norm;
use opforge::ops::nn::log_softmax::log_softmax;
use opforge::ops::nn::rms_norm::rms_norm;
use opforge::ops::nn::scaled_dot_product_attention::scaled_dot_product_attention;
use opforge::ops::nn::softmax::softmax;
use opforge::ops::random::dropout::{Dropout, dropped};
use opforge::ops::random::rand::rand;
use opforge::ops::random::randint::randint;
use opforge::ops::random::randn::randn;
use opforge::{DType, Device, Generator, Result, Scalar, Tensor};
use opforge_tile::forms::Spectrum;

/// Numbers of one size, neither alike nor in order.
fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let number = |i: usize| ((i * 7919 % 1013) as f64 / 506.5 - 1.0) + 0.1;
    let data: Vec<f64> = (0..shape.iter().product()).map(number).collect();
    Tensor::from_vec(data, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

/// What calls give, one after the other: results and gradients.
struct Calls<'a> {
    dtype: DType,
    device: &'a Device,
    results: Vec<Tensor>,
}

impl Calls<'_> {
    /// A call of tensors of these shapes, and its gradients.
    fn of(&mut self, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) -> Result<()> {
        let inputs =
            shapes.iter().map(|shape| numbers(shape, self.dtype, self.device)).collect::<Result<Vec<Tensor>>>()?;
        inputs.iter().try_for_each(|x| x.set_requires_grad(true))?;
        let y = f(&inputs)?;
        let seed = numbers(y.dims(), self.dtype, self.device)?;
        let gradients =
            grad(&[(y.clone(), Some(seed))], &inputs.iter().collect::<Vec<_>>(), BackwardOptions::default())?;
        self.results.push(y.detach());
        self.results.extend(gradients.into_iter().flatten());
        Ok(())
    }

    /// Calls of a tensor of this shape, without gradients.
    fn plain(&mut self, shape: &[usize], f: impl Fn(&Tensor) -> Result<Vec<Tensor>>) -> Result<()> {
        self.results.extend(f(&numbers(shape, self.dtype, self.device)?)?);
        Ok(())
    }
}

/// Orders along lines: short ones, of which groups sort several, those that a group sorts, and those that are merged of sorted runs. Some elements are equal.
fn orders(calls: &mut Calls<'_>) -> Result<()> {
    for shape in [&[70, 24][..], &[3, 1100], &[2, 4000], &[1, 17_000]] {
        calls.plain(shape, |x| {
            let (sorted, order) = sort(x, 1, false, true)?;
            let wide = x.affine(1e4, 0.0)?.to_dtype(DType::I64)?;
            let bytes = x.affine(60.0, 0.0)?.to_dtype(DType::I8)?;
            let mut results = vec![sorted, order, argsort(&wide, 1, true, true)?, argsort(&bytes, 1, false, true)?];
            results.extend([topk(x, 8, 1, true, true)?.1, topk(x, 8, 1, false, true)?.1, median_dim(x, 1, false)?.1]);
            results.extend([topk(&wide, 3, 1, true, true)?.1, topk(x, 1, 1, true, true)?.1]);
            results.extend([argmax(x, Some(1), false)?, argmin(&wide, Some(1), true)?, argplace(x, 1, 7, 3)?]);
            Ok(results)
        })?;
    }
    // The greatest is in one of the last parts of the row.
    let ramp: Vec<f64> = (0..17_000).map(|i| f64::from(i % 16_001)).collect();
    let ramp = Tensor::from_vec(ramp, &[1, 17_000], &Device::Cpu)?.to_dtype(calls.dtype)?.to_device(calls.device)?;
    calls.results.extend([argmax(&ramp, Some(1), false)?, argmax(&ramp, None, false)?]);
    calls.plain(&[3000, 2], |x| Ok(vec![argsort(x, 0, true, true)?, argmax(x, Some(0), false)?]))?;
    let with_nan = |x: &Tensor| x.affine(1.0, -0.5)?.sqrt();
    // Most are no numbers.
    let few = |x: &Tensor| x.affine(1.0, -1.0975)?.sqrt();
    calls.plain(&[2, 3000], |x| {
        [true, false].into_iter().map(|largest| Ok(topk(&few(x)?, 7, 1, largest, true)?.1)).collect()
    })?;
    calls.plain(&[2, 3000], |x| {
        let x = with_nan(x)?;
        Ok(vec![argsort(&x, 1, true, true)?, nanmedian_dim(&x, 1, false)?.1, argmax(&x, Some(1), false)?])
    })
}

/// Running results along lines that a group goes along, and along those that are split.
fn scans(calls: &mut Calls<'_>) -> Result<()> {
    for shape in [&[2, 1100][..], &[3, 2700], &[1, 17_000]] {
        calls.plain(shape, |x| {
            let x = x.affine(0.01, 0.0)?;
            let extremes = [cummax(&x, 1)?.1, cummin(&x.affine(1e3, 0.0)?.to_dtype(DType::I64)?, 1)?.1];
            let near_1 = x.affine(1.0, 1.0)?;
            let sums = [cumsum(&x, 1, None)?, logcumsumexp(&x, 1)?, cumprod(&near_1, 1, Some(DType::F32))?];
            Ok([&extremes[..], &sums].concat())
        })?;
    }
    calls.plain(&[1100, 2], |x| Ok(vec![cumsum(x, 0, Some(DType::F64))?, cummax(x, 0)?.1]))
}

/// So many indices below `most`, neither all different nor in order.
fn indices(shape: &[usize], most: usize, device: &Device) -> Result<Tensor> {
    let data: Vec<f64> = (0..shape.iter().product()).map(|i: usize| (i * i * 31 % 1009 % most) as f64).collect();
    Tensor::from_vec(data, shape, &Device::Cpu)?.to_dtype(DType::I64)?.to_device(device)
}

/// Elements that are counted along the tensor by many groups.
fn counts(calls: &mut Calls<'_>) -> Result<()> {
    calls.plain(&[130, 100], |x| Ok(vec![nonzero(&x.gt(0.5)?)?]))?;
    calls.plain(&[20, 10], |x| Ok(vec![nonzero(&x.gt(0.5)?)?]))
}

/// Slices so long that a thread reads several elements of one.
fn reads(calls: &mut Calls<'_>) -> Result<()> {
    let device = calls.device;
    calls.plain(&[3, 20, 64], |x| {
        let ids = indices(&[4, 300], 20, device)?;
        let rows = index_select(x, 1, &ids.flatten_all()?)?;
        let pairs = index_get(x, &[Some(indices(&[2100], 3, device)?), Some(indices(&[2100], 20, device)?)])?;
        let table = x.reshape((60, 64))?;
        Ok(vec![rows, pairs, embedding(&ids, &table, None, None, 2.0, false, false)?])
    })
}

/// Elements written at so many indices that these are sorted first.
fn writes(calls: &mut Calls<'_>) -> Result<()> {
    let device = calls.device;
    calls.of(&[&[50, 3]], |x| embedding(&indices(&[40, 60], 50, device)?, &x[0], None, None, 2.0, false, false))?;
    calls
        .of(&[&[4, 30, 2], &[4, 100, 2]], |x| index_add(&x[0], 1, &indices(&[100], 30, device)?, &x[1], 0.5.into()))?;
    calls.of(&[&[3, 40, 2], &[3, 90, 2]], |x| scatter_add(&x[0], 1, &indices(&[3, 90, 2], 40, device)?, &x[1]))?;
    calls.of(&[&[9, 8, 2], &[80, 2]], |x| {
        let ids = [(&[80][..], 9), (&[80], 8)].map(|(shape, most)| indices(shape, most, device));
        let [a, b] = ids;
        index_put(&x[0], &[Some(a?.affine(1.0, -9.0)?), Some(b?)], &x[1], true)
    })?;
    calls.plain(&[3, 100], |x| {
        let (base, ids) = (x.affine(2.0, 0.0)?, indices(&[3, 90], 100, device)?);
        let wide = |x: &Tensor| x.affine(1e3, 0.0)?.to_dtype(DType::I64);
        let reduced = |how| scatter_reduce(&base, 1, &ids, x, how, true);
        let set = [scatter(&base, 1, &ids, x, None)?, scatter(&wide(&base)?, 1, &ids, &wide(x)?, None)?];
        Ok([&set[..], &[reduced("amax")?, reduced("prod")?]].concat())
    })
}

/// Rows that teams of one size and another share, some of a group at a time, and reductions by parts.
fn teams(calls: &mut Calls<'_>) -> Result<()> {
    for shape in [[13, 100], [2100, 300], [3, 40], [300, 70], [5000, 3], [2, 5000], [3000, 40]] {
        calls.of(&[&shape], |x| x[0].sum(1))?;
        calls.of(&[&shape], |x| x[0].sum(0))?;
        calls.of(&[&shape], |x| x[0].max(0))?;
    }
    for shape in [[13, 100], [100, 40]] {
        calls.of(&[&shape], |x| softmax(&x[0], 1, None))?;
        calls.of(&[&shape], |x| softmax(&x[0], 0, None))?;
        calls.of(&[&shape], |x| x[0].var(1))?;
        calls.of(&[&shape], |x| x[0].var(0))?;
        let row: &[usize] = &shape[1..];
        calls.of(&[&shape, row, row], |x| layer_norm(&x[0], &[row[0] as i64], Some(&x[1]), Some(&x[2]), 1e-5))?;
    }
    for [rows, columns] in [[300, 400], [301, 401], [2, 70_002]] {
        let shape: &[usize] = &[rows, columns];
        calls.of(&[shape, shape], |x| x[0].mul(&x[1]))?;
        calls.of(&[shape, &[columns]], |x| x[0].broadcast_mul(&x[1]))?;
        calls.of(&[shape, &[rows, 1]], |x| x[0].broadcast_mul(&x[1]))?;
    }
    // Not where packs begin.
    calls.of(&[&[130_001]], |x| x[0].narrow(0, 1, 130_000)?.sqr())?;
    calls.of(&[&[700, 20, 3]], |x| x[0].sum((0, 2)))?;
    Ok(())
}

/// Functions of rows that lanes hold: 4, 8 or 32 lanes of a row, or all of a group, each with one pack or several, the last of which some lack; and of rows
/// that are too long for it, of odd ones, and of those that do not begin where packs do.
fn rows(calls: &mut Calls<'_>) -> Result<()> {
    for shape in [[4100, 16], [2750, 24], [520, 128], [2050, 260], [30, 2200], [60, 1101], [2, 40_000]] {
        let row: &[usize] = &shape[1..];
        let lengths = [row[0] as i64];
        calls.of(&[&shape], |x| softmax(&x[0], 1, None))?;
        calls.of(&[&shape, row, row], |x| layer_norm(&x[0], &lengths, Some(&x[1]), Some(&x[2]), 1e-5))?;
        calls.plain(&shape, |x| Ok(vec![x.sum(1)?, x.var(1)?]))?;
    }
    // A row for several warps, but not for all of a group.
    calls.plain(&[2050, 1028], |x| Ok(vec![softmax(x, 1, None)?]))?;
    for shape in [[520, 128], [30, 2200]] {
        calls.of(&[&shape], |x| log_softmax(&x[0], 1, None))?;
        calls.of(&[&shape], |x| rms_norm(&x[0], &[shape[1] as i64], None, Some(1e-5)))?;
        calls.of(&[&shape[..1]], |x| softmax(&x[0].unsqueeze(1)?.broadcast_as(shape)?, 1, None))?;
        calls.plain(&shape, |x| Ok(vec![softmax(&x.sqrt()?, 1, None)?, x.to_dtype(DType::I64)?.sum(1)?, x.max(1)?]))?;
    }
    calls.plain(&[66_001], |x| Ok(vec![softmax(&x.narrow(0, 1, 66_000)?.reshape((66, 1000))?, 1, None)?]))?;
    calls.plain(&[100_000], |x| Ok(vec![x.var(0)?]))
}

/// Sets that are normalised by teams, and by parts: of planes, of planes that have gaps, and of single elements.
fn sets(calls: &mut Calls<'_>) -> Result<()> {
    let normalized = |x: &Tensor, of: &[Tensor]| batch_norm(x, None, None, Some(&of[1]), Some(&of[2]), true, 0.1, 1e-5);
    for shape in [&[4, 90, 5][..], &[40, 3, 70, 60], &[40, 3, 61, 63], &[9000, 35]] {
        let channels = &shape[1..2];
        calls.of(&[shape, channels, channels], |x| normalized(&x[0], x))?;
    }
    calls.of(&[&[2, 3, 200, 90], &[3], &[3]], |x| normalized(&x[0].narrow(3, 5, 80)?, x))?;
    for (shape, groups) in [([2, 6, 90, 80], 2), ([1, 2, 200, 210], 2), ([3, 4, 7, 9], 4)] {
        let channels = &shape[1..2];
        calls.of(&[&shape, channels, channels], |x| group_norm(&x[0], groups, Some(&x[1]), Some(&x[2]), 1e-5))?;
    }
    calls.of(&[&[4, 3, 100, 80], &[3], &[3]], |x| {
        let [mean, variance] = [0.3, 0.7].map(|by| x[1].detach().affine(0.1, by));
        batch_norm(&x[0], Some(&mean?), Some(&variance?), Some(&x[1]), Some(&x[2]), false, 0.1, 1e-5)
    })
}

/// Fourier transforms: of lengths with one factor and several, many lines, lines longer than a group's memory, a length that is prime.
fn transforms(calls: &mut Calls<'_>) -> Result<()> {
    for (count, len) in [(3, 1024), (100, 24), (2, 315), (300, 8), (2, 143), (2, 4096), (2, 37)] {
        let factor = (len as f64).powf(-0.5);
        let (real, half, whole) = (&[count, len][..], &[count, len / 2 + 1, 2][..], &[count, len, 2][..]);
        let odd = len % 2 == 1;
        calls.of(&[whole], |x| transformed(&x[0], Spectrum::Complex { inverse: false }, factor))?;
        calls.of(&[real], |x| transformed(&x[0], Spectrum::OfReal, factor))?;
        calls.of(&[half], |x| transformed(&x[0], Spectrum::ToReal { odd }, factor))?;
    }
    Ok(())
}

/// Copies of so many elements that a thread moves several, and transposed ones.
fn moves(calls: &mut Calls<'_>) -> Result<()> {
    let x = numbers(&[16, 257, 256], calls.dtype, calls.device)?;
    calls.results.push(x.permute((1, 0, 2))?.contiguous()?);
    calls.results.push(x.narrow(2, 0, 50)?.contiguous()?.permute((2, 0, 1))?.contiguous()?);
    calls.results.push(x.narrow(2, 0, 70)?.contiguous()?.permute((0, 2, 1))?.contiguous()?);
    let (long, short) = (x.narrow(1, 0, 256)?.reshape((2, 1 << 19))?, x.narrow(1, 0, 2)?.narrow(0, 0, 2)?);
    calls.results.push(Tensor::cat(&[&long, &short.reshape((2, 512))?], 1)?);
    Ok(())
}

/// What is drawn: more than one group of blocks, the last of them not whole.
fn drawn(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let (generator, key) = (Generator::new(), Tensor::from_vec(vec![5u64, 7], 2, device)?);
    let long = |f: fn(&[i64], _, _, _, _) -> Result<Tensor>| {
        f(&[2, 32_790], Some(generator.clone()), Some(dtype), Some(*device), false)
    };
    let dropped =
        |shape: &[usize]| dropped(Dropout { keep: Scalar::Float(0.7) }, &key, &numbers(shape, dtype, device)?);
    let size = [3, 67];
    let options = |dtype| (Some(generator.clone()), Some(dtype), Some(*device), false);
    let floats = |f: fn(&[i64], _, _, _, _) -> Result<Tensor>, dtype| {
        let (generator, dtype, device, leaf) = options(dtype);
        f(&size, generator, dtype, device, leaf)
    };
    let integers = |low, high, dtype| {
        let (generator, dtype, device, leaf) = options(dtype);
        randint(low, high, &size, generator, dtype, device, leaf)
    };
    Ok(vec![
        floats(rand, dtype)?,
        floats(randn, dtype)?,
        floats(rand, DType::F64)?,
        floats(randn, DType::F64)?,
        integers(-3, 40, DType::I64)?,
        integers(-3, 1 << 40, DType::I64)?,
        long(rand)?,
        long(randn)?,
        dropped(&size.map(|len| len as usize))?,
        dropped(&[2, 32_790])?,
    ])
}

/// All of them in one dtype, on a device.
pub fn calls(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let mut calls = Calls { dtype, device, results: Vec::new() };
    teams(&mut calls)?;
    rows(&mut calls)?;
    sets(&mut calls)?;
    let row: &[usize] = &[3, 1100];
    calls.of(&[row], |x| x[0].sum(1))?;
    calls.of(&[row], |x| x[0].mean_all())?;
    calls.of(&[row], |x| x[0].max(1))?;
    calls.of(&[row], |x| x[0].var(1))?;
    calls.of(&[&[1100, 3]], |x| x[0].sum(0))?;
    calls.of(&[row], |x| softmax(&x[0], 1, None))?;
    calls.of(&[&[700, 2]], |x| softmax(&x[0], 0, None))?;
    calls.of(&[row], |x| log_softmax(&x[0], 1, None))?;
    calls.of(&[row, &[1100], &[1100]], |x| layer_norm(&x[0], &[1100], Some(&x[1]), Some(&x[2]), 1e-5))?;
    calls.of(&[row, &[1100]], |x| rms_norm(&x[0], &[1100], Some(&x[1]), Some(1e-5)))?;
    calls.of(&[&[40, 3, 20], &[3], &[3]], |x| {
        batch_norm(&x[0], None, None, Some(&x[1]), Some(&x[2]), true, 0.1, 1e-5)
    })?;
    calls.of(&[&[2, 4, 400], &[4], &[4]], |x| group_norm(&x[0], 2, Some(&x[1]), Some(&x[2]), 1e-5))?;
    calls.of(&[&[70, 40], &[40, 50]], |x| x[0].matmul(&x[1]))?;
    calls.of(&[&[2, 33, 40], &[2, 40, 50]], |x| x[0].matmul(&x[1]))?;
    calls.of(&[&[70, 40], &[50, 40], &[50]], |x| linear(&x[0], &x[1], Some(&x[2])))?;
    for [heads, n, m] in [[4, 5, 600], [2, 2, 2100], [2, 64, 520]] {
        calls.of(&[&[1, heads, n, 16], &[1, 2, m, 16], &[1, 2, m, 8]], |x| {
            scaled_dot_product_attention(&x[0], &x[1], &x[2], None, 0.0, false, None, true)
        })?;
    }
    orders(&mut calls)?;
    scans(&mut calls)?;
    counts(&mut calls)?;
    reads(&mut calls)?;
    writes(&mut calls)?;
    if dtype == DType::F32 {
        moves(&mut calls)?;
        transforms(&mut calls)?;
        calls.dtype = DType::F64;
        transforms(&mut calls)?;
    }
    calls.results.extend(drawn(dtype, device)?);
    Ok(calls.results)
}
