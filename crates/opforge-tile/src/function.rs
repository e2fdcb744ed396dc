//! The families of tile functions. Every method of an implementation must be `#[inline(always)]`: it is compiled inside the loop that enables the
//! instruction set.

use crate::{Float, Int, Mask};

/// A function of one element.
pub trait UnaryFn: Copy + Send + Sync + 'static {
    /// Whether integers have the function; then [`int`](UnaryFn::int) must be implemented.
    const INT: bool = false;
    /// Whether truth values have the function; then [`boolean`](UnaryFn::boolean) must be implemented.
    const BOOL: bool = false;
    /// Roughly the picoseconds an element takes on one core, in the cache.
    const PICOSECONDS: usize = 100;
    /// Of a function that changes nothing of a float but its sign: whether the result is negative, by whether the argument is. Floats of 16 bits are
    /// not converted then.
    const SIGN: Option<fn(bool) -> bool> = None;

    /// The function of floats.
    fn float<V: Float>(self, x: V) -> V;
    /// The function of integers.
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        const { assert!(!Self::INT, "INT demands an implementation of `int`") };
        x
    }
    /// The function of truth values.
    #[inline(always)]
    fn boolean<M: Mask>(self, x: M) -> M {
        const { assert!(!Self::BOOL, "BOOL demands an implementation of `boolean`") };
        x
    }
}

/// A function of two elements.
pub trait BinaryFn: Copy + Send + Sync + 'static {
    /// Whether floats have the function; then [`float`](BinaryFn::float) must be implemented.
    const FLOAT: bool = true;
    /// Whether integers have the function; then [`int`](BinaryFn::int) must be implemented.
    const INT: bool = false;
    /// Whether truth values have the function; then [`boolean`](BinaryFn::boolean) must be implemented.
    const BOOL: bool = false;
    /// Whether complex numbers have the function; then [`complex`](BinaryFn::complex) must be implemented.
    const COMPLEX: bool = false;
    /// For functions that some integers have no result of: the argument at fault and what it accepts, such as
    /// `("rhs", "divisors other than 0")`. The kernel fails when [`int_fails`](BinaryFn::int_fails) is true of any element.
    const INT_FAILURE: Option<(&'static str, &'static str)> = None;
    /// Whether a number in the place of an operand of f16 or bf16 is one of f32, which they are computed in; else it is rounded to their dtype.
    const WIDE_NUMBERS: bool = false;
    /// Roughly the picoseconds an element takes on one core, in the cache.
    const PICOSECONDS: usize = 100;

    /// The function of floats.
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        const { assert!(!Self::FLOAT, "FLOAT demands an implementation of `float`") };
        let _ = b;
        a
    }
    /// The function of integers. Called for every element, also where [`int_fails`](BinaryFn::int_fails).
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        const { assert!(!Self::INT, "INT demands an implementation of `int`") };
        let _ = b;
        a
    }
    /// Whether the function has no result for these integers.
    #[inline(always)]
    fn int_fails<I: Int>(self, a: I, b: I) -> I::Mask {
        const { assert!(Self::INT_FAILURE.is_none(), "INT_FAILURE demands an implementation of `int_fails`") };
        let _ = (a, b);
        I::truth(false)
    }
    /// The function of complex numbers, each its real and its imaginary part.
    #[inline(always)]
    fn complex<V: Float>(self, a: [V; 2], b: [V; 2]) -> [V; 2] {
        const { assert!(!Self::COMPLEX, "COMPLEX demands an implementation of `complex`") };
        let _ = b;
        a
    }
    /// The function of truth values.
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        const { assert!(!Self::BOOL, "BOOL demands an implementation of `boolean`") };
        let _ = b;
        a
    }
}

/// A function of three elements.
pub trait TernaryFn: Copy + Send + Sync + 'static {
    /// Whether integers have the function; then [`int`](TernaryFn::int) must be implemented.
    const INT: bool = false;
    /// Roughly the picoseconds an element takes on one core, in the cache.
    const PICOSECONDS: usize = 100;

    /// The function of floats.
    fn float<V: Float>(self, a: V, b: V, c: V) -> V;
    /// The function of integers.
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I, c: I) -> I {
        const { assert!(!Self::INT, "INT demands an implementation of `int`") };
        let _ = (b, c);
        a
    }
}

/// A predicate of two elements. Truth values are compared as the integers 0 and 1.
pub trait CompareFn: Copy + Send + Sync + 'static {
    /// The predicate of floats.
    fn float<V: Float>(self, a: V, b: V) -> V::Mask;
    /// The predicate of integers.
    fn int<I: Int>(self, a: I, b: I) -> I::Mask;
}

/// A predicate of one element. Truth values are tested as the integers 0 and 1.
pub trait TestFn: Copy + Send + Sync + 'static {
    /// The predicate of floats.
    fn float<V: Float>(self, x: V) -> V::Mask;
    /// The predicate of integers.
    fn int<I: Int>(self, x: I) -> I::Mask;
}

/// A function of `N` elements to be changed and one that is only read, which gives the `N` changed ones.
pub trait UpdateFn<const N: usize>: Copy + Send + Sync + 'static {
    /// The changed elements. Must be `#[inline(always)]`.
    fn float<V: Float>(self, changed: [V; N], read: V) -> [V; N];
}

/// How a reduction treats integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    /// It refuses them and bool.
    Refuse,
    /// It computes in the input's type, as max and min can. Bool is u8.
    Same,
    /// It computes in i64, wrapping, as sum must; the output is i64 or of the input's type.
    Widen,
}

/// The mathematics of a reduction: an associative and commutative `combine` with an identity, and what stands before and after it.
pub trait Reducer: Copy + Send + Sync + 'static {
    /// How integers are treated; unless refused, `int_identity` and `int_combine` must be given.
    const INTEGERS: Integers = Integers::Refuse;

    /// What changes nothing when combined, and what an empty reduction starts from.
    fn identity(self) -> f64;
    /// Applied to each element first.
    #[inline(always)]
    fn map<V: Float>(self, x: V) -> V {
        x
    }
    /// Combines lane by lane.
    fn combine<V: Float>(self, a: V, b: V) -> V;
    /// Applied to each result of `count` elements.
    #[inline(always)]
    fn finish<V: Float>(self, acc: V, count: f64) -> V {
        let _ = count;
        acc
    }

    /// As [`Reducer::identity`].
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        T::from_i64(0)
    }
    /// As [`Reducer::map`].
    #[inline(always)]
    fn int_map<T: Int>(self, x: T) -> T {
        x
    }
    /// As [`Reducer::combine`].
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

/// A reduction of truth values, which are 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruthReducer {
    /// Whether one of them is true.
    Any,
    /// Whether none of them is false.
    All,
}

impl TruthReducer {
    /// The result for no elements.
    pub fn identity(self) -> bool {
        self == TruthReducer::All
    }

    /// Combines two truth values.
    #[inline(always)]
    pub fn combine<T: Int>(self, a: T, b: T) -> T {
        match self {
            TruthReducer::Any => a.bit_or(b),
            TruthReducer::All => a.bit_and(b),
        }
    }
}
