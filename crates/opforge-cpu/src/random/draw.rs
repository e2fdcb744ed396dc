//! Distributions: how random words become numbers.

use super::philox::{LANES, Words};

/// The most values that the words of one group of blocks give.
pub(super) const GROUP: usize = 4 * LANES;

/// A distribution: how random words become values.
pub(super) trait Draw: Send + Sync + 'static {
    type Value: Copy + Default + Send + Sync;
    /// Values a group gives: [`GROUP`] where one takes one word, half as many where it takes two.
    const COUNT: usize;
    /// Fills the first `COUNT` values. Must be `#[inline(always)]`: it is compiled into the loop of every instruction set.
    fn draw(&self, words: &Words, values: &mut [Self::Value; GROUP]);
}

/// The 64-bit number of words `2 * pair` and `2 * pair + 1` of a block.
#[inline(always)]
fn wide(words: &Words, pair: usize, lane: usize) -> u64 {
    u64::from(words[2 * pair][lane]) << 32 | u64::from(words[2 * pair + 1][lane])
}

/// Uniform in `low .. low + width`, at most `top`: rounding would reach the upper bound.
pub(super) struct Uniform<C> {
    pub low: C,
    pub width: C,
    pub top: C,
}

impl Draw for Uniform<f32> {
    type Value = f32;
    const COUNT: usize = GROUP;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [f32; GROUP]) {
        for w in 0..4 {
            for i in 0..LANES {
                let unit = (words[w][i] >> 8) as f32 * (1.0 / (1 << 24) as f32);
                let value = self.low + self.width * unit;
                values[w * LANES + i] = if value < self.top { value } else { self.top };
            }
        }
    }
}

impl Draw for Uniform<f64> {
    type Value = f64;
    const COUNT: usize = GROUP / 2;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [f64; GROUP]) {
        for pair in 0..2 {
            for i in 0..LANES {
                let unit = (wide(words, pair, i) >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
                let value = self.low + self.width * unit;
                values[pair * LANES + i] = if value < self.top { value } else { self.top };
            }
        }
    }
}

/// Normal, by the transform of Box and Muller: of u in (0, 1] and an angle, `sqrt(-2 ln u)` times its cosine and sine.
pub(super) struct Normal<C> {
    pub mean: C,
    pub std: C,
}

impl Draw for Normal<f32> {
    type Value = f32;
    const COUNT: usize = GROUP;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [f32; GROUP]) {
        const ULP: f32 = 1.0 / (1u64 << 32) as f32;
        for pair in 0..2 {
            for i in 0..LANES {
                let u = words[2 * pair][i] as f32 * ULP + 0.5 * ULP;
                let radius = self.std * (-2.0 * ln(u)).sqrt();
                let (sin, cos) = sin_cos_turns(words[2 * pair + 1][i]);
                values[2 * pair * LANES + i] = self.mean + radius * cos;
                values[(2 * pair + 1) * LANES + i] = self.mean + radius * sin;
            }
        }
    }
}

impl Draw for Normal<f64> {
    type Value = f64;
    const COUNT: usize = GROUP / 2;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [f64; GROUP]) {
        const ULP: f64 = 1.0 / (1u64 << 53) as f64;
        for i in 0..LANES {
            let u = ((wide(words, 0, i) >> 11) + 1) as f64 * ULP;
            let radius = self.std * (-2.0 * u.ln()).sqrt();
            let turns = (wide(words, 1, i) >> 11) as f64 * ULP;
            let (sin, cos) = (turns * std::f64::consts::TAU).sin_cos();
            values[i] = self.mean + radius * cos;
            values[LANES + i] = self.mean + radius * sin;
        }
    }
}

/// The logarithm of a normal number, within 2 ULP; after Cephes' `logf`. Without branches, so that loops vectorise.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let exponent = x.to_bits().wrapping_sub(SQRT_HALF) as i32 >> 23;
    let f = f32::from_bits(x.to_bits().wrapping_sub((exponent << 23) as u32)) - 1.0;
    let e = exponent as f32;
    let mut y = 7.037_683_6e-2;
    y = y * f - 1.151_461e-1;
    y = y * f + 1.167_699_9e-1;
    y = y * f - 1.242_014_1e-1;
    y = y * f + 1.424_932_3e-1;
    y = y * f - 1.666_805_8e-1;
    y = y * f + 2.000_071_5e-1;
    y = y * f - 2.499_999_4e-1;
    y = y * f + 3.333_333e-1;
    let square = f * f;
    let small = y * f * square - 2.121_944_4e-4 * e - 0.5 * square;
    f + small + 0.693_359_4 * e
}

/// Sine and cosine of a fraction of a turn, `word / 2^32`; after Cephes' `sinf` and `cosf`, with the quadrant taken from the bits.
#[inline(always)]
pub fn sin_cos_turns(word: u32) -> (f32, f32) {
    const STEP: f32 = std::f32::consts::FRAC_PI_2 / (1u32 << 30) as f32;
    // Quadrants are centred on the axes, so that the rest is within an eighth of a turn.
    let shifted = word.wrapping_add(1 << 29);
    let quadrant = shifted >> 30;
    let x = ((shifted & 0x3fff_ffff) as i32 - (1 << 29)) as f32 * STEP;
    let z = x * x;
    let sin = ((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 1.666_665_5e-1) * z * x + x;
    let cos = ((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z * z - 0.5 * z + 1.0;
    let swap = quadrant & 1 != 0;
    let (s, c) = if swap { (cos, sin) } else { (sin, cos) };
    let negate = |v: f32, sign: u32| f32::from_bits(v.to_bits() ^ (sign & 2) << 30);
    (negate(s, quadrant), negate(c, quadrant + 1))
}

/// One with a probability of `threshold / 2^32`, else zero.
pub(super) struct Bernoulli<T> {
    pub threshold: u64,
    pub one: T,
}

impl<T: Copy + Default + Send + Sync + 'static> Draw for Bernoulli<T> {
    type Value = T;
    const COUNT: usize = GROUP;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [T; GROUP]) {
        for w in 0..4 {
            for i in 0..LANES {
                values[w * LANES + i] = if u64::from(words[w][i]) < self.threshold { self.one } else { T::default() };
            }
        }
    }
}

/// `low + floor(count * u)` for u of 64 bits, which favours no value by more than `count / 2^64`.
pub(super) struct Integers<T> {
    pub low: i64,
    pub count: u64,
    pub convert: fn(i64) -> T,
}

impl<T: Copy + Default + Send + Sync + 'static> Draw for Integers<T> {
    type Value = T;
    const COUNT: usize = GROUP / 2;
    #[inline(always)]
    fn draw(&self, words: &Words, values: &mut [T; GROUP]) {
        for pair in 0..2 {
            for i in 0..LANES {
                let above = (u128::from(wide(words, pair, i)) * u128::from(self.count)) >> 64;
                values[pair * LANES + i] = (self.convert)(self.low.wrapping_add(above as u64 as i64));
            }
        }
    }
}
