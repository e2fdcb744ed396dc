//! Windows over the last dimensions: convolutions, pooling, resampling.

use opforge_core::Scalar;
use opforge_macros::Attributes;

use super::{Sampled, Sampling};

/// The most spatial dimensions.
pub const MAX_SPATIAL: usize = 3;

/// How windows move along one spatial dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Window {
    /// From one output to the next.
    pub stride: usize,
    /// How far the first window begins before the input.
    pub padding: usize,
    /// From one element of a window to the next.
    pub dilation: usize,
}

impl Window {
    /// A dimension that is not there: length 1 everywhere.
    pub const UNIT: Window = Window { stride: 1, padding: 0, dilation: 1 };
}

/// What relates the three tensors of a convolution: the input `x [batch, groups c, X..]`, the weight `w [groups o, c, K..]` and the output
/// `y [batch, groups o, Y..]`, where position `t` of `y` and element `k` of the kernel meet position `t stride + k dilation - padding` of
/// `x`. What lies outside of `x` counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Geometry {
    /// The spatial dimensions, aligned at the end: missing ones come first and are [`Window::UNIT`].
    pub windows: [Window; MAX_SPATIAL],
    /// Independent groups of channels.
    pub groups: usize,
}

/// Which of a convolution's three tensors is computed from the other two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Part {
    /// The input: the transpose of the convolution, of an output and a weight.
    Input,
    /// The weight: its gradient, of an input and an output.
    Weight,
    /// The output, of an input and a weight.
    Output,
}

/// Which positions of the input a position of the output is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Windows {
    /// Windows of `kernel` elements that move along each dimension.
    Sliding {
        /// Elements of a window along each dimension.
        kernel: [usize; MAX_SPATIAL],
        /// How it moves.
        windows: [Window; MAX_SPATIAL],
    },
    /// As many windows as the output is long, about equal, that cover the input: from `floor(i n / m)` to `ceil((i + 1) n / m)` for output `i`
    /// of `m` and an input of length `n`.
    Adaptive,
}

/// What the sum over a window is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Divisor {
    /// The window's elements, those in the padding included.
    Padded,
    /// The window's elements within the input.
    Inside,
    /// A fixed number.
    Number(i64),
}

/// An average over windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Average {
    /// The windows.
    pub windows: Windows,
    /// What their sums are divided by.
    pub divisor: Divisor,
}

/// How a new element is made of old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Filter {
    /// The old element under the new one's beginning.
    Nearest,
    /// The old element under the new one's centre.
    NearestExact,
    /// A straight line between two.
    Linear,
    /// The cubic filter of four, with the parameter -0.75.
    Cubic,
    /// [`Filter::Linear`], stretched over all that becomes one element.
    Triangle,
    /// The cubic filter with the parameter -0.5, stretched over all that becomes one element.
    SmoothCubic,
}

/// How one dimension changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Stretch {
    /// How elements are made.
    pub filter: Filter,
    /// How far apart new elements are among the old ones, unless corners are aligned.
    pub scale: Scalar,
    /// Whether the first and last elements' centres stay in place.
    pub corners: bool,
}

impl Stretch {
    /// A dimension that stays as it is.
    pub const NONE: Stretch = Stretch { filter: Filter::Nearest, scale: Scalar::Float(1.0), corners: false };
}

/// How each of the last three dimensions changes, missing ones first.
pub type Stretches = [Stretch; MAX_SPATIAL];

/// Elements made of those under windows of the last dimensions, up to three. f16 and bf16 are summed in f32 and rounded once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Windowed {
    /// A tensor of a convolution from the other two. A third input is a bias, one number for each channel.
    Convolution {
        /// What relates the tensors.
        geometry: Geometry,
        /// What is computed.
        part: Part,
    },
    /// The average of each window.
    Average {
        /// What is averaged.
        average: Average,
        /// How many dimensions windows have.
        spatial: usize,
        /// Whether the input is a gradient of the averages, and the output that of what they were made of.
        gradient: bool,
    },
    /// The greatest element of each window, NaN if there is one. A second output is its place in the plane, of several the first.
    Greatest {
        /// The windows.
        windows: Windows,
        /// How many dimensions they have.
        spatial: usize,
    },
    /// The first input's elements, added up at the places in planes that the second input gives: each is under its element's window.
    Spread {
        /// The windows.
        windows: Windows,
        /// How many dimensions they have.
        spatial: usize,
    },
    /// Another length along each dimension.
    Resample {
        /// How new elements are made of old ones.
        how: Stretches,
        /// How many dimensions change.
        spatial: usize,
        /// Whether the input is a gradient of the new elements, and the output that of the old ones.
        gradient: bool,
    },
    /// Images at the places of a grid.
    Sample {
        /// How.
        sampling: Sampling,
        /// What is computed.
        part: Sampled,
    },
}
