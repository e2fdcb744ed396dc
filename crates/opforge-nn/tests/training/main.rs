//! Layers, losses and what trains them.

mod files;
mod layers;
mod loss;
mod optim;
mod schedule;
mod sequences;
