//! What custom operators promise, are checked for and get.

mod bench;
mod check;
#[path = "../checked/mod.rs"]
mod checked;
#[path = "../common/mod.rs"]
mod common;
mod gradient;
mod schema;
