//! Lines that are written to: their indices lie one after the other and name elements of one line of the output, which do too.

/// Indices of a line up to which a loop walks many lines: with more, what is done once a line does not matter.
pub(super) const LONGEST: usize = 64;

/// Lines at equal distances.
pub(super) struct Lines {
    /// Indices of a line, and elements of the output.
    pub n: usize,
    pub len: usize,
    /// The bytes between the elements that are read.
    pub step: isize,
    /// The bytes from line to line: of indices, of what is read, of what is written.
    pub apart: [isize; 3],
}

impl Lines {
    /// Calls `body` with the place of each line's indices, of what is read and of what is written, until it is false.
    #[inline(always)]
    pub fn all(&self, count: usize, mut body: impl FnMut([isize; 3]) -> bool) -> bool {
        (0..count as isize).all(|line| body(self.apart.map(|bytes| line * bytes)))
    }
}
