//! Copies whose neighbours in memory are not neighbours there: tiles in the memory of a group, read along one dimension and written along another.

use crate::code::Code;
use crate::kernel::LANES;
use crate::tensor::Tensor;
use crate::value::Value;

/// Rows and columns of a tile.
const TILE: usize = 32;

/// Elements from which on tiles are worth it.
const MANY: usize = 1 << 14;

/// The dimensions of a copy: elements are next to each other along `read` in what is read, along the last one in what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transposed {
    read: usize,
    written: usize,
}

impl Transposed {
    /// Whether a copy is one, from its lengths and the strides of both sides.
    pub fn of(dims: &[usize], from: &[usize], to: &[usize]) -> Option<Transposed> {
        let written = dims.len().checked_sub(1)?;
        let read = (0..written).find(|&d| from[d] == 1 && dims[d] >= TILE / 2)?;
        let is_worth_it = to[written] == 1 && dims[written] >= TILE / 2 && dims.iter().product::<usize>() >= MANY;
        is_worth_it.then_some(Transposed { read, written })
    }

    /// Writes the kernel: of a tensor of these lengths to another, whose elements begin at its `first`.
    pub fn write<'a>(self, k: &'a Code, dims: &[usize], x: &Tensor<'a>, y: &Tensor<'a>, first: Value<'a>) {
        let mut counts = dims.to_vec();
        let [read, written] = [self.read, self.written];
        for d in [read, written] {
            counts[d] = dims[d].div_ceil(TILE);
        }
        let sizes: Vec<_> = counts.iter().map(|&count| k.size(count)).collect();
        // A column more, so that columns are in different banks.
        let tile = k.shared(x.dtype.compute(), TILE * (TILE + 1));
        k.groups(counts.iter().product(), |group| {
            let mut corner = k.unravelled(group, &sizes);
            for d in [read, written] {
                corner[d] = corner[d] * TILE;
            }
            let within = |along: usize, across: usize, lane: Value<'a>, turn: usize| {
                let mut at = corner.clone();
                let (near, far) = (lane % TILE, lane / TILE + turn * (LANES / TILE));
                at[along] = at[along] + near;
                at[across] = at[across] + far;
                (at, near, far)
            };
            let turns = 0..TILE * TILE / LANES;
            k.lanes(LANES, |lane| {
                let load = |turn| {
                    let (mut at, near, far) = within(read, written, lane, turn);
                    // What is beyond the tensor is not written.
                    for d in [read, written] {
                        at[d] = at[d].min(x.dims[d] - 1);
                    }
                    (far * (TILE + 1) + near, x.load(&at))
                };
                let loaded: Vec<_> = turns.clone().map(load).collect();
                loaded.into_iter().for_each(|(place, element)| tile.store(place, element));
            });
            k.lanes(LANES, |lane| {
                for turn in turns.clone() {
                    let (at, near, far) = within(written, read, lane, turn);
                    let inside = at[read].lt(y.dims[read]) & at[written].lt(y.dims[written]);
                    let element = tile.load(near * (TILE + 1) + far);
                    k.when(inside, || y.store_at(y.place(&at) + first, element));
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Transposed;

    #[test]
    fn copies_that_keep_the_last_dimension_are_none() {
        let transposed = |dims: &[usize], from: &[usize]| Transposed::of(dims, from, &[dims[1] * dims[2], dims[2], 1]);
        assert_eq!(transposed(&[4, 64, 128], &[8192, 1, 64]), Some(Transposed { read: 1, written: 2 }));
        assert_eq!(transposed(&[64, 4, 128], &[1, 8192, 64]), Some(Transposed { read: 0, written: 2 }));
        assert_eq!(transposed(&[4, 64, 128], &[128, 512, 1]), None);
        assert_eq!(transposed(&[4096, 8, 3], &[1, 4096, 32768]), None);
    }
}
