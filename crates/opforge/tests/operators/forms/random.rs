//! Numbers drawn at random: whoever has the key draws the same.

use opforge::Tensor;
use opforge::declaration::Array;
use opforge_tile::forms::{Draws, Random};

/// Blocks of a group.
const LANES: usize = 16;

/// One block of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011).
fn philox(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b] = [(c[0], 0xd251_1f53u64), (c[2], 0xcd9e_8d57)].map(|(word, by)| u64::from(word) * by);
        c = [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    c
}

/// Word `w` of block `lane` of a group.
fn word([seed, offset]: [u64; 2], group: usize, lane: usize, w: usize) -> u64 {
    let block = (group * LANES + lane) as u64;
    let counter = [block as u32, (block >> 32) as u32, offset as u32, (offset >> 32) as u32];
    philox(counter, [seed as u32, (seed >> 32) as u32])[w].into()
}

/// The draws of f64; none where there is another input.
pub fn random(form: &Draws, key: &Tensor, shape: &[usize]) -> Option<Array> {
    let Draws { random: form, portion: None } = form else { return None };
    let key = <[u64; 2]>::try_from(key.to_vec1::<u64>().expect("a key")).expect("seed and offset");
    // Element `i` of draws that take two words each; whole groups of first pairs come before those of second pairs.
    let pair = |i: usize| (i / (2 * LANES), i % LANES, i / LANES % 2);
    let wide = |group, lane, pair| word(key, group, lane, 2 * pair) << 32 | word(key, group, lane, 2 * pair + 1);
    let ulp = 1.0 / (1u64 << 53) as f64;
    let draw = |i: usize| {
        let (group, lane, half) = pair(i);
        match *form {
            Random::Uniform { low, high } => {
                let unit = (wide(group, lane, half) >> 11) as f64 * ulp;
                low.to_f64() + (high.to_f64() - low.to_f64()) * unit
            }
            Random::Normal { mean, std } => {
                let u = ((wide(group, lane, 0) >> 11) + 1) as f64 * ulp;
                let angle = (wide(group, lane, 1) >> 11) as f64 * ulp * std::f64::consts::TAU;
                let unit = if half == 0 { angle.cos() } else { angle.sin() };
                mean.to_f64() + std.to_f64() * (-2.0 * u.ln()).sqrt() * unit
            }
            Random::Bernoulli { p } => {
                let word = word(key, i / (4 * LANES), i % LANES, i / LANES % 4);
                f64::from((word as f64) < p.to_f64() * 2f64.powi(32))
            }
            Random::Integers { low, high } => {
                let above = (u128::from(wide(group, lane, half)) * (high - low) as u128) >> 64;
                low as f64 + above as f64
            }
            Random::Poisson | Random::Dropout { .. } => f64::NAN,
        }
    };
    let mut count = 0..;
    let array = Array::from_fn(shape, |_| draw(count.next().expect("a number")));
    (!matches!(form, Random::Poisson | Random::Dropout { .. })).then_some(array)
}
