//! Pooling: the greatest, or the average, of the elements under each position of a window.

mod average;
mod average_near;
mod max;
mod max_near;
mod max_wide;
mod neighbours;
mod windows;

pub use average::{average_pool, average_pool_gradient};
pub use max::{max_pool, max_pool_gradient};
pub use opforge_tile::forms::{Average, Divisor, Windows};

use opforge_core::{Error, Meta, Result};

/// Refuses an output that is not contiguous or of another dtype than its model's.
fn check_output(op: &'static str, output: &Meta, model: &Meta) -> Result<()> {
    if output.dtype != model.dtype {
        return Err(Error::dtypes(op, model.dtype, output.dtype));
    }
    if !output.layout.is_contiguous() {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "contiguous"));
    }
    Ok(())
}
