//! Where the keys of random draws come from.

use std::sync::atomic::{AtomicU64, Ordering};

use opforge_core::Result;

use crate::Device;

/// The seed of all random numbers and the number of draws so far. A draw is named by both, so the same seed and calls give the same numbers.
static SEED: AtomicU64 = AtomicU64::new(DEFAULT_SEED);
static DRAWS: AtomicU64 = AtomicU64::new(0);

/// Runs are reproducible unless a program seeds itself otherwise.
const DEFAULT_SEED: u64 = 299_792_458;

/// The key of the next draw: `[seed, number of the draw]`.
pub fn next_key() -> [u64; 2] {
    let draw = DRAWS.fetch_add(1, Ordering::Relaxed);
    [SEED.load(Ordering::Relaxed), draw]
}

/// Restarts the random numbers from a seed.
pub fn manual_seed(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
    DRAWS.store(0, Ordering::Relaxed);
}

impl Device {
    /// Restarts the random numbers from a seed, on all devices.
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        manual_seed(seed);
        Ok(())
    }

    /// Waits until everything that was issued has run.
    ///
    /// # Errors
    /// The first failure that nobody has seen yet.
    pub fn synchronize(&self) -> Result<()> {
        crate::vm::synchronize()
    }
}
