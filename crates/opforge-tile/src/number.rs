//! Numbers that tile functions hold.

use std::fmt;
use std::hash::{Hash, Hasher};

use opforge_core::term::{Attributes, Term};
use opforge_core::{Result, Scalar};

/// A [`Scalar`] as loops use it: what it is in f64 and i64 is known beforehand, since a loop would find it out anew for each vector.
#[derive(Clone, Copy)]
pub struct Number {
    scalar: Scalar,
    float: f64,
    int: i64,
}

impl Number {
    /// The number as it was given.
    pub fn scalar(self) -> Scalar {
        self.scalar
    }

    /// As [`Scalar::to_f64`].
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        self.float
    }

    /// As [`Scalar::to_i64`].
    #[inline(always)]
    pub fn to_i64(self) -> i64 {
        self.int
    }
}

impl<T: Into<Scalar>> From<T> for Number {
    fn from(number: T) -> Self {
        let scalar = number.into();
        Number { scalar, float: scalar.to_f64(), int: scalar.to_i64() }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.scalar == other.scalar
    }
}
impl Eq for Number {}
impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scalar.hash(state);
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scalar.fmt(f)
    }
}

impl Attributes for Number {
    fn type_name() -> String {
        Scalar::type_name()
    }
    fn write(&self) -> Term {
        self.scalar.write()
    }
    fn read(term: &Term) -> Result<Self> {
        Scalar::read(term).map(Number::from)
    }
}
