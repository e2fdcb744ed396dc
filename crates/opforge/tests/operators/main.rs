//! Every operator of the registry against every check, and the operators that only gradients call.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;
mod forms;
mod gradients;
mod suite;
