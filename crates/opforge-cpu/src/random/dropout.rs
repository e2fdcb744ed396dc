//! Elements that are dropped at random, and the others scaled.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_tile::{BinaryFn, Float};

use super::multiples;
use super::target::Target;
use crate::elementwise;

/// The kernel that multiplies each element of `input` by `1 / keep`, with this probability, or else by 0. Its inputs are the key and the elements, contiguous
/// and of the output's shape and dtype.
///
/// # Errors
/// A probability outside of 0 to 1; dtypes that are no floats; a wrong key, other layouts and shapes.
pub fn dropout<'a>(
    op: &'static str,
    keep: f64,
    key: &Meta,
    input: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    let target = target.into();
    let output = target.meta;
    if input.shape() != output.shape() || !input.layout.is_contiguous() {
        return Err(Error::shapes(op, input.shape(), output.shape(), "a contiguous input of the output's shape"));
    }
    let product = elementwise::binary(op, Product, input, output, output)?;
    let factors = multiples(op, keep, 1.0 / keep, key, target)?;
    Ok(Arc::new(Dropout { factors, product }))
}

#[derive(Clone, Copy)]
struct Product;

impl BinaryFn for Product {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a * b
    }
}

/// Draws factors where the result will be, and multiplies by them there.
struct Dropout {
    factors: Arc<dyn HostKernel>,
    product: Arc<dyn HostKernel>,
}

impl HostKernel for Dropout {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the key and the output are as `run` demands, and the factors' kernel writes all of the output before it is read. Functions of single elements
        // may write over what they read, which has the output's layout.
        unsafe {
            self.factors.run(&inputs[..1], outputs)?;
            self.product.run(&[inputs[1], outputs[0].cast_const()], outputs)
        }
    }

    fn cost(&self) -> u64 {
        self.factors.cost() + self.product.cost()
    }
}
