//! A GPU that was opened: its context, the stream of its work, its pool of memory.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use opforge_core::{Error, Result};

use crate::driver::{Attribute, Driver, Handle, NOT_READY, PoolAttribute};
use crate::kept::Kept;
use crate::status::Status;

/// What a GPU is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// What its maker calls it.
    pub name: String,
    /// Its compute capability: 9.0 is Hopper.
    pub capability: (u32, u32),
    /// The bytes of its memory.
    pub total_memory: usize,
    /// How many multiprocessors it has.
    pub multiprocessors: usize,
    /// The bytes of shared memory that a block can have.
    pub shared_memory: usize,
}

/// A GPU's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// What tensors and kernels use now.
    pub allocated: usize,
    /// The most of it since [`reset_peak`](crate::reset_peak).
    pub most_allocated: usize,
    /// What this program holds, used or not.
    pub reserved: usize,
    /// The most of it since then.
    pub most_reserved: usize,
    /// What no program holds.
    pub free: usize,
    /// All.
    pub total: usize,
}

/// A GPU. Everything that is done there is done in one stream, in order: memory that was freed may be used again by what is issued later.
pub(crate) struct Gpu {
    /// What opforge calls it.
    pub name: &'static str,
    pub driver: &'static Driver,
    pub properties: Properties,
    pub stream: Handle,
    context: Handle,
    pool: Handle,
    kept: Mutex<Kept>,
    /// Made by the first call that may fail.
    pub(crate) status: OnceLock<Mutex<Status>>,
    /// The bytes that may be in use.
    limit: AtomicUsize,
    /// Operators whose own code has issued work that nobody has waited for yet.
    issued: Mutex<BTreeSet<String>>,
    /// How often processes had forked when it was opened.
    forks: usize,
}

// SAFETY: the driver takes its handles from any thread.
unsafe impl Send for Gpu {}
// SAFETY: and from several at a time.
unsafe impl Sync for Gpu {}

/// The driver's number of a device.
fn ordinal(driver: &Driver, number: usize) -> Result<c_int> {
    let count = driver.count()?;
    let accepted = || if count == 0 { "no number: there is no GPU".to_owned() } else { format!("0 to {}", count - 1) };
    if number >= count {
        return Err(Error::device("cuda", "number", number, accepted()));
    }
    let mut device = 0;
    // SAFETY: the driver writes a number.
    driver.check("device", "cuda", unsafe { (driver.device_get)(&mut device, number as c_int) })?;
    Ok(device)
}

/// What a device is, without opening it.
pub(crate) fn properties(number: usize) -> Result<Properties> {
    let driver = Driver::get()?;
    let device = ordinal(driver, number)?;
    let checked = |code| driver.check("properties", "cuda", code);
    let (mut name, mut total) = ([0 as c_char; 256], 0);
    let attribute = |which: Attribute| -> Result<u32> {
        let mut value = 0;
        // SAFETY: the driver writes a number.
        checked(unsafe { (driver.device_attribute)(&mut value, which as c_int, device) })?;
        Ok(value.max(0) as u32)
    };
    // SAFETY: the driver writes a text of at most that length, and a number.
    unsafe {
        checked((driver.device_name)(name.as_mut_ptr(), name.len() as c_int - 1, device))?;
        checked((driver.device_total_memory)(&mut total, device))?;
    }
    let bytes: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    Ok(Properties {
        name: String::from_utf8_lossy(&bytes).into_owned(),
        capability: (attribute(Attribute::Major)?, attribute(Attribute::Minor)?),
        total_memory: total,
        multiprocessors: attribute(Attribute::Multiprocessors)? as usize,
        shared_memory: attribute(Attribute::SharedMemory)? as usize,
    })
}

/// The error of a device where operators of others have issued work, which names them.
fn blamed(error: Error, issued: &BTreeSet<String>) -> Error {
    match error {
        Error::Kernel { op, message } if !issued.is_empty() => {
            let names = issued.iter().cloned().collect::<Vec<_>>().join(", ");
            Error::Kernel { op, message: format!("{message}, after calls of {names}, whose code is their own") }
        }
        error => error,
    }
}

impl Gpu {
    /// Opens a device.
    pub fn open(number: usize) -> Result<Gpu> {
        let (driver, properties) = (Driver::get()?, properties(number)?);
        let device = ordinal(driver, number)?;
        let name: &'static str = Box::leak(format!("cuda:{number}").into_boxed_str());
        let checked = |code| driver.check("device", name, code);
        let mut pools = 0;
        let [mut context, mut stream, mut pool] = [ptr::null_mut(); 3];
        // SAFETY: the driver writes handles, and reads a number of 64 bits.
        unsafe {
            checked((driver.device_attribute)(&mut pools, Attribute::Pools as c_int, device))?;
            if pools == 0 {
                return Err(Error::device(
                    "cuda",
                    "device",
                    &properties.name,
                    "a GPU whose driver has pools of memory",
                ));
            }
            checked((driver.context_retain)(&mut context, device))?;
            checked((driver.context_set)(context))?;
            checked((driver.stream_create)(&mut stream, 0))?;
            checked((driver.pool)(&mut pool, device))?;
            // What is freed is kept for what comes next.
            let mut all = u64::MAX;
            checked((driver.pool_set)(pool, PoolAttribute::Threshold as c_int, (&raw mut all).cast()))?;
        }
        let (limit, forks) = (AtomicUsize::new(usize::MAX), opforge_runtime::forks());
        let (kept, issued, status) = Default::default();
        Ok(Gpu { name, driver, properties, stream, context, pool, kept, status, limit, issued, forks })
    }

    /// Whether this process is the one that opened the GPU, and none that was forked since.
    pub fn is_ours(&self) -> bool {
        opforge_runtime::forks() == self.forks
    }

    /// Makes this thread's calls of the driver about this GPU.
    ///
    /// # Errors
    /// In a process that was forked since the GPU was opened: drivers do not follow.
    pub fn enter(&self, op: &'static str) -> Result<()> {
        if !self.is_ours() {
            let accepted = "a process that opened it itself: one started by 'spawn', or forked before";
            return Err(Error::device(op, "process", format!("one forked after {} was opened", self.name), accepted));
        }
        // SAFETY: the context is never released.
        self.checked(op, unsafe { (self.driver.context_set)(self.context) })
    }

    /// The error that a code of the driver tells, if it is one.
    pub fn checked(&self, op: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        self.driver.check(op, self.name, code).map_err(|error| blamed(error, &self.issued()))
    }

    /// Waits until everything that was issued has run.
    ///
    /// # Errors
    /// What a kernel that was issued before failed of.
    pub fn wait(&self, op: &'static str) -> Result<()> {
        self.enter(op)?;
        let issued = self.issued().clone();
        // SAFETY: the stream is never destroyed.
        self.checked(op, unsafe { (self.driver.stream_wait)(self.stream) })?;
        if !issued.is_empty() {
            self.issued().retain(|op| !issued.contains(op));
        }
        Ok(())
    }

    /// Whether everything that was issued has run.
    ///
    /// # Errors
    /// What a kernel that was issued before failed of.
    pub fn is_idle(&self) -> Result<bool> {
        self.enter("query")?;
        // SAFETY: the stream is never destroyed.
        match unsafe { (self.driver.stream_query)(self.stream) } {
            NOT_READY => Ok(false),
            code => self.checked("query", code).map(|()| true),
        }
    }

    fn issued(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.issued.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes that an operator's own code is about to issue work.
    pub fn note(&self, op: &str) {
        self.issued().insert(op.to_owned());
    }

    fn of_pool(&self, which: PoolAttribute) -> Result<usize> {
        let mut value = 0u64;
        // SAFETY: the driver writes a number of 64 bits.
        self.checked("memory", unsafe { (self.driver.pool_get)(self.pool, which as c_int, (&raw mut value).cast()) })?;
        Ok(value as usize)
    }

    /// Memory that was freed, and what is in use.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How much memory is in use.
    pub fn usage(&self) -> Result<Usage> {
        self.enter("memory")?;
        let (mut free, mut total) = (0, 0);
        let (allocated, most_allocated) = {
            let kept = self.kept();
            (kept.used, kept.most_used)
        };
        // SAFETY: the driver writes two numbers.
        self.checked("memory", unsafe { (self.driver.memory_info)(&mut free, &mut total) })?;
        Ok(Usage {
            allocated,
            most_allocated,
            reserved: self.of_pool(PoolAttribute::Reserved)?,
            most_reserved: self.of_pool(PoolAttribute::ReservedMost)?,
            free,
            total,
        })
    }

    /// Limits what may be in use.
    pub fn limit(&self, nbytes: usize) {
        self.limit.store(nbytes, Ordering::Relaxed);
    }

    /// Whether so many bytes more are within the limit.
    pub fn is_within_limit(&self, nbytes: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        limit == usize::MAX || self.kept().used.saturating_add(nbytes) <= limit
    }

    /// Has the most that was in use counted from now on.
    pub fn reset_peak(&self) -> Result<()> {
        self.enter("memory")?;
        {
            let mut kept = self.kept();
            kept.most_used = kept.used;
        }
        let (which, mut none) = (PoolAttribute::ReservedMost as c_int, 0u64);
        // SAFETY: the driver reads a number of 64 bits.
        self.checked("memory", unsafe { (self.driver.pool_set)(self.pool, which, (&raw mut none).cast()) })
    }

    /// Gives memory that nobody uses back to the system.
    pub fn trim(&self) -> Result<()> {
        self.enter("empty_cache")?;
        let kept: Vec<_> = self.kept().drain().collect();
        for at in kept {
            // SAFETY: the block was allocated in the same stream, and nobody has it.
            self.checked("empty_cache", unsafe { (self.driver.free)(at, self.stream) })?;
        }
        self.wait("empty_cache")?;
        // SAFETY: the pool is the device's own, which is never destroyed.
        self.checked("empty_cache", unsafe { (self.driver.pool_trim)(self.pool, 0) })
    }
}
