//! The machine that a plan is for.

use opforge::operator::Work;
use opforge_core::{Error, Result};

use crate::Costs;

/// Devices that are alike, and the links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Multiplications and additions that a device makes in a second.
    pub flops: f64,
    /// Bytes that a device reads and writes in a second.
    pub bytes: f64,
    /// Seconds that a call takes besides.
    pub launch: f64,
    /// Bytes that a device has, if they are to suffice.
    pub memory: Option<usize>,
    /// What moving bytes between devices costs.
    pub costs: Costs,
}

impl Machine {
    /// # Errors
    /// Rates that are not positive, times that are negative, and what is not finite.
    pub fn check(&self) -> Result<()> {
        let rates = [("flops", self.flops), ("bytes", self.bytes)];
        if let Some((name, rate)) = rates.into_iter().find(|(_, rate)| !rate.is_finite() || *rate <= 0.0) {
            return Err(Error::value("plan", name, rate, "a finite number above 0, of a second"));
        }
        if !(0.0..f64::INFINITY).contains(&self.launch) {
            return Err(Error::value("plan", "launch", self.launch, "a finite number of seconds, not negative"));
        }
        self.costs.check()
    }

    /// Seconds that a device works on a call: as long as its memory or its arithmetic takes, whichever takes longer.
    pub(super) fn seconds(&self, work: Work) -> f64 {
        self.launch + (work.bytes as f64 / self.bytes).max(work.flops as f64 / self.flops)
    }
}
