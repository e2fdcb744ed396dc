//! Instruction sets, and loops compiled for each of them.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::Vector;
#[cfg(target_arch = "aarch64")]
use super::neon as portable;
#[cfg(not(target_arch = "aarch64"))]
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// An instruction-set level, from the least to the most capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What the target guarantees: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2, FMA, F16C and BMI2.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// Products of bf16 by tiles of matrices (AMX) besides.
    Amx,
}

thread_local! {
    static LIMIT: Cell<Option<Isa>> = const { Cell::new(None) };
}

impl Isa {
    /// The level that kernels are prepared for: the best that the processor has, or what the environment variable `OPFORGE_ISA`
    /// (`portable`, `avx2`, `avx512` or `amx`) limits it to.
    pub fn current() -> Isa {
        LIMIT.get().unwrap_or_else(|| {
            static CURRENT: OnceLock<Isa> = OnceLock::new();
            *CURRENT.get_or_init(|| Isa::from_env().map_or(Isa::best(), |isa| isa.min(Isa::best())))
        })
    }

    /// The levels that this processor supports.
    pub fn supported() -> impl Iterator<Item = Isa> {
        [Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Amx].into_iter().filter(|&isa| isa <= Isa::best())
    }

    fn from_env() -> Option<Isa> {
        match std::env::var("OPFORGE_ISA").ok()?.as_str() {
            "portable" => Some(Isa::Portable),
            "avx2" => Some(Isa::Avx2),
            "avx512" => Some(Isa::Avx512),
            "amx" => Some(Isa::Amx),
            _ => None,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn best() -> Isa {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("f16c") && has!("bmi2")) {
            Isa::Portable
        } else if !(has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")) {
            Isa::Avx2
        } else if has!("avx512bf16") && super::amx::is_there() {
            Isa::Amx
        } else {
            Isa::Avx512
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn best() -> Isa {
        Isa::Portable
    }
}

/// Whether this is a processor of AMD's, as its memory is best read otherwise than others'.
pub(crate) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static IS_AMD: OnceLock<bool> = OnceLock::new();
        *IS_AMD.get_or_init(|| {
            let vendor = std::arch::x86_64::__cpuid(0);
            [vendor.ebx, vendor.edx, vendor.ecx] == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes)
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs `f` with [`Isa::current`] limited to `isa` on this thread, so that tests can prepare kernels for every level.
pub fn with_isa<T>(isa: Isa, f: impl FnOnce() -> T) -> T {
    struct Restore(Option<Isa>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _restore = Restore(LIMIT.replace(Some(isa.min(Isa::best()))));
    f()
}

/// An instruction set as generic code sees it: its vector types.
pub trait Simd: 'static {
    /// The level.
    const ISA: Isa;
    /// Vectors of f32.
    type F32: Vector<Elem = f32, Wide = Self::F64>;
    /// Vectors of f64, with half as many lanes.
    type F64: Vector<Elem = f64, Wide = Self::F64>;

    /// Calls a routine's own code for this instruction set, where including it in the caller's is not worth the size.
    ///
    /// # Safety
    /// As [`Routine::run`].
    unsafe fn call<R: Routine>(routine: &R, args: R::Args) -> R::Output;
}

/// A computation written once for every instruction set. See the [module](super) for an example.
pub trait Routine {
    /// What varies from call to call, usually pointers and lengths.
    type Args;
    /// What a call returns.
    type Output;
    /// False where 512-bit vectors bring nothing: the AVX-512 level then uses the AVX2 code, which keeps the binary small.
    const AVX512: bool = true;
    /// False for code that is not worth a version beyond the portable one.
    const AVX2: bool = true;

    /// The computation; implementations must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The processor supports `S::ISA`, and the arguments are as the routine demands.
    unsafe fn run<S: Simd>(&self, args: Self::Args) -> Self::Output;
}

/// A routine compiled for one instruction set.
pub type Entry<R> = unsafe fn(&R, <R as Routine>::Args) -> <R as Routine>::Output;

/// The routine's code for `isa`, which the processor must support when it is called.
pub fn resolve<R: Routine>(isa: Isa) -> Entry<R> {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Amx if R::AVX512 => enter_avx512::<R>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512 | Isa::Amx if R::AVX2 => enter_avx2::<R>,
        _ => enter_portable::<R>,
    }
}

/// A routine and its code for this processor, its own type erased: what runs it is compiled once for all of them.
pub(crate) struct Prepared<Args, Output> {
    routine: Arc<dyn Any + Send + Sync>,
    call: unsafe fn(*const (), Args) -> Output,
}

impl<Args, Output> Prepared<Args, Output> {
    /// The routine at the level in use.
    pub fn new<R>(routine: R) -> Self
    where
        R: Routine<Args = Args, Output = Output> + Send + Sync + 'static,
    {
        Self::at(Isa::current(), routine)
    }

    /// The routine at a level that the processor supports.
    pub fn at<R>(isa: Isa, routine: R) -> Self
    where
        R: Routine<Args = Args, Output = Output> + Send + Sync + 'static,
    {
        let entry: Entry<R> = resolve::<R>(isa);
        // SAFETY: the types differ only in the first argument, a thin pointer in both; `run` passes one to an R.
        let call = unsafe { std::mem::transmute::<Entry<R>, unsafe fn(*const (), Args) -> Output>(entry) };
        Prepared { routine: Arc::new(routine), call }
    }

    /// Runs the routine.
    ///
    /// # Safety
    /// The arguments are as the routine demands.
    #[inline(always)]
    pub unsafe fn run(&self, args: Args) -> Output {
        // SAFETY: `call` expects this routine, and the processor supported the level when it was resolved; the rest is the caller's.
        unsafe { (self.call)(Arc::as_ptr(&self.routine).cast(), args) }
    }
}

impl<Args, Output> Clone for Prepared<Args, Output> {
    fn clone(&self) -> Self {
        Prepared { routine: self.routine.clone(), call: self.call }
    }
}

macro_rules! entries {
    ($($(#[$attr:meta])* $name:ident: $simd:ty);* $(;)?) => {
        $($(#[$attr])*
        #[inline(never)]
        unsafe fn $name<R: Routine>(routine: &R, args: R::Args) -> R::Output {
            // SAFETY: forwarded to the caller; the level is this entry's.
            unsafe { routine.run::<$simd>(args) }
        })*
    };
}
entries! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
    enter_avx512: Avx512Set;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi2")]
    enter_avx2: Avx2Set;
    enter_portable: PortableSet;
}

/// [`Simd::call`] by an entry.
macro_rules! called {
    ($entry:ident) => {
        #[inline(always)]
        unsafe fn call<R: Routine>(routine: &R, args: R::Args) -> R::Output {
            // SAFETY: the processor supports `Self::ISA`, whose features are the entry's, and the arguments are as the routine demands.
            unsafe { $entry(routine, args) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
enum Avx512Set {}
#[cfg(target_arch = "x86_64")]
impl Simd for Avx512Set {
    const ISA: Isa = Isa::Avx512;
    type F32 = avx512::F32;
    type F64 = avx512::F64;
    called!(enter_avx512);
}

#[cfg(target_arch = "x86_64")]
enum Avx2Set {}
#[cfg(target_arch = "x86_64")]
impl Simd for Avx2Set {
    const ISA: Isa = Isa::Avx2;
    type F32 = avx2::F32;
    type F64 = avx2::F64;
    called!(enter_avx2);
}

enum PortableSet {}
impl Simd for PortableSet {
    const ISA: Isa = Isa::Portable;
    type F32 = portable::F32;
    type F64 = portable::F64;
    called!(enter_portable);
}
