//! How a global tensor lies on its ranks, and which part each of them has.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Error, Result, Shape};

use crate::parts::balanced;
use crate::{Placement, Sbp};

/// A part of a tensor: a range along each of its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region(Vec<Range<usize>>);

impl Region {
    /// All of a tensor.
    pub fn whole(shape: &Shape) -> Self {
        Region(shape.dims().iter().map(|&length| 0..length).collect())
    }

    /// The ranges.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// The shape of the part.
    pub fn shape(&self) -> Shape {
        Shape::from_dims(&self.0.iter().map(ExactSizeIterator::len).collect::<Vec<_>>())
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.iter().map(ExactSizeIterator::len).product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is in both.
    pub fn intersection(&self, other: &Region) -> Region {
        let common = |(a, b): (&Range<usize>, &Range<usize>)| {
            let start = a.start.max(b.start);
            start..a.end.min(b.end).max(start)
        };
        Region(self.0.iter().zip(&other.0).map(common).collect())
    }

    /// Whether parts, one after the other, are this region's elements in row-major order.
    pub(crate) fn is_row_by_row<'a>(&self, parts: impl Iterator<Item = &'a Region>) -> bool {
        let Some(rows) = self.0.first() else { return false };
        let mut parts = parts.filter(|part| !part.is_empty());
        let end = parts.try_fold(rows.start, |row, part| {
            (part.0[0].start == row && part.0[1..] == self.0[1..]).then_some(part.0[0].end)
        });
        end == Some(rows.end)
    }

    /// Calls with the places, in elements, at which runs of `part` begin in this region and in another, and the runs' length. Both regions hold
    /// `part`, row by row.
    fn runs(&self, other: &Region, part: &Region, mut copy: impl FnMut(usize, usize, usize)) {
        if part.is_empty() {
            return;
        }
        let rank = part.0.len();
        let last = part.0.last().map_or(1, ExactSizeIterator::len);
        let mut index: Vec<usize> = part.0.iter().map(|range| range.start).collect();
        loop {
            copy(self.place(&index), other.place(&index), last);
            // The next row.
            let Some(dim) = (0..rank.saturating_sub(1)).rev().find(|&dim| index[dim] + 1 < part.0[dim].end) else {
                return;
            };
            index[dim] += 1;
            (dim + 1..rank).for_each(|later| index[later] = part.0[later].start);
        }
    }

    /// Where an element of the tensor is in this region.
    fn place(&self, index: &[usize]) -> usize {
        index.iter().zip(&self.0).fold(0, |place, (index, range)| place * range.len() + (index - range.start))
    }
}

/// Copies `part` from the bytes of one region to those of another; both hold it. Elements have `size` bytes.
pub(crate) fn copy(part: &Region, size: usize, (from, source): (&Region, &[u8]), (to, target): (&Region, &mut [u8])) {
    from.runs(to, part, |at, there, len| {
        target[there * size..][..len * size].copy_from_slice(&source[at * size..][..len * size]);
    });
}

/// A placement with an [`Sbp`] for each dimension of its mesh.
///
/// Where several dimensions of the mesh split the same dimension of the tensor, later ones split the parts of earlier ones. Where several are partial,
/// the value is reduced along the last of them first. Its text is `cpu[[0, 1], [2, 3]] [S(0), P(sum)]`.
///
/// ```
/// use opforge_core::Shape;
/// use opforge_dist::{Distribution, Sbp};
///
/// let split = Distribution::new("cpu[0, 1, 2]".parse()?, &[Sbp::Split(0)])?;
/// assert_eq!(split.region(&Shape::from((7, 2)), 1)?.ranges(), [3..5, 0..2]);
/// # Ok::<(), opforge_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Distribution {
    placement: Placement,
    sbp: Arc<[Sbp]>,
}

impl Distribution {
    /// A placement with an `Sbp` for each dimension of its mesh.
    ///
    /// # Errors
    /// Another number of them.
    pub fn new(placement: Placement, sbp: &[Sbp]) -> Result<Self> {
        let dims = placement.mesh().len();
        if sbp.len() != dims {
            let accepted = format!("{dims}, one for each dimension of {placement}");
            return Err(Error::value("distribution", "sbp", format!("{} of them", sbp.len()), accepted));
        }
        Ok(Distribution { placement, sbp: sbp.into() })
    }

    /// The placement.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How the tensor lies along each dimension of the mesh.
    pub fn sbp(&self) -> &[Sbp] {
        &self.sbp
    }

    /// Whether the tensor has the dimensions that are split.
    ///
    /// # Errors
    /// It has not, or its size overflows.
    pub fn check(&self, shape: &Shape) -> Result<()> {
        shape.check("distribution", 16)?;
        match self.sbp.iter().find(|sbp| matches!(sbp, Sbp::Split(axis) if *axis >= shape.rank())) {
            None => Ok(()),
            Some(sbp) => {
                let accepted = format!("a dimension of {:?}", shape.dims());
                Err(Error::index("distribution", "split", sbp, accepted))
            }
        }
    }

    /// The part of the rank at a position. Partial values cover what they are part of.
    ///
    /// # Errors
    /// As [`Distribution::check`]; there is no such position.
    pub fn region(&self, shape: &Shape, position: usize) -> Result<Region> {
        self.check(shape)?;
        let ranks = self.placement.ranks().len();
        if position >= ranks {
            return Err(Error::index("distribution", "position", position, format!("0 to {}", ranks - 1)));
        }
        Ok(self.part(shape, position))
    }

    /// As [`Distribution::region`], of a shape and a position that are right.
    pub(crate) fn part(&self, shape: &Shape, position: usize) -> Region {
        let mut region = Region::whole(shape);
        for (dim, sbp) in self.sbp.iter().enumerate() {
            if let Sbp::Split(axis) = sbp {
                let whole = region.0[*axis].clone();
                let coordinate = self.placement.coordinate(position, dim);
                let part = balanced(whole.len(), self.placement.mesh()[dim], coordinate);
                region.0[*axis] = whole.start + part.start..whole.start + part.end;
            }
        }
        region
    }

    /// The same placement with another `Sbp` along a dimension of the mesh.
    pub(crate) fn with(&self, dim: usize, sbp: Sbp) -> Self {
        let mut all = self.sbp.to_vec();
        all[dim] = sbp;
        Distribution { placement: self.placement.clone(), sbp: all.into() }
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.sbp.iter().any(|sbp| matches!(sbp, Sbp::Partial(_)))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sbp: Vec<String> = self.sbp.iter().map(Sbp::to_string).collect();
        write!(f, "{} [{}]", self.placement, sbp.join(", "))
    }
}

impl std::str::FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let accepted = "a placement and a list of Sbp, as cpu[[0, 1], [2, 3]] [S(0), P(sum)]";
            Error::value("distribution", "text", format!("{text:?}"), accepted)
        };
        let start = text.rfind('[').ok_or_else(wrong)?;
        let list = text[start..].trim().strip_prefix('[').and_then(|list| list.strip_suffix(']')).ok_or_else(wrong)?;
        let sbp = list.split(',').map(str::parse).collect::<Result<Vec<Sbp>>>()?;
        Distribution::new(text[..start].parse()?, &sbp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_dimensions_split_the_parts_of_earlier_ones() {
        let both = Distribution::new("cpu[[0, 1], [2, 3]]".parse().unwrap(), &[Sbp::Split(0), Sbp::Split(0)]).unwrap();
        let shape = Shape::from_dims(&[5]);
        let parts: Vec<_> = (0..4).map(|position| both.part(&shape, position).ranges()[0].clone()).collect();
        assert_eq!(parts, [0..2, 2..3, 3..4, 4..5]);
    }

    #[test]
    fn texts_are_read_back() {
        for text in ["cpu[0, 1] [S(0)]", "cpu[[0, 1], [2, 3]] [B, P(sum)]"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for text in ["", "cpu[0, 1]", "cpu[0, 1] [S(0), B]", "[S(0)]"] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let split = Distribution::new("cpu[0, 1]".parse().unwrap(), &[Sbp::Split(1)]).unwrap();
        assert!(split.region(&Shape::from_dims(&[5]), 0).is_err());
        assert!(split.region(&Shape::from_dims(&[5, 5]), 2).is_err());
        assert!(split.region(&Shape::from_dims(&[usize::MAX, 2]), 0).is_err());
        assert!(Distribution::new("cpu[0, 1]".parse().unwrap(), &[]).is_err());
    }

    #[test]
    fn parts_are_copied_row_by_row() {
        let region = |ranges: &[Range<usize>]| Region(ranges.to_vec());
        let (from, to) = (region(&[0..3, 1..4]), region(&[1..3, 0..3]));
        let part = from.intersection(&to);
        assert_eq!(part, region(&[1..3, 1..3]));
        let mut target = [0u8; 6];
        copy(&part, 1, (&from, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), (&to, &mut target));
        assert_eq!(target, [0, 4, 5, 0, 7, 8]);
        let scalar = region(&[]);
        let mut target = [0u8; 2];
        copy(&scalar, 2, (&scalar, &[7, 8]), (&scalar, &mut target));
        assert_eq!(target, [7, 8]);
    }
}
