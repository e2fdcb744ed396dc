//! What tensors of several kinds are, and functions that are made of several operators.

mod attention;
mod complex;
mod destination;
mod float8;
mod functions;
mod halves;
mod indexing;
mod limits;
mod quantized;
mod recurrent;
mod spine;
