//! The nested loops of an elementwise kernel, from the layouts of its tensors.

use opforge_core::Meta;
use smallvec::SmallVec;

/// One loop over `K` inputs and an output: `len` steps, each of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis<const K: usize> {
    pub len: usize,
    pub input: [isize; K],
    pub output: isize,
}

impl<const K: usize> Axis<K> {
    /// A loop of one step.
    pub const ONCE: Self = Axis { len: 1, input: [0; K], output: 0 };

    /// Whether this loop around `inner` acts as one longer loop.
    fn continues(&self, inner: &Self) -> bool {
        let len = inner.len as isize;
        self.output == inner.output * len && (0..K).all(|k| self.input[k] == inner.input[k] * len)
    }
}

pub(super) type Axes<const K: usize> = SmallVec<[Axis<K>; 4]>;

/// The nested loops over layouts of equal shape, outermost first: ordered so that the output is walked as sequentially as can be, and joined
/// where several act as one. None where the shape is empty.
pub(super) fn collapse<const K: usize>(inputs: [&Meta; K], output: &Meta) -> Option<Axes<K>> {
    let step = |meta: &Meta, dim: usize| (meta.layout.stride()[dim] * meta.dtype.size_in_bytes()) as isize;
    let mut sorted: SmallVec<[Axis<K>; 6]> = SmallVec::new();
    for (dim, &len) in output.dims().iter().enumerate() {
        match len {
            0 => return None,
            1 => {}
            _ => sorted.push(Axis { len, input: inputs.map(|x| step(x, dim)), output: step(output, dim) }),
        }
    }
    sorted.sort_by_key(|axis| std::cmp::Reverse(axis.output));
    let mut axes: Axes<K> = SmallVec::new();
    for inner in sorted {
        match axes.last_mut() {
            Some(outer) if outer.continues(&inner) => *outer = Axis { len: outer.len * inner.len, ..inner },
            _ => axes.push(inner),
        }
    }
    Some(axes)
}
