//! What the libraries prepare for lines of one length, and the working memory that a line takes.

use std::slice::from_raw_parts_mut;
use std::sync::Arc;

use num_complex::Complex;
use opforge_tile::forms::Spectrum;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// Numbers that lines are made of.
pub(super) trait Real: FftNum {
    /// The nearest to `x`.
    fn of(x: f64) -> Self;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }
}
impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }
}

enum Algorithm<T> {
    Complex(Arc<dyn Fft<T>>),
    OfReal(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

/// How lines are transformed of which one side has `n` numbers, and the other as many or `n / 2 + 1`.
pub(super) struct Plan<T> {
    algorithm: Algorithm<T>,
    n: usize,
    /// Real and complex numbers of a line, and complex ones that the library works in.
    sizes: [usize; 3],
}

/// The working memory of one line.
pub(super) struct Room<'a, T> {
    real: &'a mut [T],
    complex: &'a mut [Complex<T>],
    spare: &'a mut [Complex<T>],
}

impl<T: Real> Plan<T> {
    pub fn new(spectrum: Spectrum, n: usize) -> Plan<T> {
        let (algorithm, sizes) = match spectrum {
            Spectrum::Complex { inverse } => {
                let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
                let fft = FftPlanner::new().plan_fft(n, direction);
                let spare = fft.get_inplace_scratch_len();
                (Algorithm::Complex(fft), [0, n, spare])
            }
            Spectrum::OfReal | Spectrum::OfRealToAll => {
                let fft = RealFftPlanner::new().plan_fft_forward(n);
                let spare = fft.get_scratch_len();
                let numbers = if spectrum == Spectrum::OfReal { n / 2 + 1 } else { n };
                (Algorithm::OfReal(fft), [n, numbers, spare])
            }
            Spectrum::ToReal { .. } => {
                let fft = RealFftPlanner::new().plan_fft_inverse(n);
                let spare = fft.get_scratch_len();
                (Algorithm::ToReal(fft), [n, n / 2 + 1, spare])
            }
        };
        Plan { algorithm, n, sizes }
    }

    /// What a line costs, in elements of a plain loop.
    pub fn work(&self) -> usize {
        self.n.saturating_mul(4 + self.n.ilog2() as usize)
    }

    /// Bytes of a [`Room`].
    pub fn room_bytes(&self) -> usize {
        let [real, complex, spare] = self.sizes;
        (real + 2 * (complex + spare)) * size_of::<T>()
    }

    /// Working memory made of bytes.
    ///
    /// # Safety
    /// There are [`Plan::room_bytes`] bytes at `bytes`, aligned for the numbers, initialised, and used for nothing else while the room lives.
    pub unsafe fn room<'a>(&self, bytes: *mut u8) -> Room<'a, T> {
        let [real, complex, spare] = self.sizes;
        let pairs = bytes.cast::<Complex<T>>();
        // SAFETY: the three parts lie one after the other within the bytes, complex numbers first, which are as aligned as their parts; any bits are numbers.
        unsafe {
            Room {
                complex: from_raw_parts_mut(pairs, complex),
                spare: from_raw_parts_mut(pairs.add(complex), spare),
                real: from_raw_parts_mut(pairs.add(complex + spare).cast(), real),
            }
        }
    }

    /// Where a line is to be put, parts of complex numbers side by side.
    pub fn entry<'a>(&self, room: &'a mut Room<'_, T>) -> &'a mut [T] {
        match self.algorithm {
            Algorithm::OfReal(_) => room.real,
            _ => parts(room.complex),
        }
    }

    /// Where its transform is then found.
    pub fn result<'a>(&self, room: &'a mut Room<'_, T>) -> &'a mut [T] {
        match self.algorithm {
            Algorithm::ToReal(_) => room.real,
            _ => parts(room.complex),
        }
    }

    /// Transforms the line.
    pub fn carry_out(&self, Room { real, complex, spare }: &mut Room<'_, T>) {
        let done = match &self.algorithm {
            Algorithm::Complex(fft) => {
                fft.process_with_scratch(complex, spare);
                Ok(())
            }
            Algorithm::OfReal(fft) => {
                let (half, rest) = complex.split_at_mut(self.n / 2 + 1);
                let done = fft.process_with_scratch(real, half, spare);
                // The first number has no conjugate, as the middle one of an even number.
                let pairs = rest.iter_mut().zip(half[1..self.n.div_ceil(2)].iter().rev());
                pairs.for_each(|(number, of)| *number = of.conj());
                done
            }
            Algorithm::ToReal(fft) => {
                let ends = if self.n.is_multiple_of(2) { complex.len() - 1 } else { 0 };
                complex[0].im = T::zero();
                complex[ends].im = T::zero();
                fft.process_with_scratch(complex, real, spare)
            }
        };
        done.expect("buffers of the plan's lengths, and real ends");
    }
}

/// The parts of complex numbers, side by side.
fn parts<T>(complex: &mut [Complex<T>]) -> &mut [T] {
    // SAFETY: a complex number is its two parts in order (`repr(C)`).
    unsafe { from_raw_parts_mut(complex.as_mut_ptr().cast(), 2 * complex.len()) }
}
