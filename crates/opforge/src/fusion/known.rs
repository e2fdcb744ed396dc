//! Chains that one loop of their own carries out, without blocks.

use opforge_cpu::reduce::mean_square_of_differences;
use smallvec::SmallVec;

use super::chain::{Chain, Fused, Link};

/// The mean of squared differences: nothing between the subtraction and the mean is written, not even to a cache.
pub(super) fn fuse(chain: &Chain<'_>, wanted: &dyn Fn(usize) -> bool) -> Option<Fused> {
    let total = chain.total.as_ref()?;
    let calls: SmallVec<[&Link<'_>; 3]> = chain.links.iter().chain([total]).collect();
    let names: SmallVec<[&str; 3]> = calls.iter().map(|call| call.part.op.name()).collect();
    if !matches!(names[..], ["sub", "mean_square"] | ["sub", "sqr", "mean"]) {
        return None;
    }
    let passes = |pair: &[&Link<'_>]| pair[1].accesses[0] == pair[0].result() && !wanted(pair[0].result().storage);
    let [x, y] = &calls[0].part.inputs[..] else { return None };
    let count = total.part.inputs[0].elem_count();
    let is_whole = x.elem_count() == count && y.elem_count() == count;
    if !is_whole || !calls.windows(2).all(passes) {
        return None;
    }
    let kernel = mean_square_of_differences(x.dtype, count)?;
    Some(Fused { kernel, inputs: calls[0].accesses[..2].to_vec(), outputs: vec![total.result()] })
}
