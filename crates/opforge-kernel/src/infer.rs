//! What inference functions see, and what they return.

use crate::raw::{Arrays, Info};
use crate::{Attributes, DType, Error, Result};

/// What a kernel's inference function sees: the inputs' dtypes and shapes, as far as they are known, and the attributes.
///
/// The function returns one [`Inferred`], or an array or vector of them, one for each output.
///
/// ```
/// use opforge_kernel::{Infer, Inferred, Result, View, ViewMut, kernel};
///
/// /// The sum over the first dimension.
/// fn infer_sum(infer: &Infer<'_>) -> Result<Inferred> {
///     let mut output = infer.input(0)?;
///     if let Some(shape) = &mut output.shape {
///         shape.drain(..1);
///     }
///     Ok(output)
/// }
///
/// #[kernel(infer = infer_sum)]
/// fn sum(x: View<'_, f32>, mut y: ViewMut<'_, f32>) {
///     let columns = y.len().max(1);
///     y.as_mut_slice().fill(0.0);
///     for row in x.as_slice().chunks_exact(columns) {
///         y.as_mut_slice().iter_mut().zip(row).for_each(|(y, x)| *y += x);
///     }
/// }
/// ```
pub struct Infer<'a> {
    arrays: Arrays<'a>,
    attributes: &'a Attributes,
}

/// An input or output as far as it is known before there are tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inferred {
    /// The type of the elements.
    pub dtype: DType,
    /// The lengths of the dimensions, `None` for one that is not known; `None` if not even their number is known.
    pub shape: Option<Vec<Option<usize>>>,
}

/// How the header writes a length, and a rank as the only length, that is not known.
const UNKNOWN_LENGTH: i64 = -1;
const UNKNOWN_RANK: i64 = -2;

impl<'a> Infer<'a> {
    pub(crate) fn new(arrays: Arrays<'a>, attributes: &'a Attributes) -> Self {
        Infer { arrays, attributes }
    }

    /// An input's dtype and shape.
    ///
    /// # Errors
    /// If there are not so many inputs.
    pub fn input(&self, i: usize) -> Result<Inferred> {
        if i >= self.arrays.len() {
            return Err(Error::new(format_args!("there is no input {i}")));
        }
        let lengths = self.arrays.lengths(i)?;
        let shape = (lengths != [UNKNOWN_RANK]).then(|| lengths.iter().map(|&n| usize::try_from(n).ok()).collect());
        Ok(Inferred { dtype: self.arrays.dtype(i)?, shape })
    }

    /// The operator's attributes.
    pub fn attributes(&self) -> &'a Attributes {
        self.attributes
    }
}

impl Inferred {
    /// Of a known shape.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Inferred { dtype, shape: Some(shape.iter().copied().map(Some).collect()) }
    }

    /// The lengths as the header writes them.
    pub(crate) fn lengths(&self) -> Result<Vec<i64>> {
        let Some(shape) = &self.shape else { return Ok(vec![UNKNOWN_RANK]) };
        let length = |n: &Option<usize>| n.map_or(Ok(UNKNOWN_LENGTH), i64::try_from);
        let too_large = |_| Error::new(format_args!("shape {shape:?} is too large"));
        shape.iter().map(length).collect::<Result<_, _>>().map_err(too_large)
    }
}

impl From<Info<'_>> for Inferred {
    fn from(info: Info<'_>) -> Self {
        Inferred::new(info.dtype, info.shape)
    }
}

impl From<Inferred> for Vec<Inferred> {
    fn from(output: Inferred) -> Self {
        vec![output]
    }
}
