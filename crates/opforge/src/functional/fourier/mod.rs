//! Fourier transforms: along one dimension, along several, and of short pieces of a signal.

mod lines;
mod one;
mod order;
mod several;
mod short_time;

subject! { one, order, several, short_time }
