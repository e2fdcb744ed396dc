//! What neural networks are made of.

mod activations;
mod bags;
mod conv;
pub(crate) mod conv_arguments;
mod ctc;
mod dropouts;
pub(crate) mod grid;
mod image_blocks;
mod instance_norm;
mod loss;
mod loss_margin;
mod pool;
mod pool_adaptive;
mod pool_fractional;
mod pool_places;
mod recurrent;
mod recurrent_gradient;
mod resize;
mod shuffles;

pub(crate) use recurrent_gradient::recurrent_gradient;

subject! {
    activations, bags, conv, ctc, dropouts, grid, image_blocks, instance_norm, loss, loss_margin, pool, pool_adaptive,
    pool_fractional, pool_places, recurrent, resize, shuffles,
}
