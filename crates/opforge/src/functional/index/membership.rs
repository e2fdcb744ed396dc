//! Which elements are among others, and where places of a row-major order lie.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { isin, unravel_index }

/// Up to so many comparisons an element are quicker than a sort of what it is compared with.
const FEW: usize = 16;

/// Whether each of the elements is among `test_elements`, or is not, with `invert`. NaN is among nothing.
///
/// # Errors
/// For two numbers.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[1i64, 2], [3, 4]], &Device::Cpu)?, Tensor::new(&[2i64, 3], &Device::Cpu)?);
/// assert_eq!(f::isin((&x).into(), (&y).into(), false, false)?.to_vec2::<bool>()?, [[false, true], [true, false]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, assume_unique = false, invert = false)]
#[python(torch)]
pub fn isin(elements: Operand, test_elements: Operand, assume_unique: bool, invert: bool) -> Result<Tensor> {
    let _ = assume_unique;
    let found = match (elements, test_elements) {
        (Operand::Tensor(x), Operand::Tensor(y)) if y.elem_count() <= FEW => among_few(x, y)?,
        (Operand::Tensor(x), Operand::Tensor(y)) => among_many(x, y)?,
        (Operand::Scalar(_), Operand::Tensor(y)) => f::any(&f::eq(elements, y.into())?, None, false)?,
        (x, number) => f::eq(x, number)?,
    };
    if invert { f::logical_not(&found) } else { Ok(found) }
}

/// The coordinates, a tensor in i64 for each dimension, of places in the row-major order of a shape.
///
/// # Errors
/// For tensors that are not integers, and places outside of the shape.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let places = f::unravel_index(&Tensor::new(&[4i64, 5], &Device::Cpu)?, &[2, 3])?;
/// assert_eq!((places[0].to_vec1::<i64>()?, places[1].to_vec1::<i64>()?), (vec![1, 1], vec![1, 2]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
pub fn unravel_index(indices: &Tensor, shape: &[i64]) -> Result<Vec<Tensor>> {
    ensure(indices.dtype().is_int(), || Error::dtype(OP, "indices", indices.dtype(), "an integer dtype"))?;
    let shape = f::size_to_shape(OP, shape)?;
    shape.check(OP, 1)?;
    let count = shape.elem_count() as i64;
    if shape.rank() > 0 && *indices.device() != Device::Meta && indices.elem_count() > 0 {
        let (low, high) = f::aminmax(&indices.to_dtype(DType::I64)?, None, false)?;
        let (low, high) = (low.to_scalar::<i64>()?, high.to_scalar::<i64>()?);
        if low < 0 || high >= count {
            return Err(Error::index(OP, "indices", format!("{low} to {high}"), format!("0 to {}", count - 1)));
        }
    }
    let mut rest = indices.to_dtype(DType::I64)?;
    let mut places = Vec::with_capacity(shape.rank());
    for &n in shape.dims().iter().rev() {
        let n = Scalar::from(n.max(1));
        places.push(f::remainder((&rest).into(), n.into())?);
        rest = f::floor_divide((&rest).into(), n.into())?;
    }
    places.reverse();
    Ok(places)
}

/// Compared one by one.
fn among_few(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    f::any(&f::eq((&x.unsqueeze(x.rank())?).into(), (&y.flatten_all()?).into())?, Some(&[-1]), false)
}

/// Compared with the first that is not less.
fn among_many(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let dtype = match f::common_dtype("isin", x, y)? {
        DType::Bool => DType::U8,
        dtype => dtype,
    };
    let (x, y) = (x.detach().to_dtype(dtype)?, y.detach().to_dtype(dtype)?);
    let sorted = f::sort(&y.flatten_all()?, 0, false, false)?.0;
    let last = Scalar::from(sorted.elem_count() - 1);
    let place = f::searchsorted(&sorted, (&x).into(), false, false, None, None)?;
    let place = f::clamp(&place, None, Some(last.into()))?;
    f::eq((&f::take(&sorted, &place)?).into(), (&x).into())
}
