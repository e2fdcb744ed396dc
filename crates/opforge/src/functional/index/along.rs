//! Scalars in functions that index along a dimension: they count as tensors of one element.

use crate::functional::constant_in;
use crate::{Result, Tensor};

/// `f` of a tensor, indices into a dimension of it and values for them; scalars count as one element. Without indices it is a copy.
#[track_caller]
pub(crate) fn along_dimension(
    input: &Tensor,
    index: &Tensor,
    src: &Tensor,
    f: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if index.elem_count() == 0 {
        return constant_in(input.copy()?, &[src]);
    }
    if [input, index, src].iter().all(|t| t.rank() > 0) {
        return f(input, index, src);
    }
    let line = |t: &Tensor| if t.rank() == 0 { t.reshape(1) } else { Ok(t.clone()) };
    f(&line(input)?, &line(index)?, &line(src)?)?.reshape(input.shape())
}
