//! Division of indices by parameters, whose values launches know: a multiplication and a shift, after Granlund and Montgomery, "Division by invariant
//! integers using multiplication" (1994).

use opforge_trace::Op;

use crate::kernel::INDEX;
use crate::value::Value;

/// What divides by a number: for every `n` below 2^31, `n / divisor` is the upper word of `n * factor`, shifted to the right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reciprocal {
    pub factor: u32,
    pub shift: u32,
}

impl Reciprocal {
    /// Of a divisor of 2 or more.
    ///
    /// With `2^bits` the power of two that is not less than the divisor, the factor is less than `1 + 2^bits / 2^(31 + bits)` times as large as
    /// `2^(31 + bits) / divisor`, which is too little for numbers below 2^31 to reach the next quotient.
    pub fn of(divisor: u32) -> Reciprocal {
        let bits = u32::BITS - (divisor - 1).leading_zeros();
        let factor = (1u64 << (31 + bits)).div_ceil(divisor.into()) as u32;
        Reciprocal { factor, shift: bits - 1 }
    }
}

impl<'a> Value<'a> {
    /// The quotient of an index below 2^31 and a length, and what is left.
    pub fn divided(self, by: Value<'a>) -> [Value<'a>; 2] {
        let Some([factor, shift]) = self.code.reciprocal(by) else { return [self / by, self % by] };
        let quotient = self.high_product(factor).op(Op::ShiftRight, INDEX, &[shift]);
        [quotient, self - quotient * by]
    }
}

#[cfg(test)]
mod tests {
    use super::Reciprocal;

    #[test]
    fn products_have_the_quotients_of_all_divisors() {
        const MOST: u32 = (1 << 31) - 1;
        let near = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1)];
        let divisors = (2..2000).chain((1..32).flat_map(|bits| near(1 << bits))).chain((1..99).map(|k| MOST / k));
        for divisor in divisors.filter(|divisor| (2..=MOST).contains(divisor)) {
            let Reciprocal { factor, shift } = Reciprocal::of(divisor);
            let multiples = [1, 2, 3, 7, MOST / divisor / 2, MOST / divisor].map(|k| k.saturating_mul(divisor));
            for n in multiples.into_iter().flat_map(near).chain([0, 1, 12345, MOST]).filter(|&n| n <= MOST) {
                let quotient = ((u64::from(n) * u64::from(factor)) >> 32) as u32 >> shift;
                assert_eq!(quotient, n / divisor, "{n} / {divisor}");
            }
        }
    }
}
