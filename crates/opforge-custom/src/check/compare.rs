//! Where results differ, told for people.

use opforge::DType;

use super::stage::{Argument, Seen};
use super::values;

/// The first element that differs.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    /// The element, counted in row-major order.
    pub element: usize,
    /// Its bytes on either side.
    pub first: Vec<u8>,
    pub second: Vec<u8>,
    /// How many elements differ, of how many.
    pub count: usize,
    pub total: usize,
}

/// The first result that differs in any bit between two runs.
pub(super) fn results<'a>(
    arguments: &'a [Argument],
    first: &Seen,
    second: &Seen,
) -> Option<(&'a Argument, Difference)> {
    let results = arguments.iter().enumerate().filter(|(_, argument)| argument.is_result());
    let difference = |(i, argument): (usize, &'a Argument)| {
        let size = argument.dtype.size_in_bytes();
        Some((argument, elements(&first.contents[i], &second.contents[i], size)?))
    };
    results.filter_map(difference).next()
}

/// The first element that differs in any bit, of elements of `size` bytes.
fn elements(first: &[u8], second: &[u8], size: usize) -> Option<Difference> {
    if first == second {
        return None;
    }
    let pairs = first.chunks_exact(size).zip(second.chunks_exact(size));
    let differing: Vec<usize> = pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect();
    let element = *differing.first()?;
    let at = element * size..(element + 1) * size;
    let (count, total) = (differing.len(), first.len() / size);
    Some(Difference { element, first: first[at.clone()].to_vec(), second: second[at].to_vec(), count, total })
}

impl Difference {
    /// The element, as in `output 0[1, 2]`.
    pub fn place(&self, argument: &Argument) -> String {
        place(argument, self.element)
    }

    pub fn tell(&self, argument: &Argument, first: &str, second: &str) -> String {
        let (a, b) = (value(&self.first, argument.dtype), value(&self.second, argument.dtype));
        let Difference { count, total, .. } = self;
        format!("{} is {first} {a}, {second} {b} ({count} of {total} elements differ)", self.place(argument))
    }
}

/// An element of an argument, as in `output 0[1, 2]`.
pub(super) fn place(argument: &Argument, element: usize) -> String {
    let (mut left, mut index) = (element, argument.shape.clone());
    for i in index.iter_mut().rev() {
        let n = (*i).max(1);
        (*i, left) = (left % n, left / n);
    }
    if index.is_empty() { argument.name.clone() } else { format!("{}{index:?}", argument.name) }
}

/// An element as text; its bytes where it is none of its dtype.
fn value(bytes: &[u8], dtype: DType) -> String {
    let is_element = dtype != DType::Bool || bytes.iter().all(|byte| *byte < 2);
    let element = || values::tensor(bytes, &[], dtype).ok()?.to_scalars().ok()?.first().copied();
    match is_element.then(element).flatten() {
        Some(element) => element.to_string(),
        None => format!("{bytes:x?}"),
    }
}
