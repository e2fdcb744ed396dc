//! What a driver of GPUs gives: a table of C functions, so that it may be built apart from who calls them, and loaded while a program runs.
//!
//! All functions may be called from any thread, and none unwinds. Where one has a [`Failure`], that tells how it ended, and what it returns besides counts
//! only if it succeeded.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// The version of this table: drivers of others are refused.
pub const VERSION: u32 = 1;

/// What the capsule is called in which a Python module gives its table.
pub const CAPSULE: &CStr = c"opforge_wgpu.driver";

/// What a driver calls one of its own: a GPU, a buffer, a compiled kernel.
pub type Handle = *mut c_void;

/// Bytes of a failure's message at most.
pub const MOST_TEXT: usize = 4000;

/// How a call ended.
#[repr(C)]
pub struct Failure {
    /// [`Failure::NONE`], or of what kind.
    pub code: u32,
    /// Bytes of the message, which are written of the text.
    length: u32,
    /// The message, in UTF-8.
    text: [MaybeUninit<u8>; MOST_TEXT],
}

impl Failure {
    /// The call succeeded.
    pub const NONE: u32 = 0;
    /// There is too little memory.
    pub const OUT_OF_MEMORY: u32 = 1;
    /// What the message says.
    pub const OTHER: u32 = 2;

    /// That of a call which has not ended yet.
    pub fn none() -> Self {
        Failure { code: Self::NONE, length: 0, text: [MaybeUninit::uninit(); MOST_TEXT] }
    }

    /// Notes a failure; of a long message the beginning.
    pub fn note(&mut self, code: u32, message: &str) {
        for (to, &byte) in self.text.iter_mut().zip(message.as_bytes()) {
            to.write(byte);
        }
        (self.code, self.length) = (code, message.len().min(MOST_TEXT) as u32);
    }

    /// What the driver says.
    pub fn message(&self) -> String {
        let text = self.text[..(self.length as usize).min(MOST_TEXT)].iter();
        // SAFETY: who set the length wrote so many bytes first, as `note` does.
        let bytes: Vec<u8> = text.map(|byte| unsafe { byte.assume_init() }).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A GPU that was opened, which stays so as long as the program, and what it can do.
#[repr(C)]
pub struct Opened {
    /// The GPU.
    pub gpu: Handle,
    /// Bytes of a buffer that kernels use at most.
    pub most_bytes: u64,
    /// Buffers of a kernel at most.
    pub most_buffers: u32,
    /// 1 where kernels may compute in f64, else 0.
    pub doubles: u32,
    /// 1 where they may compute in integers of 64 bits, else 0.
    pub long_integers: u32,
}

/// One launch of a compiled kernel.
#[repr(C)]
pub struct Launch {
    /// The kernel.
    pub kernel: Handle,
    /// Buffers, bound to group 0 in this order.
    pub buffers: *const Handle,
    /// How many.
    pub count: usize,
    /// Where it notes that it fails: a buffer bound to group 0 by the number that it was compiled with, or null.
    pub status: Handle,
    /// Bytes of the uniform buffer, bound to group 1: a multiple of 16.
    pub uniforms: *const u8,
    /// How many.
    pub nbytes: usize,
    /// Groups of threads along the first dimension, at least 1.
    pub groups: u32,
}

/// A driver's functions.
///
/// # Safety
/// Of every call, until it returns: a GPU is one that `open` gave, buffers and kernels are those that `buffer` and `compile` gave for it, and none of the
/// buffers was released; bytes, texts and arrays are as long as the number beside them says and readable, those of `describe`, `open` and `read` writable
/// and used by nobody else; so are the handles and arrays that launches name; and a failure is there to be written to.
#[repr(C)]
pub struct Driver {
    /// [`VERSION`].
    pub version: u32,
    /// Writes what a GPU of the system is called, in UTF-8 of `capacity` bytes at most, and gives how many it wrote: 0 where there is no GPU of this number.
    pub describe: unsafe extern "C" fn(number: u32, name: *mut u8, capacity: usize) -> usize,
    /// Opens a GPU.
    pub open: unsafe extern "C" fn(number: u32, opened: *mut Opened, failure: *mut Failure),
    /// A buffer of `nbytes` zeros, a multiple of 16, for kernels and copies.
    pub buffer: unsafe extern "C" fn(gpu: Handle, nbytes: u64, failure: *mut Failure) -> Handle,
    /// Gives a buffer back; what was issued may still use it.
    pub release: unsafe extern "C" fn(buffer: Handle),
    /// Writes bytes to a buffer after what was issued before; offset and number are multiples of 4.
    pub write: unsafe extern "C" fn(
        gpu: Handle,
        buffer: Handle,
        offset: u64,
        bytes: *const u8,
        nbytes: usize,
        failure: *mut Failure,
    ),
    /// Waits for what was issued, and reads bytes of a buffer; offset and number are multiples of 4.
    pub read: unsafe extern "C" fn(
        gpu: Handle,
        buffer: Handle,
        offset: u64,
        bytes: *mut u8,
        nbytes: usize,
        failure: *mut Failure,
    ),
    /// Sets the first `nbytes` bytes of a buffer, a multiple of 4, to 0 after what was issued before.
    pub clear: unsafe extern "C" fn(gpu: Handle, buffer: Handle, nbytes: u64, failure: *mut Failure),
    /// Compiles a kernel of that text in UTF-8, whose entry is `main`, of `buffers` buffers in group 0, with one more, of the number `status`, to note failures if that is
    /// not 0, and a uniform buffer in group 1. It is kept as long as the program.
    pub compile: unsafe extern "C" fn(
        gpu: Handle,
        text: *const u8,
        length: usize,
        buffers: u32,
        status: u32,
        failure: *mut Failure,
    ) -> Handle,
    /// Issues launches, one after the other: what one writes the next may read.
    pub run: unsafe extern "C" fn(gpu: Handle, launches: *const Launch, count: usize, failure: *mut Failure),
    /// Waits until everything that was issued has run.
    pub wait: unsafe extern "C" fn(gpu: Handle, failure: *mut Failure),
    /// Lets go of what has run, without waiting.
    pub tidy: unsafe extern "C" fn(gpu: Handle),
}
