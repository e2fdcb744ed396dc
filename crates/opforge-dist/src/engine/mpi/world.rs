//! MPI in this process.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use opforge_core::{Error, Result};

use super::abi::{self, Functions};
use super::engine::MpiEngine;
use super::library;
use super::running::{Abandoned, Held, Running};
use crate::engine::{Engine, Request, deadline};
use crate::{Fault, LIMIT};

/// MPI in this process; there is one.
///
/// `MPI_THREAD_MULTIPLE` is asked for. With `MPI_THREAD_SERIALIZED`, calls take turns; with less, only the thread that started MPI may use engines,
/// and others get an error. Failures are errors (`MPI_ERRORS_RETURN`).
///
/// ```no_run
/// use opforge_core::DType;
/// use opforge_dist::{Buffer, Collectives, Guard, LIMIT, Mpi, Reduction, Settings};
///
/// let mpi = Mpi::start()?;
/// let guard = Guard::new(mpi.world()?, Settings::default());
/// let sum = guard.all_reduce(Buffer::of(&[1.0f32])?, DType::F32, Reduction::Sum)?.wait(LIMIT)?;
/// println!("{:?}", sum.to_vec::<f32>()?);
/// guard.close()?;
/// mpi.finish(LIMIT)?;
/// # Ok::<(), opforge_core::Error>(())
/// ```
pub struct Mpi {
    pub(super) functions: Functions,
    file: PathBuf,
    thread_level: c_int,
    /// The thread that started MPI.
    starter: ThreadId,
    /// Whether this crate initialised MPI, and so finalizes it.
    ours: bool,
    turn: Mutex<()>,
    /// Calls that were given up; MPI may still use their memory.
    pub(super) abandoned: Mutex<Vec<Abandoned>>,
    finished: Mutex<bool>,
    /// Whether a thread waits in MPI for ranks that did not come.
    stuck: AtomicBool,
}

/// The right to call MPI now.
pub(super) struct Entered<'a>(#[allow(dead_code)] Option<MutexGuard<'a, ()>>);

impl Mpi {
    /// Loads and initialises MPI; later calls give the same. A process that another library initialised is taken as it is, and its library should
    /// be the same file (`OPFORGE_MPI`).
    ///
    /// # Errors
    /// No library with the standard ABI is found, or MPI cannot be initialised.
    pub fn start() -> Result<&'static Mpi> {
        static MPI: OnceLock<Result<Mpi>> = OnceLock::new();
        MPI.get_or_init(Mpi::open).as_ref().map_err(Error::clone)
    }

    /// Whether a library with the standard ABI is found; MPI is not begun.
    ///
    /// ```
    /// use opforge_dist::Mpi;
    ///
    /// println!("MPI: {}", if Mpi::is_found() { "there" } else { "pip install mpich" });
    /// ```
    pub fn is_found() -> bool {
        // A library stays loaded, as after `Mpi::start`.
        library::open().map(std::mem::forget).is_ok()
    }

    /// Has the library looked for in an environment too, one with a folder `lib`, after those that `VIRTUAL_ENV` and `CONDA_PREFIX` name: for front ends,
    /// before MPI is started. The first that is given counts.
    ///
    /// ```
    /// opforge_dist::Mpi::look_in("/opt/environment".into());
    /// ```
    pub fn look_in(environment: PathBuf) {
        library::look_in(environment);
    }

    fn open() -> Result<Mpi> {
        if size_of::<usize>() != size_of::<abi::Count>() {
            return Err(Fault::Unavailable { message: "MPI is supported on 64-bit systems only".into() }.into());
        }
        let (library, file) = library::open()?;
        let functions = Functions::of(&library)?;
        // MPI cannot be unloaded.
        std::mem::forget(library);
        let (mut major, mut minor, mut initialized, mut thread_level) = (0, 0, 0, abi::THREAD_SINGLE);
        // SAFETY: the arguments are addresses of numbers, and these functions may be called before initialisation. `MPI_Init_thread` takes null for
        // the program's arguments.
        unsafe {
            check(&functions, "MPI_Abi_get_version", (functions.abi_get_version)(&mut major, &mut minor))?;
            if major != abi::ABI_VERSION {
                let message = format!("{} has version {major}.{minor} of the ABI (accepted: 1)", file.display());
                return Err(Fault::Unavailable { message }.into());
            }
            check(&functions, "MPI_Initialized", (functions.initialized)(&mut initialized))?;
            let code = match initialized {
                0 => (functions.init_thread)(
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                    abi::THREAD_MULTIPLE,
                    &mut thread_level,
                ),
                _ => (functions.query_thread)(&mut thread_level),
            };
            check(&functions, "MPI_Init_thread", code)?;
            let code = (functions.comm_set_errhandler)(abi::COMM_WORLD, abi::ERRORS_RETURN);
            check(&functions, "MPI_Comm_set_errhandler", code)?;
        }
        Ok(Mpi {
            functions,
            file,
            thread_level,
            starter: std::thread::current().id(),
            ours: initialized == 0,
            turn: Mutex::new(()),
            abandoned: Mutex::default(),
            finished: Mutex::new(false),
            stuck: AtomicBool::new(false),
        })
    }

    /// The engine of all processes, with messages apart from those of other users of MPI. All ranks call it.
    ///
    /// # Errors
    /// MPI is finished, or fails; a rank does not come within [`LIMIT`].
    pub fn world(&'static self) -> Result<Arc<dyn Engine>> {
        self.world_within(LIMIT)
    }

    /// As [`Mpi::world`], with a limit for the ranks that make it, and later its subgroups.
    ///
    /// # Errors
    /// As [`Mpi::world`], within this limit.
    pub fn world_within(&'static self, limit: Duration) -> Result<Arc<dyn Engine>> {
        if self.is_finished() {
            return Err(Fault::Unavailable { message: "MPI is finished in this process".into() }.into());
        }
        let running = Running::duplicate(self, abi::COMM_WORLD)?;
        let comm = running.comm();
        Request::new("MPI_Comm_idup", running).wait(limit)?;
        let comm = *comm.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::new(MpiEngine::new(self, comm, limit)?))
    }

    /// The library's file, version and level of threads.
    pub fn describe(&self) -> String {
        let mut text = vec![0u8; abi::MAX_LIBRARY_VERSION_STRING + 1];
        let mut len = 0;
        // SAFETY: the text has as many bytes as the ABI demands; the function may be called at any time.
        let code = unsafe { (self.functions.get_library_version)(text.as_mut_ptr().cast::<c_char>(), &mut len) };
        let version = if code == abi::SUCCESS { read(&text, len) } else { String::new() };
        let line = version.lines().next().unwrap_or_default().trim().to_owned();
        let level = match self.thread_level {
            abi::THREAD_MULTIPLE => "multiple",
            abi::THREAD_SERIALIZED => "serialized",
            abi::THREAD_FUNNELED => "funneled",
            _ => "single",
        };
        format!("{line} ({}), threads: {level}", self.file.display())
    }

    /// Ends MPI, if this crate began it: after that no engine works. The thread that started MPI calls it, on all ranks. After an error, MPI stays
    /// as it is: whoever waited for a lost rank would wait forever, and the launcher ends what is left when this process ends.
    ///
    /// # Errors
    /// Calls that were given up are still under way after `limit`; ranks do not come within it; MPI fails.
    pub fn finish(&'static self, limit: Duration) -> Result<()> {
        let until = deadline(limit);
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if *finished || !self.ours {
            return Ok(());
        }
        if self.stuck.load(Ordering::Relaxed) {
            let message = "MPI cannot be finished: a subgroup whose ranks did not come is still being made";
            return Err(Fault::Unavailable { message: message.into() }.into());
        }
        // `MPI_Finalize` waits for all ranks, without a limit.
        Request::new("finish", Running::barrier(self, abi::COMM_WORLD, Held::default())?).wait(limit)?;
        while self.bury()? > 0 {
            if Instant::now() >= until {
                return Err(
                    Fault::TimedOut { call: "finish, for calls that were given up,".into(), waited: limit }.into()
                );
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let entered = self.enter()?;
        // SAFETY: MPI is initialised and not finalized, and no call is under way.
        let code = unsafe { (self.functions.finalize)() };
        drop(entered);
        *finished = true;
        self.check("MPI_Finalize", code)
    }

    /// Lets go of abandoned calls that are done; how many are left.
    pub(super) fn bury(&'static self) -> Result<usize> {
        let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        let entered = self.enter()?;
        abandoned.retain_mut(|call| !call.is_done(self));
        drop(entered);
        Ok(abandoned.len())
    }

    /// The right to call MPI from this thread, for as long as the result lives.
    ///
    /// # Errors
    /// The library's level of threads forbids it.
    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        match self.thread_level {
            abi::THREAD_MULTIPLE => Ok(Entered(None)),
            abi::THREAD_SERIALIZED => Ok(Entered(Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner)))),
            _ if self.starter == std::thread::current().id() => Ok(Entered(None)),
            _ => {
                let accepted = "the thread that started MPI: the library offers neither MPI_THREAD_MULTIPLE nor MPI_THREAD_SERIALIZED";
                Err(Error::value("mpi", "thread", "another thread", accepted))
            }
        }
    }

    pub(super) fn check(&self, function: &'static str, code: c_int) -> Result<()> {
        check(&self.functions, function, code)
    }

    /// Whether any thread may use engines: the library gave at least `MPI_THREAD_SERIALIZED`.
    ///
    /// ```no_run
    /// # use opforge_dist::Mpi;
    /// println!("{}", if Mpi::start()?.takes_any_thread() { "any thread" } else { "this thread alone" });
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn takes_any_thread(&self) -> bool {
        self.thread_level >= abi::THREAD_SERIALIZED
    }

    pub(super) fn is_multiple(&self) -> bool {
        self.thread_level == abi::THREAD_MULTIPLE
    }

    /// A thread stays behind in MPI.
    pub(super) fn leave_stuck(&self) {
        self.stuck.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_finished(&self) -> bool {
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mpi({})", self.describe())
    }
}

/// An error code as an error.
fn check(functions: &Functions, function: &'static str, code: c_int) -> Result<()> {
    if code == abi::SUCCESS {
        return Ok(());
    }
    let (mut class, mut len) = (code, 0);
    let mut text = vec![0u8; abi::MAX_ERROR_STRING + 1];
    // SAFETY: the arguments are addresses of numbers, and of as many bytes as the ABI demands; both functions may be called at any time.
    unsafe {
        (functions.error_class)(code, &mut class);
        (functions.error_string)(code, text.as_mut_ptr().cast::<c_char>(), &mut len);
    }
    Err(Fault::Library { function, class, message: read(&text, len) }.into())
}

fn read(text: &[u8], len: c_int) -> String {
    let len = usize::try_from(len).unwrap_or_default().min(text.len());
    String::from_utf8_lossy(&text[..len]).into_owned()
}
