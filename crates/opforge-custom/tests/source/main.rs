//! From `path:Name` to a library: compiling, the cache, allow-lists, copies of libraries.

mod allow;
mod bench;
mod cache;
mod compile;
mod cuda;
mod prebuilt;
mod processes;
mod spec;
