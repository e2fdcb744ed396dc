//! Chains that one loop of their own carries out, without blocks.

use opforge_cpu::reduce::squares_of_differences;
use smallvec::SmallVec;

use super::chain::{Chain, Fused, Link};

/// The mean or sum of squared differences: nothing between the subtraction and the reduction is written, not even to a cache.
pub(super) fn fuse(chain: &Chain<'_>, wanted: &dyn Fn(usize) -> bool) -> Option<Fused> {
    let total = chain.total.as_ref()?;
    let calls: SmallVec<[&Link<'_>; 3]> = chain.links.iter().chain([total]).collect();
    let names: SmallVec<[&str; 3]> = calls.iter().map(|call| call.part.op.name()).collect();
    let mean = match names[..] {
        ["sub", "mean_square"] | ["sub", "sqr" | "mul", "mean"] => true,
        ["sub", "sqr" | "mul", "sum"] => false,
        _ => return None,
    };
    // A product is a square if both factors are what passes on.
    let passes = |pair: &[&Link<'_>]| {
        let (made, read) = (pair[0].result(), &pair[1].accesses[..pair[1].part.inputs.len()]);
        read.iter().all(|access| *access == made) && !wanted(made.storage)
    };
    let [x, y] = &calls[0].part.inputs[..] else { return None };
    let count = total.part.inputs[0].elem_count();
    let is_whole = x.elem_count() == count && y.elem_count() == count && total.part.outputs[0].dtype == x.dtype;
    if !is_whole || !calls.windows(2).all(passes) {
        return None;
    }
    let kernel = squares_of_differences(mean, x.dtype, count)?;
    Some(Fused { kernel, inputs: calls[0].accesses[..2].to_vec(), outputs: vec![total.result()] })
}
