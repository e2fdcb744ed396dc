//! A GPU that was opened: the driver's functions as safe ones, and its failures as errors.

use std::ptr;
use std::sync::Arc;

use opforge_core::{Error, Result};

use crate::driver::{Driver, Failure, Handle, Launch, Opened};

/// A GPU and what it can do.
pub(crate) struct Gpu {
    /// What opforge calls it.
    pub name: &'static str,
    driver: &'static Driver,
    of: Opened,
    /// How often the process that opened it had been forked from another one.
    forks: usize,
}

// SAFETY: its driver's functions may be called from any thread.
unsafe impl Send for Gpu {}
// SAFETY: its driver's functions may be called from any thread, and so at once.
unsafe impl Sync for Gpu {}

/// Memory of a GPU.
#[derive(Clone)]
pub(crate) struct Buffer(Arc<Owned>);

struct Owned {
    driver: &'static Driver,
    handle: Handle,
    size: usize,
    forks: usize,
}

// SAFETY: its driver's functions may be called from any thread.
unsafe impl Send for Owned {}
// SAFETY: its driver's functions may be called from any thread, and so at once.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // In a process that was forked since, the driver answers no more.
        if opforge_runtime::forks() == self.forks {
            // SAFETY: the handle is the driver's, and nobody has it any more.
            unsafe { (self.driver.release)(self.handle) }
        }
    }
}

impl Buffer {
    /// Its bytes, a multiple of 16.
    pub fn size(&self) -> usize {
        self.0.size
    }

    fn holds(&self, offset: usize, nbytes: usize) -> bool {
        offset.checked_add(nbytes).is_some_and(|end| end <= self.size())
    }
}

/// A compiled kernel, which is kept as long as the program.
#[derive(Clone, Copy)]
pub(crate) struct Compiled(Handle);

// SAFETY: a compiled kernel is never released, and its driver's functions may be called from any thread.
unsafe impl Send for Compiled {}
// SAFETY: a compiled kernel is never released, and its driver's functions may be called from any thread at once.
unsafe impl Sync for Compiled {}

/// One launch: a kernel, its buffers, where it notes failures, the bytes of its uniform buffer, groups of threads.
pub(crate) struct Issued {
    pub kernel: Compiled,
    pub buffers: Vec<Buffer>,
    pub status: Option<Buffer>,
    pub uniforms: Vec<u8>,
    pub groups: u32,
}

impl Gpu {
    /// What a driver's GPUs are called.
    pub fn names(driver: &'static Driver) -> Vec<String> {
        let name = |number| {
            let mut text = [0; 512];
            // SAFETY: the text has that capacity.
            let length = unsafe { (driver.describe)(number, text.as_mut_ptr(), text.len()) };
            (length > 0).then(|| String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned())
        };
        (0..).map_while(name).collect()
    }

    /// Opens a driver's GPU.
    pub fn open(driver: &'static Driver, number: usize) -> Result<Gpu> {
        let name: &'static str = Box::leak(format!("wgpu:{number}").into_boxed_str());
        let nothing = Opened { gpu: ptr::null_mut(), most_bytes: 0, most_buffers: 0, doubles: 0, long_integers: 0 };
        let mut gpu = Gpu { name, driver, of: nothing, forks: opforge_runtime::forks() };
        let mut failure = Failure::none();
        // SAFETY: both are there to be written to.
        unsafe { (driver.open)(number as u32, &mut gpu.of, &mut failure) };
        match failure.code {
            Failure::NONE => Ok(gpu),
            _ => Err(Error::device("wgpu", "device", name, format!("one that opens: {}", failure.message()))),
        }
    }

    /// Whether kernels may compute in f64.
    pub fn doubles(&self) -> bool {
        self.of.doubles != 0
    }

    /// Whether they may compute in integers of 64 bits.
    pub fn long_integers(&self) -> bool {
        self.of.long_integers != 0
    }

    /// Buffers of a kernel at most.
    pub fn most_buffers(&self) -> usize {
        self.of.most_buffers as usize
    }

    /// Whether this process is the one that opened the GPU, and none that was forked since: drivers do not follow.
    pub fn is_ours(&self) -> bool {
        opforge_runtime::forks() == self.forks
    }

    /// What a function of the driver gives, or its failure as the error of `op`.
    fn call<T>(&self, op: &'static str, f: impl FnOnce(&Driver, Handle, &mut Failure) -> T) -> Result<T> {
        if !self.is_ours() {
            let accepted = "a process that opened it itself: one started by 'spawn', or forked before";
            return Err(Error::device(op, "process", format!("one forked after {} was opened", self.name), accepted));
        }
        let mut failure = Failure::none();
        let made = f(self.driver, self.of.gpu, &mut failure);
        match failure.code {
            Failure::NONE => Ok(made),
            Failure::OUT_OF_MEMORY => Err(Error::OutOfMemory { requested: 0, in_use: 0, limit: 0 }),
            _ => Err(Error::Kernel { op: op.into(), message: format!("{}: {}", self.name, failure.message()) }),
        }
    }

    /// A buffer of at least so many bytes, all 0.
    pub fn buffer(&self, nbytes: usize) -> Result<Buffer> {
        let limit = usize::try_from(self.of.most_bytes).unwrap_or(usize::MAX);
        let none = || Error::OutOfMemory { requested: nbytes, in_use: 0, limit };
        let size = nbytes.max(1).checked_next_multiple_of(16).filter(|&size| size <= limit).ok_or_else(none)?;
        // SAFETY: the GPU is the driver's.
        let made = self.call("allocate", |driver, gpu, failure| unsafe { (driver.buffer)(gpu, size as u64, failure) });
        match made {
            Ok(handle) => Ok(Buffer(Arc::new(Owned { driver: self.driver, handle, size, forks: self.forks }))),
            Err(Error::OutOfMemory { .. }) => Err(none()),
            Err(error) => Err(error),
        }
    }

    /// Writes words to a buffer.
    pub fn write(&self, op: &'static str, to: &Buffer, offset: usize, words: &[u8]) -> Result<()> {
        assert!(to.holds(offset, words.len()), "bytes beyond a buffer's end");
        let (at, nbytes) = (words.as_ptr(), words.len());
        self.call(op, |driver, gpu, failure| {
            // SAFETY: the buffer holds the bytes, as was checked; both are there until the call returns.
            unsafe { (driver.write)(gpu, to.0.handle, offset as u64, at, nbytes, failure) }
        })
    }

    /// The words of a buffer, when everything that was issued has run.
    pub fn read(&self, from: &Buffer, offset: usize, nbytes: usize) -> Result<Vec<u8>> {
        assert!(from.holds(offset, nbytes), "bytes beyond a buffer's end");
        let mut words = vec![0; nbytes];
        let at = words.as_mut_ptr();
        self.call("download", |driver, gpu, failure| {
            // SAFETY: the buffer holds the bytes, as was checked, and so many are written.
            unsafe { (driver.read)(gpu, from.0.handle, offset as u64, at, nbytes, failure) }
        })?;
        Ok(words)
    }

    /// Sets so many first bytes of a buffer to 0.
    pub fn clear(&self, buffer: &Buffer, nbytes: usize) -> Result<()> {
        assert!(buffer.holds(0, nbytes), "bytes beyond a buffer's end");
        self.call("clear", |driver, gpu, failure| {
            // SAFETY: the buffer holds the bytes, as was checked.
            unsafe { (driver.clear)(gpu, buffer.0.handle, nbytes as u64, failure) }
        })
    }

    /// Compiles a kernel of so many buffers, with one more of the number `status` if it may fail.
    pub fn compile(&self, op: &'static str, text: &str, buffers: usize, status: Option<u32>) -> Result<Compiled> {
        let (at, length, status) = (text.as_ptr(), text.len(), status.unwrap_or(0));
        let made = self.call(op, |driver, gpu, failure| {
            // SAFETY: the text has that length.
            unsafe { (driver.compile)(gpu, at, length, buffers as u32, status, failure) }
        });
        made.map(Compiled)
    }

    /// Issues launches, in their order.
    pub fn run(&self, op: &'static str, issued: &[Issued]) -> Result<()> {
        let handles = |one: &Issued| one.buffers.iter().map(|buffer| buffer.0.handle).collect::<Vec<_>>();
        let handles: Vec<Vec<Handle>> = issued.iter().map(handles).collect();
        let launch = |(one, buffers): (&Issued, &Vec<Handle>)| Launch {
            kernel: one.kernel.0,
            buffers: buffers.as_ptr(),
            count: buffers.len(),
            status: one.status.as_ref().map_or(ptr::null_mut(), |status| status.0.handle),
            uniforms: one.uniforms.as_ptr(),
            nbytes: one.uniforms.len(),
            groups: one.groups,
        };
        let launches: Vec<Launch> = issued.iter().zip(&handles).map(launch).collect();
        self.call(op, |driver, gpu, failure| {
            // SAFETY: kernels and buffers are the driver's, and all is there until the call returns.
            unsafe { (driver.run)(gpu, launches.as_ptr(), launches.len(), failure) }
        })
    }

    /// Waits until everything that was issued has run.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the GPU is the driver's.
        self.call("wait", |driver, gpu, failure| unsafe { (driver.wait)(gpu, failure) })
    }

    /// Lets go of what has run, without waiting.
    pub fn tidy(&self) {
        if self.is_ours() {
            // SAFETY: the GPU is the driver's.
            unsafe { (self.driver.tidy)(self.of.gpu) }
        }
    }
}
