//! Engines and what guards them: ranks that agree, wait, differ and leave. The same tests run on ranks that are threads and on ranks that sockets connect.
#![allow(clippy::duplicate_mod)]

#[path = "../common/mod.rs"]
mod common;
mod meeting;
mod over_sockets;
mod over_threads;
