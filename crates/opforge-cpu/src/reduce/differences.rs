//! Reductions of what the elements of one vector exceed those of another by, which is written nowhere.

use super::fold::FloatFold;
use super::kernel::{ReduceKernel, prepare_rows};
use super::plan::{Form, Plan};
use crate::loops::plan::LoopDims;
use opforge_core::DType;
use opforge_tile::Squares;
use std::sync::Arc;

/// [`Squares`] of the differences of two vectors of `count` elements, f32 or f64. The bits are those of three calls: of differences,
/// of squares, and of the sum or mean. None for other dtypes, and for so few elements that the result is not made in [parts](ReduceKernel::parts).
pub fn squares_of_differences(squares: Squares, dtype: DType, count: usize) -> Option<Arc<ReduceKernel>> {
    let (outer, reduced) = (LoopDims::new(), LoopDims::new());
    let plan = Plan { outer, reduced, count, repeats: 1, form: Form::Rows { len: count } };
    let kernel = match dtype {
        DType::F32 => prepare_rows(FloatFold::<_, f32, true>::new(squares), plan),
        DType::F64 => prepare_rows(FloatFold::<_, f64, true>::new(squares), plan),
        _ => return None,
    };
    kernel.parts().is_some().then_some(kernel)
}
