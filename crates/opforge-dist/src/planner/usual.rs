//! What people choose by hand, to begin with and to compare with.

use std::collections::HashSet;

use super::Space;
use super::ledger::Use;
use super::space::{Choice, Kind};

/// The usual ways, by name.
pub(super) fn usual(space: &Space, uses: &[Use]) -> Vec<(&'static str, Choice)> {
    let all: Vec<usize> = (0..space.dims()).collect();
    let mut ways = vec![
        ("nothing split", space.whole()),
        ("data parallel", data(space, &all)),
        ("data parallel, weights split", weights(space, &all)),
        ("columns and rows", columns_and_rows(space, uses, &[], &all)),
    ];
    if let [outer @ .., inner] = &all[..]
        && !outer.is_empty()
    {
        ways.push(("data parallel, columns and rows", columns_and_rows(space, uses, outer, &[*inner])));
    }
    ways
}

/// Samples are split along dimensions of the mesh.
fn data(space: &Space, dims: &[usize]) -> Choice {
    let mut choice = space.whole();
    let inputs = (0..choice.len()).filter(|&variable| space.variables()[variable].kind == Kind::Input);
    inputs.for_each(|input| dims.iter().for_each(|&dim| space.split(&mut choice, input, dim, 0)));
    choice
}

/// Samples are split, and each weight along its first dimension, to be brought together where it is used.
fn weights(space: &Space, dims: &[usize]) -> Choice {
    let mut choice = data(space, dims);
    let weights = (0..choice.len()).filter(|&variable| space.variables()[variable].kind == Kind::Weight);
    weights.for_each(|weight| dims.iter().for_each(|&dim| space.split(&mut choice, weight, dim, 0)));
    choice
}

/// Weights that are multiplied with the same data are split by columns, those that come next by rows, and so on in turns, so that what lies between needs no boxing
/// (Shoeybi et al., Megatron-LM, 2019); samples are split along the outer dimensions.
fn columns_and_rows(space: &Space, uses: &[Use], outer: &[usize], inner: &[usize]) -> Choice {
    let mut choice = data(space, outer);
    let (mut by_columns, mut last) = (false, None);
    let mut chosen = HashSet::new();
    for product in uses {
        if !chosen.insert(product.weight) {
            continue;
        }
        if last != Some(product.data) {
            (by_columns, last) = (!by_columns, Some(product.data));
        }
        let axis = if by_columns { product.column } else { product.row };
        inner.iter().for_each(|&dim| space.split(&mut choice, product.weight, dim, axis));
        if let (true, Some(bias)) = (by_columns, product.bias) {
            inner.iter().for_each(|&dim| space.split(&mut choice, bias, dim, 0));
        }
    }
    choice
}
