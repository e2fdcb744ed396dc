//! Moments in a GPU's work.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge::{Error, Result};
use opforge_runtime::vm;

use crate::driver::{Handle, NOT_READY};
use crate::gpu::Gpu;

/// A moment in the work of a GPU: when everything that was called for before [`Event::record`] has run.
pub struct Event {
    on: &'static Gpu,
    handle: Handle,
    recorded: AtomicBool,
}

// SAFETY: the driver takes its handles from any thread.
unsafe impl Send for Event {}
// SAFETY: and from several at a time.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the GPU of this number, not yet recorded.
    ///
    /// # Errors
    /// As [`device`](crate::device).
    pub fn new(number: usize) -> Result<Event> {
        let on = crate::opened(number)?.1;
        on.enter("event")?;
        let mut handle = ptr::null_mut();
        // SAFETY: the driver writes a handle.
        on.checked("event", unsafe { (on.driver.event_create)(&mut handle, 0) })?;
        Ok(Event { on, handle, recorded: AtomicBool::new(false) })
    }

    /// Marks the end of what was called for until now.
    ///
    /// # Errors
    /// What failed before.
    pub fn record(&self) -> Result<()> {
        vm::hand_over()?;
        self.on.enter("event")?;
        // SAFETY: event and stream are of the same context, and not destroyed.
        self.on.checked("event", unsafe { (self.on.driver.event_record)(self.handle, self.on.stream) })?;
        self.recorded.store(true, Ordering::Release);
        Ok(())
    }

    fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Acquire)
    }

    /// Waits until that has run; an event that was never recorded is over.
    ///
    /// # Errors
    /// What failed before.
    pub fn wait(&self) -> Result<()> {
        if !self.is_recorded() {
            return Ok(());
        }
        self.on.enter("event")?;
        // SAFETY: the event is not destroyed.
        self.on.checked("event", unsafe { (self.on.driver.event_wait)(self.handle) })
    }

    /// Whether that has run.
    ///
    /// # Errors
    /// What failed before.
    pub fn is_over(&self) -> Result<bool> {
        if !self.is_recorded() {
            return Ok(true);
        }
        self.on.enter("event")?;
        // SAFETY: the event is not destroyed.
        match unsafe { (self.on.driver.event_query)(self.handle) } {
            NOT_READY => Ok(false),
            code => self.on.checked("event", code).map(|()| true),
        }
    }

    /// The milliseconds from this moment to a later one of the same GPU.
    ///
    /// # Errors
    /// [`Error::Value`] where one was not recorded or is not over; the driver's for events of two GPUs.
    pub fn milliseconds_to(&self, later: &Event) -> Result<f32> {
        for event in [self, later] {
            if !event.is_recorded() || !event.is_over()? {
                let given = if event.is_recorded() { "one that is not over" } else { "one that was not recorded" };
                return Err(Error::value("elapsed_time", "event", given, "a recorded one that was waited for"));
            }
        }
        let mut milliseconds = 0.0;
        // SAFETY: the driver writes a number; the events are not destroyed.
        self.on.checked("elapsed_time", unsafe {
            (self.on.driver.event_elapsed)(&mut milliseconds, self.handle, later.handle)
        })?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.on.enter("event").is_ok() {
            // SAFETY: nobody has the event any more; the driver waits for it itself where it must. That an event stays is no matter.
            let _ = unsafe { (self.on.driver.event_destroy)(self.handle) };
        }
    }
}
