//! Transforms of lines in the memory of a group, by Stockham's algorithm: a stage makes transforms of `p r` numbers of `r` transforms of `p` numbers, which
//! are `len / r` apart, and leaves them in order.

use std::f64::consts::TAU;

use opforge_core::DType;

use super::butterfly::{Complex, transform};
use crate::code::Code;
use crate::kernel::LANES;
use crate::program::Place;
use crate::value::{Array, Value};

/// The greatest factor that is not made of smaller ones.
const GREATEST: usize = 13;

/// Numbers of a group at least, where there are as many: eight a lane.
const NUMBERS: usize = 8 * LANES;

/// The factors of a length, one a stage, powers of two of eight at most first; none for lengths with greater prime factors.
pub(super) fn radices(len: usize) -> Option<Vec<usize>> {
    if len < 2 {
        return None;
    }
    let twos = len.trailing_zeros() as usize;
    let stages = twos.div_ceil(3);
    let mut radices: Vec<usize> = (0..stages).map(|i| 1 << ((twos + i) / stages)).collect();
    let mut left = len >> twos;
    for factor in (3..=GREATEST).step_by(2) {
        while left.is_multiple_of(factor) {
            radices.push(factor);
            left /= factor;
        }
    }
    (left == 1).then_some(radices)
}

/// Numbers of this dtype that a group's memory of so many bytes holds twice.
pub(super) fn most(shared: usize, dtype: DType) -> usize {
    shared / (4 * dtype.size_in_bytes())
}

/// Lines that are transformed.
pub(super) struct Lines {
    len: usize,
    radices: Vec<usize>,
    /// The exponents'.
    sign: f64,
    count: usize,
    /// Lines of a group.
    together: usize,
    /// Whether neighbouring lanes work on neighbouring lines, not on neighbouring numbers of one.
    abreast: bool,
}

/// What is done with the number of a line at a place.
type Write<'f, 'a> = dyn Fn(Value<'a>, Value<'a>, Complex<'a>) + 'f;

/// Numbers in the group's memory.
#[derive(Clone, Copy)]
struct Numbers<'a>([Array<'a>; 2]);

impl<'a> Numbers<'a> {
    fn load(self, at: Value<'a>) -> Complex<'a> {
        Complex { re: self.0[0].load(at), im: self.0[1].load(at) }
    }
    fn store(self, at: Value<'a>, number: Complex<'a>) {
        self.0[0].store(at, number.re);
        self.0[1].store(at, number.im);
    }
}

impl Lines {
    /// So many lines, of a length that has these radices and is at most `most`.
    pub fn new((count, len): (usize, usize), radices: Vec<usize>, sign: f64, most: usize) -> Self {
        let together = (most.min(NUMBERS) / len).clamp(1, count.max(1));
        Lines { len, radices, sign, count, together, abreast: false }
    }

    /// With neighbouring lanes for neighbouring lines, whose numbers lie next to each other.
    pub fn abreast(self) -> Self {
        Lines { abreast: true, ..self }
    }

    /// What inputs of stages are multiplied by: of each stage first the second inputs' for every number below `p`, then the third inputs', .. Cosines,
    /// then sines, `len - 1` of either.
    pub fn waves(&self) -> Vec<f64> {
        let (mut angles, mut p) = (Vec::with_capacity(self.len), 1);
        for &radix in &self.radices {
            let turns = |m: usize, i: usize| (m * i) as f64 / (p * radix) as f64;
            angles.extend((1..radix).flat_map(|m| (0..p).map(move |i| self.sign * TAU * turns(m, i))));
            p *= radix;
        }
        angles.iter().map(|angle| angle.cos()).chain(angles.iter().map(|angle| angle.sin())).collect()
    }

    /// Writes the kernel: number `j` of a line is `read(line, j)`, and those of its transform are given to `write`. `waves` is where
    /// [`Lines::waves`] are.
    pub fn transform<'a>(
        &self,
        k: &'a Code,
        (waves, dtype): (Place, DType),
        read: impl Fn(Value<'a>, Value<'a>) -> Complex<'a>,
        write: impl Fn(Value<'a>, Value<'a>, Complex<'a>),
    ) {
        self.stages(k, (waves, dtype), read, Some(&write), |_, _| {});
    }

    /// As [`Lines::transform`], with the numbers `j` and `len - j` of a transform, or twice its first, together: for each `j` up to the middle.
    pub fn transform_in_pairs<'a>(
        &self,
        k: &'a Code,
        waves: (Place, DType),
        read: impl Fn(Value<'a>, Value<'a>) -> Complex<'a>,
        write: impl Fn(Value<'a>, Value<'a>, [Complex<'a>; 2]),
    ) {
        let count = k.size(self.count);
        self.stages(k, waves, read, None, |group, numbers| {
            self.each(k, self.len / 2 + 1, |of_group, j| {
                let line = group * self.together + of_group;
                let places = [j, (k.index(self.len) - j) % self.len];
                let pair = places.map(|at| numbers.load(self.place(of_group, at)));
                k.when(line.lt(count), || write(line, j, pair));
            });
        });
    }

    /// All stages: what the last one makes is written, or stays in the group's memory, where `then` finds it.
    fn stages<'a>(
        &self,
        k: &'a Code,
        (waves, dtype): (Place, DType),
        read: impl Fn(Value<'a>, Value<'a>) -> Complex<'a>,
        write: Option<&Write<'_, 'a>>,
        then: impl Fn(Value<'a>, Numbers<'a>),
    ) {
        let waves = k.strided(waves, dtype, &[2, self.len - 1], &[self.len - 1, 1], false);
        let numbers = || Numbers([(); 2].map(|()| k.shared(dtype, self.together * self.len)));
        // Stages read what the one before has written, and write to the other half.
        let kept = self.radices.len() - usize::from(write.is_some());
        let halves: Vec<_> = (0..kept.min(2)).map(|_| numbers()).collect();
        let (count, mut p) = (k.size(self.count), 1);
        k.groups(self.count.div_ceil(self.together), |group| {
            let half = |stage: usize| halves[stage % halves.len()];
            for (stage, &radix) in self.radices.iter().enumerate() {
                let from = (stage > 0).then(|| half(stage - 1));
                let to = (stage < kept).then(|| half(stage));
                let apart = self.len / radix;
                self.each(k, apart, |of_group, i| {
                    let (line, below) = (group * self.together + of_group, i % p);
                    let number = |m: usize| {
                        let at = i + m * apart;
                        let Some(from) = from else { return read(line.min(count - 1), at) };
                        let wave = |part| waves.load(&[k.index(part), below + (m * p - 1)]);
                        let number = from.load(self.place(of_group, at));
                        if m == 0 { number } else { number.times(Complex { re: wave(0), im: wave(1) }) }
                    };
                    let numbers: Vec<Complex<'a>> = (0..radix).map(number).collect();
                    for (m, number) in transform(&numbers, self.sign).into_iter().enumerate() {
                        let at = (i - below) * radix + below + m * p;
                        match (to, write) {
                            (Some(to), _) => to.store(self.place(of_group, at), number),
                            (None, Some(write)) if self.together == 1 => write(line, at, number),
                            (None, Some(write)) => k.when(line.lt(count), || write(line, at, number)),
                            (None, None) => {}
                        }
                    }
                });
                p *= radix;
            }
            if write.is_none() {
                then(group, half(self.radices.len() - 1));
            }
        });
    }

    /// Where a line's number is in the group's memory.
    fn place<'a>(&self, of_group: Value<'a>, at: Value<'a>) -> Value<'a> {
        if self.abreast { at * self.together + of_group } else { of_group * self.len + at }
    }

    /// For every line of a group and every number below `len`, shared by the lanes.
    fn each<'a>(&self, k: &'a Code, len: usize, body: impl Fn(Value<'a>, Value<'a>)) {
        let items = len * self.together;
        let of = |item: Value<'a>| match (self.together, self.abreast) {
            (1, _) => body(k.index(0), item),
            (together, true) => body(item % together, item / together),
            (_, false) => body(item / len, item % len),
        };
        if items <= LANES {
            return k.lanes(items, of);
        }
        k.lanes(LANES, |lane| {
            let turns = (k.index(items + LANES - 1) - lane) / LANES;
            k.repeat(turns, |turn| of(turn * LANES + lane));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::radices;

    #[test]
    fn lengths_are_products_of_small_factors() {
        assert_eq!(radices(1024), Some(vec![4, 4, 8, 8]));
        assert_eq!(radices(8), Some(vec![8]));
        assert_eq!(radices(2), Some(vec![2]));
        assert_eq!(radices(360), Some(vec![8, 3, 3, 5]));
        assert_eq!(radices(1001), Some(vec![7, 11, 13]));
        assert_eq!((radices(0), radices(1), radices(34)), (None, None, None));
    }
}
