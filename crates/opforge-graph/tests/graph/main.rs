//! Traced functions and the graphs that they become.

#[path = "../common/mod.rs"]
mod common;
mod dynamic;
mod followed;
mod function;
mod functions;
mod inside;
mod laws;
mod packed;
mod passes;
mod save;
mod views;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by tests that compare what the process's generator draws.
fn generator() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}
