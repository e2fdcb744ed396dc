//! Functions that are computed one element at a time, and known by name.

/// A function of f64 that vectors compute lane by lane and a tracer records by its name.
#[derive(Debug, Clone, Copy)]
pub struct Intrinsic<F> {
    /// Its name, unique among the intrinsics of as many arguments.
    pub name: &'static str,
    /// The function; of C, so that what was printed from a trace can call it.
    pub function: F,
}

/// A function of one number.
pub type Of1 = extern "C" fn(f64) -> f64;
/// A function of two numbers.
pub type Of2 = extern "C" fn(f64, f64) -> f64;
