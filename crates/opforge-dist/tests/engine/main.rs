//! Engines and what guards them: ranks that agree, wait, differ and leave.

#[path = "../common/mod.rs"]
mod common;
mod guard;
mod queued;
mod threads;
