//! Tensors seen in another way, cut, joined and arranged.

mod arrange;
mod diagonals;
mod join;
mod padding;
mod split;
mod views;

subject! { arrange, diagonals, join, padding, split, views }
