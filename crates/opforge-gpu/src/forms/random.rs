//! Numbers drawn at random: the stream of the CPU's kernels. A thread makes the words of neighbouring blocks, as many as make packs of elements, and what is
//! drawn from them. Integers of 32 bits are enough.

use std::f32::consts::FRAC_PI_2;
use std::f64::consts::TAU;

use opforge::operator::Lowering;
use opforge_core::{DType, Result, bf16, f16};
use opforge_tile::forms::{self, Random};
use opforge_trace::Op;

use crate::code::Code;
use crate::kernel::INDEX;
use crate::lower::Call;
use crate::pack;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::math::{cos, log, sin};

/// Blocks that a thread makes at most, whose words are in registers.
const MOST_BLOCKS: usize = 4;

/// Blocks of a group: word `w` of its blocks is that of 16 elements which lie next to each other.
const LANES: usize = 16;

pub(crate) fn random(call: &Call<'_>, form: &forms::Draws) -> Result<Program> {
    if form.portion.is_some() {
        return Err(call.refuse("form", "draws of a part", "draws of the whole"));
    }
    if form.random == Random::Poisson {
        return Err(call.refuse("form", "Poisson", "uniform, normal, Bernoulli and integer draws"));
    }
    let keep = if let Random::Dropout { keep } = form.random { Some(keep.to_f64()) } else { None };
    // Whether the parameters are a distribution's is for the operator's own kernel to say.
    Lowering::Random(form.clone()).kernel(call.op, call.inputs, call.outputs)?;
    let output = call.outputs[0];
    let (count, words) = (output.elem_count(), words_of_element(form.random, output.dtype));
    let width = pack::width(&[count], [(output.dtype, &[1usize][..])].into_iter()).min(MOST_BLOCKS);
    // A group's packs, and those of all first words.
    let (group, across) = (4 / words * LANES / width, LANES / width);
    call.one(|k| {
        // Seed and offset as words, the lower ones first.
        let key = k.strided(Place::Input(0), INDEX, &[4], &[1], false);
        let tensor = |place| k.strided(place, output.dtype, &[count], &[1], matches!(place, Place::Output(_)));
        let (x, y) = (keep.map(|_| tensor(Place::Input(1))), tensor(Place::Output(0)));
        let packs = k.size(count / width);
        k.each((count / width).div_ceil(group) * across, |number| {
            let first = number / across * group + number % across;
            let places: Vec<Value<'_>> = (0..4 / words).map(|n| first + n * across).collect();
            // All that is loaded, at once and first; the last pack stands for those beyond.
            let loaded = x.iter().flat_map(|x| places.iter().map(|&at| x.load_pack(&[at.min(packs - 1)], width)));
            let given: Vec<Vec<Value<'_>>> = loaded.collect();
            let key = Key::load(k, &key);
            let blocks = (0..width).map(|i| Words { k, of: key.block(number * width + i) });
            let drawn: Vec<Vec<Value<'_>>> = blocks.map(|words| words.drawn(form.random, output.dtype)).collect();
            for (n, &at) in places.iter().enumerate() {
                let values = drawn.iter().map(|block| block[n]).enumerate();
                let values: Vec<Value<'_>> =
                    values.map(|(i, y)| given.get(n).map_or(y, |given| given[i] * y)).collect();
                k.when(at.lt(packs), || y.store_pack(&[at], &values));
            }
        });
        Ok(())
    })
}

/// How many words an element is drawn from.
fn words_of_element(drawn: Random, dtype: DType) -> usize {
    match drawn {
        Random::Integers { .. } => 2,
        Random::Uniform { .. } | Random::Normal { .. } if dtype == DType::F64 => 2,
        _ => 1,
    }
}

/// The lower and the upper word of a product.
fn wide_product<'a>(a: Value<'a>, b: Value<'a>) -> [Value<'a>; 2] {
    [a * b, a.high_product(b)]
}

/// The key of Philox4x32-10: what each round takes of the seed, and the offset.
struct Key<'a> {
    rounds: Vec<[Value<'a>; 2]>,
    offset: [Value<'a>; 2],
}

impl<'a> Key<'a> {
    fn load(k: &'a Code, key: &Tensor<'a>) -> Self {
        let [seed0, seed1, offset0, offset1] = [0, 1, 2, 3].map(|i| key.load(&[k.index(i)]));
        let next = |&[a, b]: &[Value<'a>; 2]| Some([a + 0x9e37_79b9, b + 0xbb67_ae85]);
        Key { rounds: std::iter::successors(Some([seed0, seed1]), next).take(10).collect(), offset: [offset0, offset1] }
    }

    /// The four words of the block with this number.
    fn block(&self, number: Value<'a>) -> [Value<'a>; 4] {
        let k = number.code;
        let mut words = [number, k.index(0), self.offset[0], self.offset[1]];
        for key in &self.rounds {
            let [low0, high0] = wide_product(words[0], k.index(0xd251_1f53));
            let [low1, high1] = wide_product(words[2], k.index(0xcd9e_8d57));
            words = [high1.xor(words[1]).xor(key[0]), low1, high0.xor(words[3]).xor(key[1]), low0];
        }
        words
    }
}

/// A block's words, and what is drawn from them.
struct Words<'a> {
    k: &'a Code,
    of: [Value<'a>; 4],
}

impl<'a> Words<'a> {
    /// The block's elements.
    fn drawn(&self, drawn: Random, dtype: DType) -> Vec<Value<'a>> {
        match drawn {
            Random::Uniform { low, high } => self.uniform(low.to_f64(), high.to_f64(), dtype),
            Random::Normal { mean, std } if dtype == DType::F64 => self.normal_f64(mean.to_f64(), std.to_f64()),
            Random::Normal { mean, std } => self.normal(mean.to_f64(), std.to_f64()),
            Random::Bernoulli { p } => self.bernoulli(p.to_f64(), 1.0, dtype.compute()),
            Random::Dropout { keep } => self.bernoulli(keep.to_f64(), factor(keep.to_f64(), dtype), dtype.compute()),
            Random::Integers { low, high } => self.integers(low, high, dtype.compute()),
            Random::Poisson => Vec::new(),
        }
    }

    /// Two words each, the upper first.
    fn pairs(&self) -> [[Value<'a>; 2]; 2] {
        [[self.of[0], self.of[1]], [self.of[2], self.of[3]]]
    }

    /// The upper 53 bits of two words as a float.
    fn bits53(&self, [high, low]: [Value<'a>; 2]) -> Value<'a> {
        let f = |x: Value<'a>| x.to(DType::F64);
        f(high) * self.k.constant(2_097_152.0, DType::F64) + f(low.shr(11))
    }

    fn uniform(&self, low: f64, high: f64, dtype: DType) -> Vec<Value<'a>> {
        let k = self.k;
        let single = |word: &Value<'a>| word.shr(8).to(DType::F32) * k.constant(1.0 / f64::from(1 << 24), DType::F32);
        let double = |pair| self.bits53(pair) * k.constant(1.0 / (1u64 << 53) as f64, DType::F64);
        let (units, width): (Vec<Value<'a>>, f64) = match dtype {
            DType::F64 => (self.pairs().map(double).into(), high - low),
            _ => (self.of.iter().map(single).collect(), f64::from((high - low) as f32)),
        };
        let number = |x: f64| k.constant(x, dtype.compute());
        let (low, width, top) = (number(low), number(width), number(top(low, high, dtype)));
        let value = |unit: Value<'a>| {
            let value = low + width * unit;
            value.lt(top).choose(value, top)
        };
        units.into_iter().map(value).collect()
    }

    /// By the transform of Box and Muller.
    fn normal(&self, mean: f64, std: f64) -> Vec<Value<'a>> {
        let number = |x: f64| self.k.constant(x, DType::F32);
        let ulp = 1.0 / (1u64 << 32) as f64;
        let pair = |[word, turn]: [Value<'a>; 2]| {
            let u = word.to(DType::F32) * number(ulp) + number(0.5 * ulp);
            let radius = number(std) * (number(-2.0) * ln(u)).sqrt();
            waves_of_turns(turn).map(|wave| number(mean) + radius * wave)
        };
        self.pairs().into_iter().flat_map(pair).collect()
    }

    fn normal_f64(&self, mean: f64, std: f64) -> Vec<Value<'a>> {
        let number = |x: f64| self.k.constant(x, DType::F64);
        let ([first, second], ulp) = (self.pairs(), number(1.0 / (1u64 << 53) as f64));
        let u = (self.bits53(first) + number(1.0)) * ulp;
        let radius = number(std) * (number(-2.0) * log(u)).sqrt();
        let angle = self.bits53(second) * ulp * number(TAU);
        [cos(angle), sin(angle)].map(|wave| number(mean) + radius * wave).into()
    }

    /// A number with probability `p`, else 0.
    fn bernoulli(&self, p: f64, of: f64, dtype: DType) -> Vec<Value<'a>> {
        let (k, threshold) = (self.k, (p * (1u64 << 32) as f64).round() as u64);
        let hit = |word: &Value<'a>| match u32::try_from(threshold) {
            Ok(threshold) => word.lt(k.constant_bits(threshold.into(), INDEX)),
            Err(_) => k.constant(true, DType::Bool),
        };
        let value = |hit: Value<'a>| match dtype {
            DType::Bool => hit,
            _ => hit.choose(k.constant(of, dtype), k.constant(0i64, dtype)),
        };
        self.of.iter().map(|word| value(hit(word))).collect()
    }

    fn integers(&self, low: i64, high: i64, dtype: DType) -> Vec<Value<'a>> {
        let (k, count) = (self.k, high.wrapping_sub(low) as u64);
        let is_small = i32::try_from(low).is_ok() && i32::try_from(high - 1).is_ok();
        let value = |pair| {
            let [high_word, low_word] = self.above(pair, count);
            if is_small {
                let low = k.constant_bits(low as u64 & 0xffff_ffff, INDEX);
                return (low_word + low).to(DType::I32).to(dtype);
            }
            let wide = high_word.to(DType::I64).shl(32) | low_word.to(DType::I64);
            (wide + k.constant(low, DType::I64)).to(dtype)
        };
        self.pairs().map(value).into()
    }

    /// The upper half of the product of two words, the upper first, with a number of 64 bits: in words, the upper first.
    fn above(&self, [x1, x0]: [Value<'a>; 2], count: u64) -> [Value<'a>; 2] {
        let k = self.k;
        let [c0, c1] = [count & 0xffff_ffff, count >> 32].map(|bits| k.constant_bits(bits, INDEX));
        let (a, b, c, d) = (wide_product(x0, c0), wide_product(x1, c0), wide_product(x0, c1), wide_product(x1, c1));
        let carry = |sum: Value<'a>, part: Value<'a>| sum.lt(part).choose(k.index(1), k.index(0));
        let first = a[1] + b[0];
        let second = first + c[0];
        let up = carry(first, a[1]) + carry(second, first);
        let low_sum = b[1] + c[1];
        let low_all = low_sum + d[0];
        let low_word = low_all + up;
        [d[1] + carry(low_sum, b[1]) + carry(low_all, low_sum) + carry(low_word, low_all), low_word]
    }
}

/// The logarithm of a normal f32, that of the CPU's draws but for multiply-add; after Cephes' `logf`.
fn ln(x: Value<'_>) -> Value<'_> {
    let k = x.code;
    let number = |x: f32| k.constant(f64::from(x), DType::F32);
    let bits = x.op(Op::Reinterpret, INDEX, &[]);
    // The bits of sqrt(1 / 2); the exponent is counted from -128 first, so that it is not negative.
    let exponent = (bits - 0x3f35_04f3 + (1 << 30)).shr(23);
    let f = (bits - (exponent - 128).shl(23)).op(Op::Reinterpret, DType::F32, &[]) - number(1.0);
    let e = exponent.to(DType::F32) - number(128.0);
    let coefficients = [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ];
    let y = coefficients.into_iter().fold(number(7.037_683_6e-2), |y, c| y.mul_add(f, number(c)));
    let square = f * f;
    let small = (y * f).mul_add(square, e.mul_add(number(-2.121_944_4e-4), square * number(-0.5)));
    e.mul_add(number(0.693_359_4), f + small)
}

/// Cosine and sine of a fraction of a turn, `word / 2^32`, those of the CPU's draws but for multiply-add; after Cephes' `sinf` and `cosf`, with the
/// quadrant taken from the bits.
fn waves_of_turns<'a>(word: Value<'a>) -> [Value<'a>; 2] {
    let k = word.code;
    let number = |x: f32| k.constant(f64::from(x), DType::F32);
    // Quadrants are centred on the axes, so that the rest is within an eighth of a turn.
    let shifted = word + (1 << 29);
    let quadrant = shifted.shr(30);
    let rest = ((shifted & 0x3fff_ffff) - (1 << 29)).to(DType::I32);
    let x = rest.to(DType::F32) * number(FRAC_PI_2 / (1u32 << 30) as f32);
    let z = x * x;
    let polynomial = |[a, b, c]: [f32; 3]| number(a).mul_add(z, number(b)).mul_add(z, number(c));
    let sin = (polynomial([-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]) * z).mul_add(x, x);
    let cos = (polynomial([2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]) * z)
        .mul_add(z, z.mul_add(number(-0.5), number(1.0)));
    let swap = (quadrant & 1).equals(k.index(1));
    let negated = |wave: Value<'a>, sign: Value<'a>| (sign & 2).equals(k.index(2)).choose(-wave, wave);
    [negated(swap.choose(sin, cos), quadrant + 1), negated(swap.choose(cos, sin), quadrant)]
}

/// What remains is multiplied by, as a dtype has it.
fn factor(keep: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(1.0 / keep).to_f64(),
        DType::BF16 => bf16::from_f64(1.0 / keep).to_f64(),
        _ => 1.0 / keep,
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
