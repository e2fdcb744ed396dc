//! Where the keys of random draws come from.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use opforge_core::Result;

use crate::Device;

/// Runs are reproducible unless a program seeds itself otherwise.
const DEFAULT_SEED: u64 = 299_792_458;

/// A stream of random draws: a seed, and the number of draws so far. A draw is named by both, so the same seed and calls give the same numbers.
/// Clones are one generator.
#[derive(Debug, Clone)]
pub struct Generator(Arc<State>);

#[derive(Debug)]
struct State {
    seed: AtomicU64,
    draws: AtomicU64,
}

impl Generator {
    /// A generator of its own, with the seed that every program starts from.
    pub fn new() -> Self {
        Generator(Arc::new(State { seed: AtomicU64::new(DEFAULT_SEED), draws: AtomicU64::new(0) }))
    }

    /// The process's generator, which draws use that name no other.
    pub fn global() -> &'static Generator {
        static GLOBAL: LazyLock<Generator> = LazyLock::new(Generator::new);
        &GLOBAL
    }

    /// Whether both are one generator.
    pub fn is(&self, other: &Generator) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Restarts from a seed.
    pub fn manual_seed(&self, seed: u64) {
        self.set_state([seed, 0]);
    }

    /// Restarts from a seed that differs from run to run, and returns it.
    pub fn seed(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher, RandomState};
        // The standard library keys its hash tables from the system's entropy.
        let seed = RandomState::new().build_hasher().finish();
        self.manual_seed(seed);
        seed
    }

    /// The seed that it was last restarted from.
    pub fn initial_seed(&self) -> u64 {
        self.0.seed.load(Ordering::Relaxed)
    }

    /// The key of the next draw: `[seed, number of the draw]`.
    pub fn next_key(&self) -> [u64; 2] {
        let draw = self.0.draws.fetch_add(1, Ordering::Relaxed);
        [self.initial_seed(), draw]
    }

    /// The key that the next draw will have.
    pub fn state(&self) -> [u64; 2] {
        [self.initial_seed(), self.0.draws.load(Ordering::Relaxed)]
    }

    /// Goes back, or on, to a [`Generator::state`].
    pub fn set_state(&self, [seed, draws]: [u64; 2]) {
        self.0.seed.store(seed, Ordering::Relaxed);
        self.0.draws.store(draws, Ordering::Relaxed);
    }
}

impl Default for Generator {
    /// The process's: [`Generator::global`].
    fn default() -> Self {
        Generator::global().clone()
    }
}

/// The key of the process's next draw: see [`Generator::next_key`].
pub fn next_key() -> [u64; 2] {
    Generator::global().next_key()
}

/// Restarts the process's random numbers from a seed.
pub fn manual_seed(seed: u64) {
    Generator::global().manual_seed(seed);
}

impl Device {
    /// Restarts the random numbers from a seed, on all devices.
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        manual_seed(seed);
        Ok(())
    }

    /// The seed that random numbers started from last.
    ///
    /// # Errors
    /// None on the devices there are.
    pub fn get_current_seed(&self) -> Result<u64> {
        Ok(Generator::global().initial_seed())
    }

    /// Waits until everything that was issued has run.
    ///
    /// # Errors
    /// The first failure that nobody has seen yet.
    pub fn synchronize(&self) -> Result<()> {
        crate::vm::synchronize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_brings_the_draws_back() {
        let generator = Generator::new();
        generator.manual_seed(7);
        assert_eq!(generator.next_key(), [7, 0]);
        let state = generator.state();
        let keys = [generator.next_key(), generator.clone().next_key()];
        assert_eq!(keys, [[7, 1], [7, 2]]);
        generator.set_state(state);
        assert_eq!([generator.next_key(), generator.next_key()], keys);
        let seed = generator.seed();
        assert_eq!((generator.initial_seed(), generator.next_key()), (seed, [seed, 0]));
    }
}
