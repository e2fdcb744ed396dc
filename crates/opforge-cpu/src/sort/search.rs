//! Places of values in sorted numbers.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Element, Error, Meta, Result, WithDType};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use crate::copy::Shared;

/// Values that a thread looks for at a time.
const CHUNK: usize = 2048;

/// The kernel that finds, for each value of its second input, its place in the ascending numbers of the first: how many of them are less, or,
/// with `right`, not greater. NaN counts as greater than every number.
///
/// The numbers are one vector for all values, or a vector for each row (the last dimension) of values. All are contiguous; the output, in i32
/// or i64, has the values' shape.
///
/// # Errors
/// Shape or dtype mismatch; bool and complex numbers.
pub fn search(
    op: &'static str,
    sorted: &Meta,
    values: &Meta,
    right: bool,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    if sorted.dtype != values.dtype {
        return Err(Error::dtypes(op, sorted.dtype, values.dtype));
    }
    let Some((&len, rows)) = sorted.dims().split_last() else {
        return Err(Error::shape(op, "sorted_sequence", "no dimensions", "rank at least 1"));
    };
    let own_rows = !rows.is_empty();
    if own_rows && values.dims().split_last().is_none_or(|(_, lead)| lead != rows) {
        return Err(Error::shapes(op, sorted.shape(), values.shape(), "equal lengths but in the last dimension"));
    }
    if values.dims() != output.dims() || [sorted, values, output].iter().any(|m| !m.layout.is_contiguous()) {
        return Err(Error::shapes(
            op,
            values.shape(),
            output.shape(),
            "contiguous tensors, the output like the values",
        ));
    }
    let per_row = if own_rows { values.dims().last().copied().unwrap_or(1) } else { usize::MAX };
    let count = values.elem_count();
    Ok(by_number!(op, sorted.dtype, T => match output.dtype {
        DType::I32 => Arc::new(Search::<T, i32> { len, per_row, count, right, types: PhantomData }) as Arc<dyn HostKernel>,
        DType::I64 => Arc::new(Search::<T, i64> { len, per_row, count, right, types: PhantomData }),
        other => return Err(Error::dtype(op, "output", other, "i32 or i64")),
    }))
}

struct Search<T, I> {
    len: usize,
    /// The values for each vector of numbers.
    per_row: usize,
    count: usize,
    right: bool,
    types: PhantomData<fn() -> (T, I)>,
}

impl<T: WithDType, I: Element + WithDType> HostKernel for Search<T, I> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (sorted, values) = (Shared(inputs[0].cast::<T>()), Shared(inputs[1].cast::<T>()));
        let out = Shared(outputs[0].cast::<I>());
        parallel_for(self.count, CHUNK, |range| {
            for i in range {
                // SAFETY: `i` is below `count`, the number of values and outputs; row `i / per_row` is one of the sorted, of `len`.
                unsafe {
                    let row = std::slice::from_raw_parts(sorted.get().add(i / self.per_row * self.len), self.len);
                    let value = *values.get().add(i);
                    let place = place(row, value, self.right);
                    out.get().add(i).write(I::from_f64(place as f64));
                }
            }
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        10 + 5 * self.count as u64 * u64::from(usize::BITS - self.len.leading_zeros())
    }
}

/// How many elements of an ascending row, in which NaN comes last, are less than a value; or, if `right`, not greater.
#[inline(always)]
#[allow(clippy::eq_op)]
fn place<T: WithDType>(row: &[T], value: T, right: bool) -> usize {
    match (value == value, right) {
        (true, false) => row.partition_point(|&x| x < value),
        (true, true) => row.partition_point(|&x| x <= value),
        (false, false) => row.partition_point(|&x| x == x),
        (false, true) => row.len(),
    }
}
