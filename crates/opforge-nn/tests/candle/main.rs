//! candle-nn's names and values, in programs as its users write them.

mod attention;
mod broadcast;
mod errors;
mod items;
mod layers;
mod models;
mod program;
mod storage;
