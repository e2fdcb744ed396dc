//! Sets of the elements of `[batch, channels, ..]`, which are normalised together: packs of elements that lie side by side.

use opforge_core::{DType, Meta};
use opforge_tile::forms::Over;

use crate::code::Code;
use crate::pack;
use crate::program::Place;
use crate::team::{Line, Rows, Team};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

use super::reduce::parts;

/// A tensor of the call, and its steps along batch, channels, and planes.
#[derive(Clone)]
struct Laid {
    place: Place,
    dtype: DType,
    steps: Vec<usize>,
}

/// How `[batch, channels, ..]` is divided: sets, each of so many runs of a plane.
#[derive(Clone)]
pub(super) struct Sets {
    over: Over,
    /// Batch, channels, and the lengths of planes, in as few dimensions as all tensors allow.
    dims: Vec<usize>,
    /// Elements of a pack, which is part of one plane.
    width: usize,
    tensors: Vec<Laid>,
}

impl Sets {
    /// Of tensors of one shape.
    pub fn new(over: Over, tensors: &[(Place, &Meta)]) -> Self {
        let strides: Vec<&[usize]> = tensors.iter().map(|(_, meta)| meta.layout.stride()).collect();
        let inner: Vec<&[usize]> = strides.iter().map(|stride| &stride[2..]).collect();
        let shape = tensors[0].1.dims();
        let (plane, inner) = collapsed(&shape[2..], &inner);
        let laid = tensors.iter().zip(&strides).zip(&inner);
        let laid = laid.map(|(((place, meta), stride), inner)| Laid {
            place: *place,
            dtype: meta.dtype,
            steps: [&stride[..2], inner].concat(),
        });
        let (tensors, dims): (Vec<Laid>, _) = (laid.collect(), [&shape[..2], &plane].concat());
        let lying = tensors.iter().map(|laid| (laid.dtype, &laid.steps[..]));
        // A pack of several channels would have several sets.
        let width = if plane.is_empty() { 1 } else { pack::width(&dims, lying) };
        Sets { over, dims, width, tensors }
    }

    /// The least sets that others are made of: whole channels, or those of one element of the batch.
    pub fn slots(&self) -> Self {
        let over = match self.over {
            Over::Batch => Over::Batch,
            Over::Groups(_) => Over::Groups(self.dims[1]),
        };
        Sets { over, ..self.clone() }
    }

    pub fn count(&self) -> usize {
        match self.over {
            Over::Batch => self.dims[1],
            Over::Groups(groups) => self.dims[0] * groups,
        }
    }

    /// Elements of a pack.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The planes of a set.
    pub fn runs(&self) -> usize {
        match self.over {
            Over::Batch => self.dims[0],
            Over::Groups(groups) => self.dims[1] / groups.max(1),
        }
    }

    /// The elements of a set.
    pub fn len(&self) -> usize {
        self.runs() * self.dims[2..].iter().product::<usize>()
    }

    /// The sets, and the packs of each.
    fn rows(&self) -> Rows {
        let steps = &self.tensors[0].steps;
        let own = if self.dims.len() > 2 { steps.last() } else { steps.first() };
        let across = matches!(self.over, Over::Batch) && own != Some(&1) && steps[1] == 1;
        Rows::new(self.count(), self.len() / self.width, across)
    }

    /// How sets that are few and long are divided, each in so many parts of so many packs; none where they are not.
    pub fn parts(&self) -> Option<Parts> {
        let rows = self.rows();
        parts(rows).map(|len| Parts { count: rows.len.div_ceil(len), len })
    }

    /// Sets that are one part each.
    pub fn whole(&self) -> Parts {
        Parts { count: 1, len: self.rows().len }
    }

    /// The tensor of this number in a kernel.
    pub fn tensor<'a>(&self, k: &'a Code, i: usize) -> Tensor<'a> {
        let Laid { place, dtype, steps } = &self.tensors[i];
        k.strided(*place, *dtype, &self.dims, steps, matches!(place, Place::Output(_)))
    }

    pub fn written<'a>(&self, k: &'a Code) -> SetsOf<'a> {
        let groups = match self.over {
            Over::Batch => None,
            Over::Groups(groups) => Some(k.size(groups)),
        };
        let packs = pack::in_packs(&self.dims[2..], self.width);
        let plane = k.size(packs.iter().product());
        let sizes = packs.iter().map(|&n| k.size(n)).collect();
        SetsOf { k, groups, runs: k.size(self.runs()), plane, sizes, width: self.width }
    }

    /// For every part of every set a team, part by part: the row of part `p` of set `s` is `p count + s`.
    pub fn teams<'a>(&self, k: &'a Code, of: Parts, body: impl FnOnce(&Team<'_, 'a, Part<'a>>)) {
        let rows = self.rows();
        let (count, all, most) = (k.size(rows.count), k.size(rows.len), k.size(of.len));
        let locate = |row: Value<'a>| {
            let [part, set] = if of.count == 1 { [k.index(0), row] } else { row.divided(count) };
            let first = part * most;
            (Part { set, first }, (all - first).min(most))
        };
        k.teams(Rows { count: rows.count * of.count, len: of.len, ..rows }, locate, body);
    }

    /// For every pack a thread: where it is, and its set.
    pub fn each<'a>(&self, k: &'a Code, body: impl FnOnce(&[Value<'a>], Value<'a>)) {
        let of = self.written(k);
        k.each_of(&pack::in_packs(&self.dims, self.width), |at| body(at, of.set(at[0], at[1])));
    }
}

/// How sets are divided: the parts of each, and the packs of a part but the last.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub count: usize,
    pub len: usize,
}

/// A part of a set: which, and its first pack.
pub(super) struct Part<'a> {
    pub set: Value<'a>,
    first: Value<'a>,
}

/// Sets in a kernel.
pub(super) struct SetsOf<'a> {
    pub k: &'a Code,
    groups: Option<Value<'a>>,
    runs: Value<'a>,
    /// The packs of a plane, and the lengths that these have.
    plane: Value<'a>,
    sizes: Vec<Value<'a>>,
    pub width: usize,
}

impl<'a> SetsOf<'a> {
    /// The batch's element and the channel of a set's run.
    pub fn run(&self, set: Value<'a>, run: Value<'a>) -> [Value<'a>; 2] {
        match self.groups {
            None => [run, set],
            Some(groups) => {
                let [batch, group] = set.divided(groups);
                [batch, group * self.runs + run]
            }
        }
    }

    /// Where in tensors pack `i` of a part is.
    pub fn at(&self, part: &Part<'a>, i: Value<'a>) -> Vec<Value<'a>> {
        let [run, inside] = (part.first + i).divided(self.plane);
        let mut at = self.run(part.set, run).to_vec();
        at.extend(self.k.unravelled(inside, &self.sizes));
        at
    }

    /// The elements of a line that is a part, as a float.
    pub fn count(&self, line: &Line<'a, Part<'a>>, dtype: DType) -> Value<'a> {
        (line.len * self.width).to(dtype)
    }

    /// The set of an element of a batch and a channel.
    pub fn set(&self, batch: Value<'a>, channel: Value<'a>) -> Value<'a> {
        match self.groups {
            None => channel,
            Some(groups) => batch * groups + channel.divided(self.runs)[0],
        }
    }
}

/// The sum of a pack's values.
pub(super) fn sum<'a>(values: &[Value<'a>]) -> Value<'a> {
    values[1..].iter().fold(values[0], |sum, &value| sum + value)
}

#[cfg(test)]
mod tests {
    use opforge_core::{DType, Layout, Meta};
    use opforge_tile::forms::Over;

    use super::Sets;
    use crate::program::Place;

    fn of(over: Over, meta: &Meta) -> Sets {
        Sets::new(over, &[(Place::Input(0), meta), (Place::Output(0), &Meta::contiguous(meta.dtype, meta.shape()))])
    }

    /// The parts of each set, their packs, and the elements of a pack.
    fn divided(sets: &Sets) -> (Option<(usize, usize)>, usize) {
        (sets.parts().map(|parts| (parts.count, parts.len)), sets.width())
    }

    #[test]
    fn few_and_long_sets_are_divided() {
        let meta = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
        assert_eq!(divided(&of(Over::Batch, &meta(&[32, 128, 56, 56]))), (Some((8, 3136)), 4));
        assert_eq!(divided(&of(Over::Batch, &meta(&[32, 128, 7, 7]))), (None, 1));
        assert_eq!(divided(&of(Over::Groups(2), &meta(&[2, 6, 90, 80]))), (Some((5, 1080)), 4));
        assert_eq!(divided(&of(Over::Groups(2), &meta(&[2, 6, 90, 80])).slots()), (None, 4));
        assert_eq!(divided(&of(Over::Groups(32), &meta(&[64, 64, 8, 8]))), (None, 4));
    }

    #[test]
    fn neighbours_in_memory_are_read_together() {
        let rows = of(Over::Batch, &Meta::contiguous(DType::F32, (9000, 35))).rows();
        assert!(rows.across && (rows.count, rows.len) == (35, 9000));
        let layout = Layout::new((8, 16, 32, 32).into(), [16384, 1, 512, 16].as_slice().into(), 0, "test");
        let last = of(Over::Batch, &Meta { dtype: DType::F32, layout: layout.expect("a layout") });
        assert!(last.rows().across && last.width() == 1);
        assert!(!of(Over::Batch, &Meta::contiguous(DType::F32, (8, 16, 32, 32))).rows().across);
    }
}
