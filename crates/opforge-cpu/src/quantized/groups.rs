//! Groups within a block of 256: a scale each, and perhaps a minimum, as small multiples of numbers that the block has in half precision.

use opforge_core::f16;

use super::block::{GROUP, GROUPS, MOST};
use super::fit::{affine, extreme, inverse, nearest, poison, symmetric};

/// `d scales[g] q - dmin mins[g]`, with as many groups as the type has.
pub(super) struct Ranged {
    pub d: f16,
    pub dmin: f16,
    pub scales: [u8; GROUPS],
    pub mins: [u8; GROUPS],
    pub quants: [u8; MOST],
}

impl Ranged {
    /// Groups of `SIZE` elements, integers in `0..=steps`, multiples up to `most`.
    pub fn new<const SIZE: usize>(values: &[f32], steps: f32, most: f32) -> Self {
        let (mut scales, mut mins) = ([0.0f32; GROUPS], [0.0f32; GROUPS]);
        for ((group, scale), min) in values.as_chunks::<SIZE>().0.iter().zip(&mut scales).zip(&mut mins) {
            (*scale, *min) = affine(group, steps);
        }
        let bad = poison(values);
        let (d, scales) = multiples(&scales, most, bad);
        let (dmin, mins) = multiples(&mins, most, bad);
        let mut quants = [0; MOST];
        for (i, (quant, value)) in quants.iter_mut().zip(values).enumerate() {
            let (scale, min) = (d.to_f32() * f32::from(scales[i / SIZE]), dmin.to_f32() * f32::from(mins[i / SIZE]));
            *quant = nearest((value + min) * inverse(scale), 0.0, steps) as u8;
        }
        Ranged { d, dmin, scales, mins, quants }
    }
}

/// Numbers, not negative, as multiples of one in half precision.
fn multiples(numbers: &[f32; GROUPS], most: f32, bad: f32) -> (f16, [u8; GROUPS]) {
    let unit = f16::from_f32(extreme(numbers) / most + bad);
    let inverse = inverse(unit.to_f32());
    (unit, numbers.map(|number| nearest(number * inverse, 0.0, most) as u8))
}

/// `d scales[g] q`, with groups of 16.
pub(super) struct Centered {
    pub d: f16,
    pub scales: [i8; GROUPS],
    pub quants: [i8; MOST],
}

impl Centered {
    /// Integers in `-limit..limit`, multiples in `-most..most`.
    pub fn new(values: &[f32], limit: f32, most: f32) -> Self {
        let mut scales = [0.0f32; GROUPS];
        for (group, scale) in values.as_chunks::<GROUP>().0.iter().zip(&mut scales) {
            *scale = symmetric(group, limit);
        }
        let d = f16::from_f32(extreme(&scales) / -most + poison(values));
        let to_multiple = inverse(d.to_f32());
        let scales = scales.map(|scale| nearest(scale * to_multiple, -most, most - 1.0) as i8);
        let mut quants = [0; MOST];
        for (i, (quant, value)) in quants.iter_mut().zip(values).enumerate() {
            let scale = d.to_f32() * f32::from(scales[i / GROUP]);
            *quant = nearest(value * inverse(scale), -limit, limit - 1.0) as i8;
        }
        Centered { d, scales, quants }
    }
}
