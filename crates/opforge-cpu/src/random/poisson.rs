//! Numbers of events, each from a rate of its own.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

use super::check;
use super::philox::{LANES, block};
use super::target::{Runs, Target};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;

/// Rates from which on rejection is quicker than counting.
const LARGE: f64 = 10.0;

/// The kernel that draws a Poisson number for each rate: both in f64, contiguous and of one shape. Its inputs are the key and the rates.
///
/// # Errors
/// A wrong key; other dtypes, layouts and shapes. Running it: a rate that is negative, infinite or NaN.
pub fn poisson<'a>(
    op: &'static str,
    key: &Meta,
    rates: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    let (output, runs) = check(op, key, target.into())?;
    for meta in [rates, output] {
        if meta.dtype != DType::F64 {
            return Err(Error::dtype(op, "input, output", meta.dtype, DType::F64));
        }
    }
    if rates.shape() != output.shape() || !rates.layout.is_contiguous() {
        return Err(Error::shapes(op, rates.shape(), output.shape(), "contiguous rates of the output's shape"));
    }
    Ok(Arc::new(Poisson { op, len: output.elem_count(), runs }))
}

struct Poisson {
    op: &'static str,
    len: usize,
    runs: Runs,
}

impl HostKernel for Poisson {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the key holds two numbers.
        let [seed, offset] = unsafe { inputs[0].cast::<[u64; 2]>().read() };
        let (rates, out) = (Shared(inputs[1].cast_mut().cast::<f64>()), Shared(outputs[0].cast::<f64>()));
        try_parallel_for(self.len, 64, |range| {
            for i in range {
                // SAFETY: both have `len` elements, and ranges are disjoint.
                let rate = unsafe { rates.get().add(i).read() };
                if !(rate >= 0.0 && rate.is_finite()) {
                    return Err(Error::value(self.op, "input", rate, "finite rates of 0 or more"));
                }
                let mut units = Units::new(seed, offset, self.runs.place(i).0 as u64);
                let count = if rate < LARGE { counted(rate, &mut units) } else { rejected(rate, &mut units) };
                // SAFETY: the output has `len` elements, and no other range writes element `i`.
                unsafe { out.get().add(i).write(count) };
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        20 + 150 * self.len as u64
    }
}

/// Uniform numbers below 1, as many as are asked for, of one element's stream: its blocks, each made when it is needed, are numbered by the element
/// and, in the upper 16 bits, the refill. Each of the two halves of the blocks is used before the next.
struct Units {
    seed: u64,
    offset: u64,
    first: u64,
    used: usize,
}

impl Units {
    fn new(seed: u64, offset: u64, element: u64) -> Self {
        Units { seed, offset, first: element * LANES as u64, used: 0 }
    }

    fn next(&mut self) -> f64 {
        if self.used == 2 * LANES {
            self.first = self.first.wrapping_add(1 << 48);
            self.used = 0;
        }
        let (pair, lane) = (self.used / LANES, self.used % LANES);
        self.used += 1;
        let words = block(self.seed, self.offset, self.first.wrapping_add(lane as u64));
        let bits = u64::from(words[2 * pair][0]) << 32 | u64::from(words[2 * pair + 1][0]);
        (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// As many factors as a product of uniform numbers takes to fall to `exp(-rate)`.
fn counted(rate: f64, units: &mut Units) -> f64 {
    let floor = (-rate).exp();
    let (mut product, mut count) = (units.next(), 0.0);
    while product > floor {
        product *= units.next();
        count += 1.0;
    }
    count
}

/// Transformed rejection with squeeze. Source: Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS.
fn rejected(rate: f64, units: &mut Units) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (units.next() - 0.5, units.next());
        let distance = 0.5 - u.abs();
        let count = ((2.0 * a / distance + b) * u + rate + 0.43).floor();
        if distance >= 0.07 && v <= squeeze {
            return count;
        }
        if count < 0.0 || (distance < 0.013 && v > distance) {
            continue;
        }
        let bound = count * rate.ln() - rate - libm::lgamma(count + 1.0);
        if (v * inverse_alpha / (a / (distance * distance) + b)).ln() <= bound {
            return count;
        }
    }
}
