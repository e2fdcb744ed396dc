//! Conversions of halves without branches, beside those of the crate `half`.

use opforge_core::{bf16, f16};
use opforge_cpu::internals::{round_bf16, round_f16};
use opforge_cpu::simd::convert::{widen_bf16, widen_f16};

fn same(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

#[test]
fn every_half_widens_to_itself() {
    for bits in 0..=u16::MAX {
        let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
        assert!(same(widen_f16(h).into(), h.to_f64()), "{bits:x}");
        assert!(same(widen_bf16(b).into(), b.to_f64()), "{bits:x}");
    }
}

/// All steps between neighbours: both ends, the middle, which goes to the even one, and the next f64 on either side of it. The greatest number's
/// neighbour is infinity, half as far away as the next power of two.
fn check_steps<T: Copy>(infinity: u16, of: impl Fn(u16) -> T, widen: impl Fn(T) -> f64, round: impl Fn(f64) -> T) {
    let value = |bits: u16| {
        if bits == infinity { 2.0 * widen(of(bits - 1)) - widen(of(bits - 2)) } else { widen(of(bits)) }
    };
    for bits in 0..infinity {
        let (low, high) = (value(bits), value(bits + 1));
        let middle = low / 2.0 + high / 2.0;
        let even = bits + bits % 2;
        for (x, want) in [(low, bits), (middle.next_down(), bits), (middle, even), (middle.next_up(), bits + 1)] {
            for (x, want) in [(x, want), (-x, want | 0x8000)] {
                assert!(same(widen(round(x)), widen(of(want))), "{x:e}: {:e}", widen(round(x)));
            }
        }
    }
    for x in [1e300, f64::MAX, f64::INFINITY] {
        assert_eq!([round(x), round(-x)].map(&widen), [f64::INFINITY, -f64::INFINITY]);
    }
    assert!(widen(round(f64::NAN)).is_nan());
    assert!(same(widen(round(-f64::MIN_POSITIVE)), -0.0));
}

#[test]
fn numbers_round_to_the_nearest() {
    check_steps(0x7c00, f16::from_bits, f16::to_f64, round_f16);
    check_steps(0x7f80, bf16::from_bits, bf16::to_f64, round_bf16);
}
