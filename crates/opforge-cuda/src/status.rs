//! What launches tell of what they found: words in memory of the host that the GPU sees, and the moment from which on they are told.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opforge_core::Result;

use crate::driver::{Address, Handle};
use crate::gpu::Gpu;

/// Bytes of the words.
const NBYTES: usize = 12;

/// The words of one call at a time.
pub(crate) struct Status {
    words: *mut [u32; 3],
    /// The words as the GPU sees them.
    pub at: Address,
    told: Handle,
}

// SAFETY: memory and event belong to the GPU's context, which every thread that has the status enters.
unsafe impl Send for Status {}

impl Gpu {
    /// The status, of which all words are 0.
    pub fn status(&self, op: &'static str) -> Result<MutexGuard<'_, Status>> {
        let status = match self.status.get() {
            Some(status) => status,
            None => {
                let made = Mutex::new(Status::new(self, op)?);
                self.status.get_or_init(|| made)
            }
        };
        let status = status.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the words live as long as the GPU; who had the status before has waited for whoever writes there.
        unsafe { status.words.write_volatile([0; 3]) };
        Ok(status)
    }
}

impl Status {
    /// Words and an event that are never freed.
    fn new(on: &Gpu, op: &'static str) -> Result<Status> {
        on.enter(op)?;
        let (mut words, mut at, mut told): (*mut c_void, _, _) = (ptr::null_mut(), 0, ptr::null_mut());
        // SAFETY: the driver writes an address of the host, that of the same memory for the GPU, and a handle.
        unsafe {
            on.checked(op, (on.driver.host_allocate)(&mut words, NBYTES, 0))?;
            on.checked(op, (on.driver.host_address)(&mut at, words, 0))?;
            on.checked(op, (on.driver.event_create)(&mut told, 0))?;
        }
        Ok(Status { words: words.cast(), at, told })
    }

    /// Whatever was issued until now is what tells.
    pub fn record(&self, on: &Gpu, op: &'static str) -> Result<()> {
        // SAFETY: event and stream are of the same context, and never destroyed.
        on.checked(op, unsafe { (on.driver.event_record)(self.told, on.stream) })
    }

    /// Waits until that has run; what it told.
    pub fn wait(&self, on: &Gpu, op: &'static str) -> Result<[u32; 3]> {
        // SAFETY: the event was recorded.
        on.checked(op, unsafe { (on.driver.event_wait)(self.told) })?;
        // SAFETY: the words live as long as the GPU, and all that writes there has run, for the event was recorded after it.
        Ok(unsafe { self.words.read_volatile() })
    }
}
