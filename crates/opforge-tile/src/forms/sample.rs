//! Images sampled at any places.

use opforge_macros::Attributes;

/// What an image is between its elements, whose centres have whole numbers for places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Between {
    /// The nearest element; of two the even one.
    Nearest,
    /// Straight lines between neighbours.
    Linear,
    /// The cubic filter of four elements, with the parameter -0.75.
    Cubic,
}

/// What lies beyond an image's edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Outside {
    /// Zeros.
    Zeros,
    /// What is at the edge.
    Border,
    /// The mirror's image: mirrors are in the corners' centres, or on the outer edges.
    Reflection,
}

/// How an image is sampled at the places of a grid, from -1 to 1 along each dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Sampling {
    /// What is between elements.
    pub between: Between,
    /// What is beyond them.
    pub outside: Outside,
    /// Whether -1 and 1 are the centres of the corners, not the outer edges.
    pub corners: bool,
}

/// Which of the tensors is computed: the samples `y [n, channels, Y..]` of images `x [n, channels, X..]` at a grid `[n, Y.., spatial]`, whose last
/// dimension tells places along the last of the spatial dimensions first; or a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Sampled {
    /// The samples, of image and grid.
    Output,
    /// The image's gradient, of that of the samples, and the grid.
    Image,
    /// The grid's gradient, of that of the samples, image and grid.
    Grid,
}
