//! What neural networks are made of.

mod activations;
mod bags;
mod conv;
pub(crate) mod conv_arguments;
mod ctc;
mod dropouts;
mod grid;
mod image_blocks;
mod instance_norm;
mod loss;
mod loss_margin;
mod pool;
mod pool_adaptive;
mod pool_fractional;
mod pool_places;
mod recurrent;
mod resize;
mod shuffles;

pub use activations::*;
pub use bags::*;
pub use conv::*;
pub use ctc::*;
pub use dropouts::*;
pub use grid::*;
pub use image_blocks::*;
pub use instance_norm::*;
pub use loss::*;
pub use loss_margin::*;
pub use pool::*;
pub use pool_adaptive::*;
pub use pool_fractional::*;
pub use pool_places::*;
pub use recurrent::*;
pub use resize::*;
pub use shuffles::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[
    activations::FUNCTIONS,
    bags::FUNCTIONS,
    conv::FUNCTIONS,
    ctc::FUNCTIONS,
    dropouts::FUNCTIONS,
    grid::FUNCTIONS,
    image_blocks::FUNCTIONS,
    instance_norm::FUNCTIONS,
    loss::FUNCTIONS,
    loss_margin::FUNCTIONS,
    pool::FUNCTIONS,
    pool_adaptive::FUNCTIONS,
    pool_fractional::FUNCTIONS,
    pool_places::FUNCTIONS,
    recurrent::FUNCTIONS,
    resize::FUNCTIONS,
    shuffles::FUNCTIONS,
];
