//! [`batch_norm`](super::batch_norm()) of `[batch, channels]`, where channels lie side by side: each is a lane.

use std::marker::PhantomData;

use opforge_core::WithDType;
use opforge_runtime::checkpoint;

use super::scaled_eps;
use super::sets::{Normalized, Products, Squares, Sum, Terms};
use crate::loops::tasks::Job;
use crate::reduce::shrink;
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};

/// Channels of a task: whole cache lines of every dtype.
pub(super) const WIDTH: usize = 64;
/// Rows whose terms are added up in their own type before they enter the whole sums.
const ROWS: usize = 256;

/// A number for each channel of a task.
type Numbers = [f64; WIDTH];

/// A matrix of `rows` elements of each of `channels`.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub rows: usize,
    pub channels: usize,
}

/// The channels of a task.
#[derive(Clone, Copy)]
struct Part {
    matrix: Matrix,
    first: usize,
    width: usize,
}

impl Matrix {
    /// Tasks of [`WIDTH`] channels.
    pub fn tasks(&self) -> usize {
        self.channels.div_ceil(WIDTH)
    }

    fn part(&self, task: usize) -> Part {
        let first = task * WIDTH;
        Part { matrix: *self, first, width: WIDTH.min(self.channels - first) }
    }
}

impl Part {
    /// Sums down the columns of `N` terms of each element; `terms` makes those of a vector of channels, and must be
    /// `#[inline(always)]`.
    ///
    /// # Safety
    /// The terms may be made of all of the part's elements.
    #[inline(always)]
    unsafe fn sums<V: Vector, T: Terms<V, N>, const N: usize>(self, terms: impl Fn(usize) -> T) -> [Numbers; N] {
        let mut sums = [[0.0; WIDTH]; N];
        each_vector(
            self.width,
            V::LANES,
            #[inline(always)]
            |i, n| {
                // SAFETY: channels `i..i + n` are the part's.
                unsafe { self.add::<V, T, N>(&terms(i), i, n, &mut sums) };
            },
        );
        sums
    }

    /// Adds the terms of `n` channels from the `i`-th on.
    ///
    /// # Safety
    /// As [`sums`](Part::sums).
    #[inline(always)]
    unsafe fn add<V: Vector, T: Terms<V, N>, const N: usize>(
        self,
        terms: &T,
        i: usize,
        n: usize,
        sums: &mut [Numbers; N],
    ) {
        let Matrix { rows, channels } = self.matrix;
        for block in (0..rows).step_by(ROWS) {
            checkpoint();
            let (mut even, mut odd) = ([V::splat(0.0); N], [V::splat(0.0); N]);
            let end = rows.min(block + ROWS);
            let mut row = block;
            // SAFETY: rows below `end` are the matrix', and so are the channels.
            unsafe {
                while row + 2 <= end {
                    let at = row * channels + self.first + i;
                    plus(&mut even, terms.at(at, n));
                    plus(&mut odd, terms.at(at + channels, n));
                    row += 2;
                }
                if row < end {
                    plus(&mut even, terms.at(row * channels + self.first + i, n));
                }
            }
            plus(&mut even, odd);
            for (sums, sum) in sums.iter_mut().zip(even) {
                let mut lanes = [V::Elem::default(); 16];
                // SAFETY: the array holds as many elements as any vector.
                unsafe { sum.store(lanes.as_mut_ptr()) };
                for (total, lane) in sums[i..].iter_mut().zip(&lanes[..n]) {
                    *total += lane.to_f64();
                }
            }
        }
    }
}

#[inline(always)]
fn plus<V: Vector, const N: usize>(sums: &mut [V; N], terms: [V; N]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum = *sum + term;
    }
}

/// A vector of numbers from the `i`-th on.
#[inline(always)]
fn lanes<E: StoredFloat, S: Simd>(numbers: &Numbers, i: usize) -> VectorOf<E, S> {
    let mut elements = [E::Compute::default(); 16];
    for (element, number) in elements.iter_mut().zip(&numbers[i..]) {
        *element = E::Compute::from_f64(*number);
    }
    // SAFETY: the array holds as many elements as any vector.
    unsafe { Vector::load(elements.as_ptr()) }
}

/// A vector of channels from the `i`-th on, as [`Terms`] read them.
#[inline(always)]
fn normalized<E: StoredFloat, S: Simd>(job: &Job, i: usize, center: &Numbers, scale: &Numbers) -> Normalized<E, S> {
    let (center, scale) = (lanes::<E, S>(center, i), lanes::<E, S>(scale, i));
    Normalized { x: job.inputs[0].cast::<E>(), stride: 1, center, scale }
}

/// Channels' numbers of a tensor, or what stands for them where it is not given.
///
/// # Safety
/// If `given`, `at` is readable for the part's channels.
#[inline(always)]
unsafe fn numbers<E: WithDType>(given: bool, at: *const u8, part: Part, otherwise: f64) -> Numbers {
    let mut numbers = [otherwise; WIDTH];
    if given {
        for (i, number) in numbers[..part.width].iter_mut().enumerate() {
            // SAFETY: there is a number for every channel.
            *number = unsafe { at.cast::<E>().add(part.first + i).read() }.to_f64();
        }
    }
    numbers
}

/// Writes the channels' numbers.
///
/// # Safety
/// `at` is writable for the part's channels.
#[inline(always)]
unsafe fn write_numbers<E: WithDType>(at: *mut u8, part: Part, numbers: &Numbers) {
    for (i, number) in numbers[..part.width].iter().enumerate() {
        // SAFETY: there is a place for every channel.
        unsafe { at.cast::<E>().add(part.first + i).write(E::from_f64(*number)) };
    }
}

/// The result, and mean and variance of each channel.
pub(super) struct Forward<E> {
    pub matrix: Matrix,
    /// Whether there are weight and bias.
    pub given: [bool; 2],
    pub eps: f64,
    pub element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Forward<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        for task in job.tasks.clone() {
            let part = self.matrix.part(task);
            // SAFETY: the kernel's tensors are valid, and the part is one of the matrix'.
            unsafe {
                let mut scale = [1.0; WIDTH];
                let [mut mean, mut var] = self.moments::<S>(&job, part, &scale);
                let overflown: [bool; WIDTH] = std::array::from_fn(|i| !(mean[i].is_finite() && var[i].is_finite()));
                if overflown[..part.width].contains(&true) {
                    scale = overflown.map(|over| if over { shrink::<E>() } else { 1.0 });
                    [mean, var] = self.moments::<S>(&job, part, &scale);
                }
                let rstd = std::array::from_fn(|i| scale[i] / (var[i] + scaled_eps(self.eps, scale[i])).sqrt());
                self.write::<S>(&job, part, &mean, &rstd);
                write_numbers::<E::Compute>(job.outputs[1], part, &mean);
                let var = std::array::from_fn(|i| var[i] / scale[i] / scale[i]);
                write_numbers::<E::Compute>(job.outputs[2], part, &var);
            }
        }
    }
}

impl<E: StoredFloat> Forward<E> {
    /// The channels' means, and variances of their elements times `scale`.
    ///
    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn moments<S: Simd>(&self, job: &Job, part: Part, scale: &Numbers) -> [Numbers; 2] {
        let count = self.matrix.rows as f64;
        // SAFETY: x holds the part's elements.
        unsafe {
            let [sum] = part.sums(
                #[inline(always)]
                |i| Sum(normalized::<E, S>(job, i, &[0.0; WIDTH], scale)),
            );
            let mean = std::array::from_fn(|i| sum[i] / count / scale[i]);
            let [squares] = part.sums(
                #[inline(always)]
                |i| Squares(normalized::<E, S>(job, i, &mean, scale)),
            );
            [mean, squares.map(|sum| sum / count)]
        }
    }

    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, job: &Job, part: Part, mean: &Numbers, rstd: &Numbers) {
        let Matrix { rows, channels } = self.matrix;
        // SAFETY: weight and bias have a number for each channel; `i + n` of the part's channels are read and written in each row.
        unsafe {
            let weight = numbers::<E>(self.given[0], job.inputs[1], part, 1.0);
            let bias = numbers::<E>(self.given[1], job.inputs[1 + usize::from(self.given[0])], part, 0.0);
            let scale = std::array::from_fn(|i| weight[i] * rstd[i]);
            each_vector(
                part.width,
                VectorOf::<E, S>::LANES,
                #[inline(always)]
                |i, n| {
                    let (center, scale, bias) =
                        (lanes::<E, S>(mean, i), lanes::<E, S>(&scale, i), lanes::<E, S>(&bias, i));
                    for row in 0..rows {
                        let at = row * channels + part.first + i;
                        let x = load_strided::<S, E>(job.inputs[0].cast::<E>().add(at), n, 1);
                        let y = (x - center).mul_add(scale, bias);
                        store_strided::<S, E>(y, n, job.outputs[0].cast::<E>().add(at), 1);
                    }
                },
            );
        }
    }
}

/// The gradient of the input, and the sums that those of the parameters are.
pub(super) struct Gradient<E> {
    pub matrix: Matrix,
    /// Whether there is a weight.
    pub given: bool,
    pub eps: f64,
    pub element: PhantomData<E>,
}

impl<E: StoredFloat> Routine for Gradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let count = self.matrix.rows as f64;
        for task in job.tasks.clone() {
            let part = self.matrix.part(task);
            // SAFETY: the job's tensors hold the part, and the statistics a number for each channel.
            unsafe {
                let mean = numbers::<E::Compute>(true, job.inputs[2], part, 0.0);
                let var = numbers::<E::Compute>(true, job.inputs[3], part, 1.0);
                let rstd = var.map(|var| 1.0 / (var + self.eps).sqrt());
                let dy = job.inputs[1].cast::<E>();
                let [sum, sum_h] = part.sums(
                    #[inline(always)]
                    |i| Products { normal: normalized::<E, S>(&job, i, &mean, &rstd), dy },
                );
                write_numbers::<E::Compute>(job.outputs[1], part, &sum_h);
                write_numbers::<E::Compute>(job.outputs[2], part, &sum);
                let weight = numbers::<E>(self.given, job.inputs[4], part, 1.0);
                let scale: Numbers = std::array::from_fn(|i| weight[i] * rstd[i]);
                let means = [sum, sum_h].map(|sum| std::array::from_fn(|i| sum[i] / count * scale[i]));
                self.write::<S>(&job, part, [&mean, &rstd, &scale, &means[0], &means[1]]);
            }
        }
    }
}

impl<E: StoredFloat> Gradient<E> {
    /// # Safety
    /// The job's tensors are valid.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, job: &Job, part: Part, [center, rstd, scale, mean, mean_h]: [&Numbers; 5]) {
        let Matrix { rows, channels } = self.matrix;
        each_vector(
            part.width,
            VectorOf::<E, S>::LANES,
            #[inline(always)]
            |i, n| {
                let normal = normalized::<E, S>(job, i, center, rstd);
                let (scale, mean, mean_h) = (lanes::<E, S>(scale, i), lanes::<E, S>(mean, i), lanes::<E, S>(mean_h, i));
                for row in 0..rows {
                    let at = row * channels + part.first + i;
                    // SAFETY: `n` channels from `i` on are the part's.
                    unsafe {
                        let dy = load_strided::<S, E>(job.inputs[1].cast::<E>().add(at), n, 1);
                        let dx = dy * scale - mean - normal.load(at, n) * mean_h;
                        store_strided::<S, E>(dx, n, job.outputs[0].cast::<E>().add(at), 1);
                    }
                }
            },
        );
    }
}
