//! Elements added around a tensor, and boxes cut out of it.

use crate::functional as f;
use opforge_runtime::alloc::Room;

use crate::ops::prelude::*;
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
    let source = match mode {
        "reflect" => reflected,
        "replicate" => replicated,
        "circular" => wrapped,
        other => {
            return Err(Error::value(OP, "mode", other, "\"constant\", \"reflect\", \"replicate\" or \"circular\""));
        }
    };
    // What wraps is what negative sizes leave; the other modes still see what they cut off.
    let (input, sides) = if mode == "circular" { (cut(input, &sides)?, added(&sides)) } else { (input.clone(), sides) };
    if sides.is_empty() {
        return input.copy();
    }
    let step = |t: Tensor, (dim, sides): &(usize, [i64; 2])| pad_from(&t, *dim, *sides, source);
    sides.iter().try_fold(input, step)
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
    if value == 0.0 {
        return embed(window, t, &Meta::contiguous(t.dtype(), shape));
    }
    let value = crate::functional::converted("pad", Scalar::Float(value), t.dtype())?;
    overlay(window, &Tensor::full_scalar(value, shape, t.dtype(), t.device())?, t)
}

/// Where the element at place `i`, which may lie outside of `0..len`, comes from; `None` if it lies too far outside.
type Source = fn(i: i64, len: i64) -> Option<i64>;

fn reflected(i: i64, len: i64) -> Option<i64> {
    let place = if i < 0 {
        -i
    } else if i < len {
        i
    } else {
        2 * (len - 1) - i
    };
    (0..len).contains(&place).then_some(place)
}

fn replicated(i: i64, len: i64) -> Option<i64> {
    (len > 0).then(|| i.clamp(0, len - 1))
}

fn wrapped(i: i64, len: i64) -> Option<i64> {
    (len > 0 && (-len..2 * len).contains(&i)).then(|| i.rem_euclid(len))
}

#[track_caller]
fn pad_from(t: &Tensor, dim: usize, [before, after]: [i64; 2], source: Source) -> Result<Tensor> {
    let len = t.dims()[dim] as i64;
    let refused =
        || Error::value("pad", "pad", format!("{:?}", [before, after]), format!("sizes that fit the length {len}"));
    let (start, end) = before.checked_neg().zip(len.checked_add(after)).ok_or_else(refused)?;
    let count = end.checked_sub(start).ok_or_else(refused)?;
    Shape::from(count.max(0) as usize).check("pad", DType::I64.size_in_bytes())?;
    let count = count.max(0) as usize;
    let mut places = Room::with_capacity(count)?;
    (start..end).try_for_each(|i| places.push(source(i, len).ok_or_else(refused)?))?;
    f::index_select(t, dim as i64, &Tensor::from_room(places, count, t.device())?)
}
