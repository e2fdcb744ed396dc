//! Short runs of bytes, moved by loads and stores of fixed sizes: a call of the C library's function takes longer.

/// Bytes of the longest short runs.
pub(crate) const SHORT_RUN: usize = 128;

/// How runs of some lengths are moved.
pub(crate) trait Run {
    /// Their length, if it is always the same; else 0.
    const BYTES: usize;

    /// Copies a run.
    ///
    /// # Safety
    /// `src` is readable and `dst` writable for `bytes` bytes, a number that the type is for; they are apart or the same.
    unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize);

    /// Writes zeros.
    ///
    /// # Safety
    /// As [`Run::copy`].
    #[inline(always)]
    unsafe fn clear(dst: *mut u8, bytes: usize) {
        // SAFETY: `dst` has so many bytes, and there are not more zeros than these.
        unsafe { Self::copy([0u8; SHORT_RUN].as_ptr(), dst, bytes) }
    }
}

/// Runs of `N` bytes.
pub(crate) enum One<const N: usize> {}

/// Runs of `N` to `2 * N` bytes: both ends, which overlap where there are fewer.
pub(crate) enum Two<const N: usize> {}

impl<const N: usize> Run for One<N> {
    const BYTES: usize = N;

    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, _: usize) {
        // SAFETY: both sides have `N` bytes.
        unsafe { dst.cast::<[u8; N]>().write(src.cast::<[u8; N]>().read()) }
    }
}

impl<const N: usize> Run for Two<N> {
    const BYTES: usize = 0;

    #[inline(always)]
    unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
        // SAFETY: both ends have `N` bytes. All is read before anything is written, so that both sides may be the same.
        unsafe {
            let last = bytes - N;
            let ends = (src.cast::<[u8; N]>().read(), src.add(last).cast::<[u8; N]>().read());
            dst.cast::<[u8; N]>().write(ends.0);
            dst.add(last).cast::<[u8; N]>().write(ends.1);
        }
    }
}

/// Evaluates an expression with `$run` standing for the way that runs of `$bytes` bytes are moved, from 1 to [`SHORT_RUN`].
macro_rules! by_run {
    ($bytes:expr, $run:ident => $value:expr) => {
        match $bytes {
            1 => by_run!(@with One<1>, $run, $value),
            2 => by_run!(@with One<2>, $run, $value),
            3 => by_run!(@with Two<2>, $run, $value),
            4 => by_run!(@with One<4>, $run, $value),
            5..8 => by_run!(@with Two<4>, $run, $value),
            8 => by_run!(@with One<8>, $run, $value),
            9..16 => by_run!(@with Two<8>, $run, $value),
            16 => by_run!(@with One<16>, $run, $value),
            17..33 => by_run!(@with Two<16>, $run, $value),
            33..65 => by_run!(@with Two<32>, $run, $value),
            _ => by_run!(@with Two<64>, $run, $value),
        }
    };
    (@with $way:ident<$n:literal>, $run:ident, $value:expr) => {{
        type $run = crate::copy::run::$way<$n>;
        $value
    }};
}
pub(crate) use by_run;
