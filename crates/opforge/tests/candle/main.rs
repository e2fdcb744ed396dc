//! candle-core's names and values, in programs as its users write them.

mod custom_op;
mod display;
mod idioms;
mod methods;
mod names;
mod programs;
mod values;
