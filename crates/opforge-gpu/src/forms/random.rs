//! Numbers drawn at random: the stream of the CPU's kernels, an element a thread. Integers of 32 bits are enough.

use opforge::operator::Lowering;
use opforge_core::{DType, Result, bf16, f16};
use opforge_tile::forms::{self, Random};

use crate::code::Code;
use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::math::{cos, log, sin};

/// Blocks of a group.
const LANES: usize = 16;

pub(crate) fn random(call: &Call<'_>, form: &forms::Draws) -> Result<Program> {
    if form.portion.is_some() {
        return Err(call.refuse("form", "draws of a part", "draws of the whole"));
    }
    let drawn = form.random;
    if drawn == Random::Poisson {
        return Err(call.refuse("form", "Poisson", "uniform, normal, Bernoulli and integer draws"));
    }
    // Whether the parameters are a distribution's is for the operator's own kernel to say.
    Lowering::Random(form.clone()).kernel(call.op, call.inputs, call.outputs)?;
    let output = call.outputs[0];
    let dtype = output.dtype.compute();
    call.one(|k| {
        // Seed and offset as words, the lower ones first.
        let key = k.strided(Place::Input(0), INDEX, &[4], &[1], false);
        let y = k.strided(Place::Output(0), output.dtype, &[output.elem_count()], &[1], true);
        k.each(output.elem_count(), |i| {
            let draws = Draws { k, key: &key, i };
            let value = match drawn {
                Random::Uniform { low, high } => draws.uniform(low.to_f64(), high.to_f64(), output.dtype),
                Random::Normal { mean, std } => draws.normal(mean.to_f64(), std.to_f64(), dtype),
                Random::Bernoulli { p } => draws.bernoulli(p.to_f64(), dtype),
                Random::Integers { low, high } => draws.integers(low, high, dtype),
                Random::Poisson => k.index(0).to(dtype),
            };
            y.store(&[i], value);
        });
        Ok(())
    })
}

/// What element `i` is drawn from.
struct Draws<'c, 'a> {
    k: &'a Code,
    key: &'c Tensor<'a>,
    i: Value<'a>,
}

/// The lower and the upper word of a product.
fn wide_product<'a>(a: Value<'a>, b: Value<'a>) -> [Value<'a>; 2] {
    let halves = |x: Value<'a>| [x & 0xffff, x.shr(16)];
    let ([a0, a1], [b0, b1]) = (halves(a), halves(b));
    let (low, middle, other) = (a0 * b0, a1 * b0, a0 * b1);
    let carried = low.shr(16) + (middle & 0xffff) + (other & 0xffff);
    [a * b, a1 * b1 + middle.shr(16) + other.shr(16) + carried.shr(16)]
}

impl<'a> Draws<'_, 'a> {
    fn word_of_key(&self, i: usize) -> Value<'a> {
        self.key.load(&[self.k.index(i)])
    }

    /// The four words of the block of Philox4x32-10 with this number.
    fn block(&self, number: Value<'a>) -> [Value<'a>; 4] {
        let k = self.k;
        let counter = [number, k.index(0), self.word_of_key(2), self.word_of_key(3)];
        let mut words = counter;
        let mut key = [self.word_of_key(0), self.word_of_key(1)];
        for _ in 0..10 {
            let [low0, high0] = wide_product(words[0], k.index(0xd251_1f53));
            let [low1, high1] = wide_product(words[2], k.index(0xcd9e_8d57));
            words = [high1.xor(words[1]).xor(key[0]), low1, high0.xor(words[3]).xor(key[1]), low0];
            key = [key[0] + 0x9e37_79b9, key[1] + 0xbb67_ae85];
        }
        words
    }

    /// The block's words of the element of this number, if a group gives `n` lanes of elements; and which lane of words it is.
    fn words(&self, n: usize) -> ([Value<'a>; 4], Value<'a>) {
        let per_group = n * LANES;
        let block = self.i / per_group * LANES + self.i % LANES;
        (self.block(block), self.i % per_group / LANES)
    }

    /// One word, of elements that take one each.
    fn word(&self) -> Value<'a> {
        let (words, which) = self.words(4);
        let is = |n: usize| which.equals(self.k.index(n));
        is(0).choose(words[0], is(1).choose(words[1], is(2).choose(words[2], words[3])))
    }

    /// Two words, the upper first, of elements that take two each.
    fn pair(&self) -> [Value<'a>; 2] {
        let (words, which) = self.words(2);
        let first = which.equals(self.k.index(0));
        [first.choose(words[0], words[2]), first.choose(words[1], words[3])]
    }

    /// The upper 53 bits of two words as a float.
    fn bits53(&self, [high, low]: [Value<'a>; 2]) -> Value<'a> {
        let f = |x: Value<'a>| x.to(DType::F64);
        f(high) * self.k.constant(2_097_152.0, DType::F64) + f(low.shr(11))
    }

    fn uniform(&self, low: f64, high: f64, dtype: DType) -> Value<'a> {
        let k = self.k;
        let (unit, of, width) = match dtype {
            DType::F64 => {
                let ulp = k.constant(1.0 / (1u64 << 53) as f64, dtype);
                (self.bits53(self.pair()) * ulp, dtype, high - low)
            }
            _ => {
                let ulp = k.constant(1.0 / f64::from(1 << 24), DType::F32);
                (self.word().shr(8).to(DType::F32) * ulp, DType::F32, f64::from((high - low) as f32))
            }
        };
        let (low_of, top) = (k.constant(low, of), k.constant(top(low, high, dtype), of));
        let value = low_of + k.constant(width, of) * unit;
        value.lt(top).choose(value, top)
    }

    fn normal(&self, mean: f64, std: f64, dtype: DType) -> Value<'a> {
        let k = self.k;
        let number = |x: f64| k.constant(x, dtype);
        let radius = |u: Value<'a>| number(std) * (number(-2.0) * log(u)).sqrt();
        if dtype == DType::F64 {
            let (words, which) = self.words(2);
            let ulp = number(1.0 / (1u64 << 53) as f64);
            let u = (self.bits53([words[0], words[1]]) + number(1.0)) * ulp;
            let angle = self.bits53([words[2], words[3]]) * ulp * number(std::f64::consts::TAU);
            let unit = which.equals(k.index(0)).choose(cos(angle), sin(angle));
            return number(mean) + radius(u) * unit;
        }
        let (words, which) = self.words(4);
        let second = k.index(1).lt(which);
        let (u, turn) = (second.choose(words[2], words[0]), second.choose(words[3], words[1]));
        let ulp = 1.0 / (1u64 << 32) as f64;
        let u = u.to(dtype) * number(ulp) + number(0.5 * ulp);
        let angle = turn.to(dtype) * number(ulp * std::f64::consts::TAU);
        let is_cosine = (which & 1).equals(k.index(0));
        number(mean) + radius(u) * is_cosine.choose(cos(angle), sin(angle))
    }

    fn bernoulli(&self, p: f64, dtype: DType) -> Value<'a> {
        let threshold = (p * (1u64 << 32) as f64).round() as u64;
        let hit = match u32::try_from(threshold) {
            Ok(threshold) => self.word().lt(self.k.constant_bits(threshold.into(), INDEX)),
            Err(_) => self.k.constant(true, DType::Bool),
        };
        match dtype {
            DType::Bool => hit,
            _ => hit.choose(self.k.constant(1i64, dtype), self.k.constant(0i64, dtype)),
        }
    }

    fn integers(&self, low: i64, high: i64, dtype: DType) -> Value<'a> {
        let (k, count) = (self.k, high.wrapping_sub(low) as u64);
        let word = |bits: u64| k.constant_bits(bits & 0xffff_ffff, INDEX);
        let ([x1, x0], [c0, c1]) = (self.pair(), [word(count), word(count >> 32)]);
        // The upper half of a product of 64 by 64 bits, word by word.
        let (a, b, c, d) = (wide_product(x0, c0), wide_product(x1, c0), wide_product(x0, c1), wide_product(x1, c1));
        let carry = |sum: Value<'a>, part: Value<'a>| sum.lt(part).choose(k.index(1), k.index(0));
        let first = a[1] + b[0];
        let second = first + c[0];
        let up = carry(first, a[1]) + carry(second, first);
        let low_sum = b[1] + c[1];
        let low_all = low_sum + d[0];
        let low_word = low_all + up;
        let high_word = d[1] + carry(low_sum, b[1]) + carry(low_all, low_sum) + carry(low_word, low_all);
        let small = i32::try_from(low).is_ok() && i32::try_from(high - 1).is_ok();
        if small {
            let value = (low_word + word(low as u64)).to(DType::I32);
            return value.to(dtype);
        }
        let wide = high_word.to(DType::I64).shl(32) | low_word.to(DType::I64);
        (wide + k.constant(low, DType::I64)).to(dtype)
    }
}

/// The greatest number that a uniform draw may be: rounding would reach the upper bound.
fn top(low: f64, high: f64, dtype: DType) -> f64 {
    let below = |nearest: f64, next: f64| if low < high && nearest >= high { next } else { nearest };
    let bits_below = |bits: u16| match bits {
        0 | 0x8000 => 0x8001,
        bits if bits < 0x8000 => bits - 1,
        bits => bits + 1,
    };
    let top = match dtype {
        DType::F64 => return if low < high { high.next_down() } else { high },
        DType::F16 => {
            let nearest = f16::from_f64(high);
            below(nearest.to_f64(), f16::from_bits(bits_below(nearest.to_bits())).to_f64())
        }
        DType::BF16 => {
            let nearest = bf16::from_f64(high);
            below(nearest.to_f64(), bf16::from_bits(bits_below(nearest.to_bits())).to_f64())
        }
        _ => below((high as f32).into(), (high as f32).next_down().into()),
    };
    f64::from((top as f32).max(low as f32))
}
