//! Floats of eight bits against a naive reading of their formats in f64.

use num_traits::{Num, One, Zero};
use opforge_core::{DType, Element, F8E4M3, F8E5M2, Scalar, WithDType, bf16, f16};

/// A format, read naively.
struct Format {
    fraction: i32,
    bias: i32,
    /// The first code beyond the finite numbers, and whether it is infinity.
    beyond: u8,
    infinite: bool,
    of: fn(f32) -> u8,
    to: fn(u8) -> f32,
}

const FORMATS: [Format; 2] = [
    Format {
        fraction: 3,
        bias: 7,
        beyond: 0x7f,
        infinite: false,
        of: |x| F8E4M3::from_f32(x).to_bits(),
        to: |code| F8E4M3::from_bits(code).to_f32(),
    },
    Format {
        fraction: 2,
        bias: 15,
        beyond: 0x7c,
        infinite: true,
        of: |x| F8E5M2::from_f32(x).to_bits(),
        to: |code| F8E5M2::from_bits(code).to_f32(),
    },
];

impl Format {
    /// The number that a code without a sign would stand for if all of them were finite.
    fn magnitude(&self, code: u8) -> f64 {
        let (exponent, fraction) = (i32::from(code >> self.fraction), f64::from(code & ((1 << self.fraction) - 1)));
        let unit = 2f64.powi(-self.fraction);
        match exponent {
            0 => fraction * unit * 2f64.powi(1 - self.bias),
            e => (1.0 + fraction * unit) * 2f64.powi(e - self.bias),
        }
    }

    /// The code of the nearest number, found by looking at those on either side.
    fn nearest(&self, x: f32) -> u8 {
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        if x.is_nan() {
            return sign | 0x7f;
        }
        let x = f64::from(x).abs();
        let above = (0..self.beyond).find(|&code| self.magnitude(code) >= x).unwrap_or(self.beyond);
        let Some(below) = above.checked_sub(1) else { return sign };
        let (up, down) = (self.magnitude(above) - x, x - self.magnitude(below));
        let code = if up < down || up == down && above % 2 == 0 { above } else { below };
        sign | code
    }

    fn check(&self, x: f32) {
        let (got, want) = ((self.of)(x), self.nearest(x));
        assert_eq!(got, want, "{x:e} ({:#x}), fraction of {} bits", x.to_bits(), self.fraction);
    }
}

#[test]
fn every_code_is_read() {
    for format in FORMATS {
        for code in 0..=255u8 {
            let (got, magnitude) = ((format.to)(code), code & 0x7f);
            assert_eq!(got.is_sign_negative(), code >= 0x80, "{code:#x}");
            if magnitude < format.beyond {
                assert_eq!(f64::from(got.abs()), format.magnitude(magnitude), "{code:#x}");
            } else if magnitude == format.beyond && format.infinite {
                assert!(got.is_infinite(), "{code:#x}");
            } else {
                assert!(got.is_nan(), "{code:#x}");
            }
            if !got.is_nan() {
                assert_eq!((format.of)(got), code);
            }
        }
    }
}

#[test]
fn every_half_is_rounded_to_the_nearest() {
    for format in FORMATS {
        for bits in 0..=u16::MAX {
            format.check(f16::from_bits(bits).to_f32());
            format.check(bf16::from_bits(bits).to_f32());
        }
    }
}

#[test]
fn ties_go_to_even_codes() {
    for format in FORMATS {
        for code in 0..format.beyond {
            let tie = ((format.magnitude(code) + format.magnitude(code + 1)) / 2.0) as f32;
            for x in [tie.next_down(), tie, tie.next_up()] {
                format.check(x);
                format.check(-x);
            }
        }
    }
}

#[test]
fn any_f32_is_rounded_to_the_nearest() {
    for format in FORMATS {
        // A step that shares no factor with 2^32: numbers of every exponent.
        (0..=u32::MAX).step_by(9973).for_each(|bits| format.check(f32::from_bits(bits)));
        for x in [0.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY, f32::NAN, 464.0, 61440.0] {
            for x in [x.next_down(), x, x.next_up()] {
                format.check(x);
                format.check(-x);
            }
        }
    }
}

/// What PyTorch documents: no infinities in e4m3fn, whose overflow is NaN; e5m2 overflows to infinity.
#[test]
fn limits() {
    assert_eq!((F8E4M3::MAX.to_f32(), F8E5M2::MAX.to_f32()), (448.0, 57344.0));
    assert_eq!((F8E4M3::EPSILON.to_f32(), F8E5M2::EPSILON.to_f32()), (0.125, 0.25));
    assert_eq!((F8E4M3::MIN_POSITIVE.to_f32(), F8E5M2::MIN_POSITIVE.to_f32()), (2f32.powi(-6), 2f32.powi(-14)));
    assert_eq!(F8E4M3::from_f32(464.0), F8E4M3::MAX);
    assert!(F8E4M3::from_f32(464.1).is_nan() && F8E4M3::from_f32(f32::NEG_INFINITY).is_nan());
    assert_eq!(F8E5M2::from_f32(61439.0), F8E5M2::MAX);
    assert_eq!(F8E5M2::from_f32(-61440.0).to_f32(), f32::NEG_INFINITY);
    assert_eq!(F8E4M3::from_f32(-0.0).to_bits(), 0x80);
}

#[test]
fn single_numbers_compute() {
    let of = F8E4M3::from_f32;
    assert_eq!(
        [of(1.5) + of(2.0), of(1.5) - of(2.0), of(1.5) * of(3.0), of(3.0) / of(2.0)],
        [3.5, -0.5, 4.5, 1.5].map(of)
    );
    assert_eq!(
        (of(7.0) % of(4.0), -of(7.0), F8E5M2::one().to_f32(), F8E4M3::one().to_f32()),
        (of(3.0), of(-7.0), 1.0, 1.0)
    );
    assert!(F8E5M2::zero().is_zero() && F8E4M3::from_f32(-0.0).is_zero() && of(1.0) < of(2.0));
    assert_ne!(F8E4M3::from_f32(f32::NAN), F8E4M3::from_f32(f32::NAN));
    assert_eq!(F8E5M2::from_str_radix("1.3", 10).ok().map(F8E5M2::to_f32), Some(1.25));
    assert_eq!((format!("{}", of(1.5)), format!("{:?}", of(1.5))), ("1.5".to_owned(), "1.5".to_owned()));
}

#[test]
fn elements_and_scalars() {
    for code in 0..=255u8 {
        let (a, b) = (F8E4M3::from_bits(code), F8E5M2::from_bits(code));
        assert!(a.is_nan() || F8E4M3::from_scalar(a.to_scalar()).to_bits() == code);
        assert!(b.is_nan() || F8E5M2::from_scalar(b.to_scalar()).to_bits() == code);
    }
    assert_eq!(<F8E4M3 as WithDType>::from_f64(0.3).to_f32(), 0.3125);
    assert_eq!(Scalar::Float(449.0).converted(DType::F8E4M3), None);
    assert_eq!(Scalar::Int(448).converted(DType::F8E4M3), Some(Scalar::Float(448.0)));
    assert_eq!(Scalar::Float(1e5).converted(DType::F8E5M2), None);
}
