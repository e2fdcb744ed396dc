//! Reading and writing at places that integers name.

/// Elements at places that integers name: read, or written over a copy of the first input. Inputs are that input, the indices and, for writing, what is
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Index {
    /// What an index names.
    pub places: Places,
    /// Along which axis; of several the first.
    pub axis: usize,
    /// What an index means that is the largest of its dtype.
    pub on_max: OnMax,
    /// What is done there.
    pub access: Access,
}

/// What an index names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Places {
    /// One element: `out[.., i, ..] = x[.., ids[.., i, ..], ..]`.
    Elements,
    /// A slice: `out[.., i, ..] = x[.., ids[i], ..]`, where `i` may have several dimensions, or none.
    Slices,
    /// A slice along several neighbouring axes at once, by as many vectors: `out[.., i, ..] = x[.., ids0[i], ids1[i], ..]`. Negative ones count from the end.
    Tuples,
}

/// What is done at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// Written to, in order.
    Write(Combine),
}

/// How what is written meets what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Combine {
    /// The last of several stays.
    Set,
    /// Their sum; integers wrap, and a sum of truth values is whether any is true.
    Add,
    /// Their product; integers wrap.
    Multiply,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
}

/// What an index means that is the largest value of its dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnMax {
    /// The same as any other.
    Error,
    /// Nothing is there: reads give zero, writes are left out.
    Skip,
}
