//! A product, and calls of single elements after it: they run on each rectangle of its output while that is in a cache, on the thread that made it.

use std::sync::Arc;

use opforge_core::{Error, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;
use smallvec::SmallVec;

use super::steps::{Place, Rooms, Step, Tensors, check, tensors};
use super::strips::Plans;

/// The first call of a [`Followed`].
pub struct Product {
    /// Its kernel, one with [rectangles](HostKernel::rectangles).
    pub kernel: Arc<dyn HostKernel>,
    /// Which inputs of the whole it reads.
    pub inputs: SmallVec<[usize; 3]>,
    /// Which output it writes. A later call may write over what it has read there.
    pub output: usize,
}

/// The whole: its calls after the product have kernels for each of [`sizes`](opforge_runtime::Rectangles::sizes), and operands' steps are by a row and
/// by a column, of all operands or of none also by a matrix before.
pub struct Followed {
    product: Product,
    steps: Vec<Step>,
    /// Steps of an operand.
    loops: usize,
    /// Rows of a matrix.
    rows: usize,
    sizes: Vec<[usize; 2]>,
    plans: Plans,
    tensors: (usize, usize),
    cost: u64,
}

impl Followed {
    /// The kernel of these calls, with so much working memory.
    ///
    /// # Errors
    /// Kernels without rectangles, operands without two or three steps each, and rectangles that no kernel is given for.
    pub fn new(product: Product, steps: Vec<Step>, local_bytes: usize) -> Result<Self> {
        let Some(rectangles) = product.kernel.rectangles() else {
            return Err(Error::value("program", "product", "another kernel", "one with rectangles"));
        };
        let (sizes, shape) = (rectangles.sizes(), rectangles.shape());
        let operands = || steps.iter().flat_map(Step::operands);
        let loops = operands().next().map_or(2, |operand| operand.steps.len());
        if !(2..=3).contains(&loops) || operands().any(|operand| operand.steps.len() != loops) {
            return Err(Error::value("program", "steps", "another number", "one by a row and one by a column"));
        }
        if sizes.is_empty() || steps.iter().any(|step| step.kernels.len() != sizes.len()) {
            return Err(Error::value("program", "kernels", "others", "one for each size of a rectangle"));
        }
        let own = product.inputs.iter().map(|&i| Place::Input(i)).chain([Place::Output(product.output)]);
        let tensors = tensors(operands().map(|operand| operand.place).chain(own));
        let area = |lengths: &[usize]| lengths.iter().product::<usize>() as u64;
        let calls: u64 = steps.iter().map(|step| step.kernels[0].cost()).sum();
        let cost = product.kernel.cost() + calls.saturating_mul(area(&shape).div_ceil(area(&sizes[0]).max(1)));
        let plans = Plans::new(&steps, sizes.len(), &[], local_bytes);
        Ok(Followed { product, steps, loops, rows: shape[1].max(1), sizes, plans, tensors, cost })
    }
}

impl HostKernel for Followed {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        check((inputs.len(), outputs.len()), self.tensors)?;
        let rooms = Rooms::new(num_threads(), self.plans.bytes)?;
        let tensors = Tensors { inputs, outputs };
        let then = |at: [usize; 2], size: [usize; 2]| {
            let known = self.sizes.iter().position(|known| *known == size);
            let size = known.ok_or_else(|| Error::msg("a rectangle of a size that was not announced"))?;
            let at = [at[0] / self.rows, at[0] % self.rows, at[1]];
            // SAFETY: the kernels are for rectangles of this size, of the caller's tensors; no other thread has this room or this rectangle.
            rooms.with(|local| unsafe { self.plans.run((&self.steps, size), &tensors, local, &at[3 - self.loops..]) })
        };
        let own: SmallVec<[*const u8; 4]> = self.product.inputs.iter().map(|&i| inputs[i]).collect();
        let rectangles = self.product.kernel.rectangles().expect("it had them when this was made");
        // SAFETY: the tensors are the caller's, those that the product's kernel was prepared for.
        unsafe { rectangles.run_then(&own, &[outputs[self.product.output]], &then) }
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
