//! A product and what follows it, as one kernel.

use std::sync::Arc;

use opforge_cpu::program::{Followed, Place, Product};
use opforge_runtime::Prepack;

use super::blocks::{Places, Sizes, steps};
use super::chain::{Access, Chain, Fused, Link};
use super::part::Part;
use crate::{Error, Result};

/// The kernel of a chain that begins with a product, of which an operand may lie arranged elsewhere.
pub(super) fn fuse(
    chain: &Chain<'_>,
    wanted: &dyn Fn(usize) -> bool,
    arranged: Option<(&Prepack, Access)>,
) -> Result<Fused> {
    let (product, followers) = (&chain.links[0], &chain.links[1..]);
    let op = product.part.op.name();
    let apart = || Error::value(op, "calls", "others", "a product, and calls of single elements of its result");
    let kernel = arranged.map_or_else(|| product.part.kernel(), |(prepack, _)| Ok(prepack.kernel.clone()))?;
    let rectangles = kernel.rectangles().ok_or_else(apart)?;
    let shape = rectangles.shape();
    let parts = followers.iter().map(|link| link.part.of_matrices(shape));
    let parts = parts.collect::<Option<Vec<Part>>>().ok_or_else(apart)?;
    let flat = Chain::with_parts(followers, &parts).map_err(|_| apart())?;
    // A single matrix is perhaps no loop.
    let loops = &flat.loops[..];
    let is_loop_of = |shape: &[usize]| loops.iter().map(|&class| flat.axes.len(class)).eq(shape.iter().copied());
    if !(is_loop_of(&shape) || shape[0] == 1 && is_loop_of(&shape[1..])) {
        return Err(apart());
    }
    let sizes = |[height, width]: [usize; 2]| {
        let lengths = [width, height, 1];
        Sizes { chain: &flat, of: loops.iter().rev().copied().zip(lengths).collect() }
    };
    let all: Vec<Sizes<'_>> = rectangles.sizes().into_iter().map(sizes).collect();

    let mut places = Places::new(&flat, None, wanted);
    let result = product.result();
    let output = (!wanted(result.storage)).then(|| written_over(&flat, product, &places)).flatten();
    let output = output.unwrap_or_else(|| {
        places.outputs.push(result);
        places.outputs.len() - 1
    });
    places.stand_in = Some((result, Place::Output(output)));
    let steps = steps(&flat, &all, &sizes([1, 1]), &mut places)?;
    let mut inputs = product.accesses[..product.part.inputs.len()].to_vec();
    if let Some((prepack, access)) = arranged {
        inputs[prepack.input] = access;
    }
    let inputs = inputs.into_iter().map(|access| places.input(access)).collect();
    let product = Product { kernel: kernel.clone(), inputs, output };
    let kernel = Arc::new(Followed::new(product, steps, places.local_bytes)?);
    Ok(Fused { kernel, inputs: places.inputs, outputs: places.outputs })
}

/// The output in whose place a product's result may lie that only the calls read: the last call's, if its elements are as large, and no call reads
/// what was there before.
fn written_over(chain: &Chain<'_>, product: &Link<'_>, places: &Places<'_>) -> Option<usize> {
    let (last, earlier) = chain.links.split_last()?;
    let [output] = &last.part.outputs[..] else { return None };
    let (result, target) = (product.result(), last.result());
    let is_as_large = output.dtype.size_in_bytes() == product.part.outputs[0].dtype.size_in_bytes();
    let uses = |access: &Access| access.storage == target.storage;
    let is_new = !product.accesses.iter().chain(earlier.iter().flat_map(|link| &link.accesses)).any(uses);
    let mut reads = last.accesses[..last.part.inputs.len()].iter().enumerate();
    let may_overwrite =
        |(i, access): (usize, &Access)| !uses(access) && (*access != result || last.part.op.overwrites(i));
    let fits = is_as_large && is_new && reads.all(may_overwrite);
    fits.then(|| places.outputs.iter().position(|output| *output == target)).flatten()
}
