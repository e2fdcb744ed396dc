//! Balanced parts of a length.

use std::ops::Range;

/// Part `part` of `parts` of a length: the first `length % parts` of them are one longer than the others, and parts are empty where there are more
/// of them than elements.
///
/// ```
/// use opforge_dist::balanced;
///
/// assert_eq!([0, 1, 2].map(|part| balanced(7, 3, part)), [0..3, 3..5, 5..7]);
/// assert_eq!(balanced(1, 3, 2), 1..1);
/// ```
pub const fn balanced(length: usize, parts: usize, part: usize) -> Range<usize> {
    let (least, longer) = (length / parts, length % parts);
    let start = part * least + if part < longer { part } else { longer };
    start..start + least + (part < longer) as usize
}

/// The lengths of all parts.
pub(crate) fn lengths(length: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|part| balanced(length, parts, part).len()).collect()
}
