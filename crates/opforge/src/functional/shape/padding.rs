//! Elements added around a tensor, and boxes cut out of it.

use crate::ops::prelude::*;
use crate::ops::shape::extend::{Beyond, Extend};
use crate::ops::shape::window::Window;

functions! { pad }

/// With `pad[0]` elements before and `pad[1]` after those of the last dimension, `pad[2]` and `pad[3]` for the one before it, and so on;
/// negative numbers cut off, before `"circular"` wraps what is left. `mode` is `"constant"` (the elements are `value`, 0 without it), `"reflect"`, `"replicate"` or `"circular"`.
///
/// # Errors
/// For an odd number of sizes, or more than twice the dimensions; for cutting off more than there is, and reflecting or wrapping more.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::pad(&x, &[1, -1], "constant", Some(9.0))?.to_vec1::<f32>()?, [9.0, 1.0, 2.0]);
/// assert_eq!(f::pad(&x, &[2, 0], "reflect", None)?.to_vec1::<f32>()?, [3.0, 2.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(mode = "constant", value = None)]
#[python(nn)]
pub fn pad(input: &Tensor, pad: &[i64], mode: &str, value: Option<f64>) -> Result<Tensor> {
    ensure(pad.len().is_multiple_of(2) && pad.len() <= 2 * input.rank(), || {
        Error::value(OP, OP, format!("{pad:?}"), format!("two sizes for each of at most {} dimensions", input.rank()))
    })?;
    let sides = pad.chunks_exact(2).enumerate().map(|(k, sides)| (input.rank() - 1 - k, [sides[0], sides[1]]));
    let sides: Vec<(usize, [i64; 2])> = sides.filter(|(_, sides)| *sides != [0, 0]).collect();
    if mode == "constant" {
        return pad_constant(&cut(input, &sides)?, &sides, value.unwrap_or(0.0));
    }
    let beyond = match mode {
        "reflect" => Beyond::Reflected,
        "replicate" => Beyond::Repeated,
        "circular" => Beyond::Wrapped,
        other => {
            return Err(Error::value(OP, "mode", other, "\"constant\", \"reflect\", \"replicate\" or \"circular\""));
        }
    };
    // What wraps is what negative sizes leave; the other modes still see what they cut off.
    let (input, sides) = if mode == "circular" { (cut(input, &sides)?, added(&sides)) } else { (input.clone(), sides) };
    if sides.is_empty() {
        return input.copy();
    }
    pad_beyond(&input, &sides, beyond)
}

/// Without what negative sizes cut off.
#[track_caller]
fn cut(input: &Tensor, sides: &[(usize, [i64; 2])]) -> Result<Tensor> {
    sides.iter().try_fold(input.clone(), |t, &(dim, sides)| {
        let [before, after] = sides.map(|n| n.min(0).unsigned_abs() as usize);
        let len = t.dims()[dim].checked_sub(before.saturating_add(after));
        let len =
            len.ok_or_else(|| Error::value("pad", "pad", format!("{sides:?}"), "no more than there is to cut off"))?;
        t.narrow(dim, before, len)
    })
}

/// Without the negative sizes.
fn added(sides: &[(usize, [i64; 2])]) -> Vec<(usize, [i64; 2])> {
    sides.iter().map(|&(dim, sides)| (dim, sides.map(|n| n.max(0)))).collect()
}

#[track_caller]
fn pad_constant(t: &Tensor, sides: &[(usize, [i64; 2])], value: f64) -> Result<Tensor> {
    if sides.iter().all(|(_, sides)| sides.iter().all(|&n| n <= 0)) {
        return t.copy();
    }
    let mut window = Window { starts: smallvec![0; t.rank()], lengths: t.dims().into() };
    let mut shape = t.shape().clone().into_dims();
    for &(dim, sides) in sides {
        let [before, after] = sides.map(|n| n.max(0) as usize);
        window.starts[dim] = before;
        shape[dim] = shape[dim].saturating_add(before).saturating_add(after);
    }
    let shape = Shape::from(shape);
    shape.check("pad", t.dtype().size_in_bytes())?;
    if value.to_bits() == 0 {
        return embed(window, t, &Meta::contiguous(t.dtype(), shape));
    }
    let value = crate::functional::converted("pad", Scalar::Float(value), t.dtype())?;
    overlay(window, &Tensor::full_scalar(value, shape, t.dtype(), t.device())?, t)
}

#[track_caller]
fn pad_beyond(input: &Tensor, sides: &[(usize, [i64; 2])], beyond: Beyond) -> Result<Tensor> {
    let mut op = Extend { before: smallvec![0; input.rank()], after: smallvec![0; input.rank()], beyond };
    for &(dim, [before, after]) in sides {
        let len = input.dims()[dim] as i64;
        check_beyond(len, [before, after], beyond)?;
        if before.saturating_add(after) <= -len {
            // Everything is cut off.
            continue;
        }
        (op.before[dim], op.after[dim]) = (before.max(0) as usize, after.max(0) as usize);
    }
    let whole = dispatch1(&op, &[input])?;
    if sides.iter().all(|(_, sides)| sides.iter().all(|&n| n >= 0)) {
        return Ok(whole);
    }
    let cut = sides.iter().try_fold(whole, |t, &(dim, [before, after])| {
        let [before, after] = [before, after].map(|n| n.min(0).unsigned_abs() as usize);
        let len = t.dims()[dim];
        t.narrow(dim, before.min(len), len.saturating_sub(before).saturating_sub(after))
    });
    cut?.contiguous()
}

/// Refuses sizes beyond what there is.
#[track_caller]
fn check_beyond(len: i64, [before, after]: [i64; 2], beyond: Beyond) -> Result<()> {
    let ends = before.checked_neg().zip(len.checked_add(after));
    let fits = |(start, end): (i64, i64)| {
        end.checked_sub(start).is_some()
            && (end <= start || [start, end - 1].iter().all(|&i| beyond.source(i, len).is_some()))
    };
    ensure(ends.is_some_and(fits), || {
        Error::value("pad", "pad", format!("{:?}", [before, after]), format!("sizes that fit the length {len}"))
    })
}
