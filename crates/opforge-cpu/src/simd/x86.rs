//! What the two sizes of x86-64 vectors are written with.
//!
//! The intrinsics are called from functions without target features and inlined into the routine's entry, which has them. A vector exists only
//! inside such a routine (see the parent module): that makes calling the instructions sound wherever there is a vector, or a routine runs.

/// Operators that are one intrinsic of two vectors.
macro_rules! operators {
    ($ty:ident: $($op:ident::$method:ident = $intrinsic:ident),*) => {
        $(impl $op for $ty {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: vectors exist only where the processor has the instructions (see the parent module).
                Self(unsafe { $intrinsic(self.0, other.0) })
            }
        })*
    };
}

/// Methods that are an expression of intrinsics.
macro_rules! methods {
    ($(fn $name:ident($($args:tt)*) -> $ret:ty = $value:expr;)*) => {$(
        #[inline(always)]
        fn $name($($args)*) -> $ret {
            // SAFETY: called only inside a routine, where the processor has the instructions.
            unsafe { $value }
        }
    )*};
}

/// Shifts of all lanes by the same count, which is in the low half of a vector.
macro_rules! shifts {
    ($ty:ident: $shl:ident, $shr:ident) => {
        impl Shl<u32> for $ty {
            type Output = Self;
            methods! { fn shl(self, count: u32) -> Self = Self($shl(self.0, _mm_cvtsi32_si128(count as i32))); }
        }
        impl Shr<u32> for $ty {
            type Output = Self;
            methods! { fn shr(self, count: u32) -> Self = Self($shr(self.0, _mm_cvtsi32_si128(count as i32))); }
        }
    };
}
