//! Where distances lie.

/// Where the distance of rows `i` and `j` lies, in elements.
#[derive(Clone, Copy)]
pub(super) enum Places {
    /// At `[i, j]` of a matrix.
    Matrix { row: usize, column: usize },
    /// Of rows `i < j` of so many, row by row.
    Pairs { rows: usize, step: usize },
}

/// Elements of the same distance from each other.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub first: usize,
    pub step: usize,
}

impl Places {
    /// Of the strides of a matrix' last two dimensions, or of a row of pairs of `rows` rows.
    pub fn new(pairs: bool, rows: usize, [row, column]: [usize; 2]) -> Self {
        if pairs { Places::Pairs { rows, step: column } } else { Places::Matrix { row, column } }
    }

    /// The first column that row `i` has.
    pub fn begin(self, i: usize) -> usize {
        match self {
            Places::Matrix { .. } => 0,
            Places::Pairs { .. } => i + 1,
        }
    }

    /// The distances of row `i`, from column `j` on.
    pub fn along(self, i: usize, j: usize) -> Line {
        match self {
            Places::Matrix { row, column } => Line { first: i * row + j * column, step: column },
            Places::Pairs { rows, step } => Line { first: (i * (2 * rows - i - 1) / 2 + j - i - 1) * step, step },
        }
    }

    /// The distances of column `j`, from row `i` on; of pairs, rows are below that of number `j`.
    pub fn down(self, i: usize, j: usize) -> Line {
        match self {
            Places::Matrix { row, column } => Line { first: i * row + j * column, step: row },
            Places::Pairs { .. } => self.along(j, i),
        }
    }

    /// The matrix transposed.
    pub fn transposed(self) -> Self {
        match self {
            Places::Matrix { row, column } => Places::Matrix { row: column, column: row },
            pairs => pairs,
        }
    }
}
