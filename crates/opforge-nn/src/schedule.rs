//! Learning rates as functions of the number of steps done.
//!
//! ```
//! use opforge_nn::schedule::{Cosine, Schedule, WarmUp};
//! let rate = WarmUp { steps: 10, then: Cosine { base: 0.1, floor: 0.0, steps: 90 } };
//! assert_eq!(rate.at(0), 0.01);
//! assert_eq!(rate.at(10), 0.1);
//! assert!((rate.at(55) - 0.05).abs() < 1e-12);
//! ```

use std::f64::consts::PI;

use crate::Optimizer;

/// A learning rate that changes with the step.
pub trait Schedule {
    /// The rate after `step` steps.
    fn at(&self, step: usize) -> f64;

    /// Sets an optimizer's rate for the step to come, after `step` steps.
    fn apply<O: Optimizer>(&self, step: usize, optimizer: &mut O) {
        optimizer.set_learning_rate(self.at(step));
    }
}

/// Always the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant(pub f64);

/// `base * factor^(step / period)`, whole periods only.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Step {
    pub base: f64,
    pub period: usize,
    pub factor: f64,
}

/// `base * factor^step`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Exponential {
    pub base: f64,
    pub factor: f64,
}

/// Half a cosine wave from `base` down to `floor` in `steps` steps (Loshchilov and Hutter, 2017), `floor` from there on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Cosine {
    pub base: f64,
    pub floor: f64,
    pub steps: usize,
}

/// Rises evenly over `steps` steps to the first rate of `then`, which follows from its own step 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct WarmUp<S> {
    pub steps: usize,
    pub then: S,
}

/// Up to `peak` and down to nearly nothing (Smith and Topin, 2018), both on half a cosine wave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneCycle {
    /// The largest rate.
    pub peak: f64,
    /// The number of steps of the whole cycle.
    pub steps: usize,
    /// The part of the steps that rise, within 0 and 1.
    pub rising: f64,
    /// What the first rate is smaller by than the peak.
    pub start_divisor: f64,
    /// What the last rate is smaller by than the first.
    pub end_divisor: f64,
}

impl OneCycle {
    /// The usual cycle: rises for 30 % of the steps from a 25th of the peak, ends at a ten thousandth of that.
    pub fn new(peak: f64, steps: usize) -> Self {
        OneCycle { peak, steps, rising: 0.3, start_divisor: 25.0, end_divisor: 1e4 }
    }
}

/// From `start` (at 0) to `end` (at 1 and beyond) on half a cosine wave.
fn half_wave(start: f64, end: f64, part: f64) -> f64 {
    end + (start - end) * 0.5 * (1.0 + (PI * part.clamp(0.0, 1.0)).cos())
}

impl Schedule for Constant {
    fn at(&self, _: usize) -> f64 {
        self.0
    }
}

impl Schedule for Step {
    fn at(&self, step: usize) -> f64 {
        self.base * self.factor.powf((step / self.period.max(1)) as f64)
    }
}

impl Schedule for Exponential {
    fn at(&self, step: usize) -> f64 {
        self.base * self.factor.powf(step as f64)
    }
}

impl Schedule for Cosine {
    fn at(&self, step: usize) -> f64 {
        half_wave(self.base, self.floor, step as f64 / self.steps.max(1) as f64)
    }
}

impl<S: Schedule> Schedule for WarmUp<S> {
    fn at(&self, step: usize) -> f64 {
        match step.checked_sub(self.steps) {
            Some(after) => self.then.at(after),
            None => self.then.at(0) * (step + 1) as f64 / self.steps as f64,
        }
    }
}

impl Schedule for OneCycle {
    fn at(&self, step: usize) -> f64 {
        let start = self.peak / self.start_divisor;
        let (step, last) = (step as f64, self.steps.saturating_sub(1) as f64);
        let top = (self.rising * self.steps as f64 - 1.0).clamp(0.0, last);
        if step < top {
            half_wave(start, self.peak, step / top)
        } else {
            half_wave(self.peak, start / self.end_divisor, (step - top) / (last - top).max(1.0))
        }
    }
}
