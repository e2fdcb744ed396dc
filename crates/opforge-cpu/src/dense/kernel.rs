//! The kernel of routines that work on one matrix of a batch at a time.

use std::marker::PhantomData;
use std::sync::Arc;

use faer::MatRef;
use num_complex::Complex;
use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
use opforge_runtime::parallel::parallel_for;
use smallvec::SmallVec;

use super::number::{Number, zeros};
use super::place::{Place, copy_converted};
use super::triangular::Triangle;
use super::{Dense, Failure, FirstFailure, cholesky, eigen, exp, lu, qr, spectral, triangular};
use crate::copy::Shared;
use crate::loops::work::grain;

/// Operations that cost as much as an element of a plain loop.
const OPERATIONS: usize = 6;

/// What a routine computes of one matrix, column by column: outputs of numbers, of complex ones, and that of integers if there is one.
pub(super) struct Results<T> {
    pub numbers: SmallVec<[Room<T>; 3]>,
    pub complex: SmallVec<[Room<Complex<f64>>; 2]>,
    pub integers: Room<i64>,
}

/// How numbers lie in tensors: as they are computed with, but for c64.
pub(super) trait Stored: Copy + Send + Sync + 'static {
    /// What is computed with.
    type Number: Number;
    /// Its parts, and what is real also of complex matrices.
    type Part: Copy + 'static;
    /// A matrix as it is computed with, in `room` if that is something else.
    fn matrix<'a>(
        a: MatRef<'a, Self>,
        room: &'a mut Option<Room<Self::Number>>,
    ) -> Result<MatRef<'a, Self::Number>, Failure>;
    fn number(x: Self::Number) -> Self;
    /// Writes a matrix, whose columns are given one after another.
    ///
    /// # Safety
    /// As [`Place::write`].
    unsafe fn write(place: &Place, base: *mut Self, index: usize, from: &[Self::Number]) {
        // SAFETY: as the caller says.
        unsafe { place.write_converted(base, index, from, Self::number) };
    }
    fn part(x: f64) -> Self::Part;
}

impl<T: Number> Stored for T {
    type Number = T;
    type Part = T::Part;
    fn matrix<'a>(a: MatRef<'a, T>, _: &'a mut Option<Room<T>>) -> Result<MatRef<'a, T>, Failure> {
        Ok(a)
    }
    fn number(x: T) -> T {
        x
    }
    unsafe fn write(place: &Place, base: *mut T, index: usize, from: &[T]) {
        // SAFETY: as the caller says.
        unsafe { place.write(base, index, from) };
    }
    fn part(x: f64) -> T::Part {
        T::part(x)
    }
}

impl Stored for Complex<f32> {
    type Number = Complex<f64>;
    type Part = f32;
    fn matrix<'a>(
        a: MatRef<'a, Self>,
        room: &'a mut Option<Room<Complex<f64>>>,
    ) -> Result<MatRef<'a, Complex<f64>>, Failure> {
        let (rows, wide) = (a.nrows(), |x: Complex<f32>| Complex::new(x.re.into(), x.im.into()));
        let columns = room.insert(zeros(rows * a.ncols())?);
        copy_converted(a, columns, wide);
        Ok(MatRef::from_column_major_slice(columns, rows, a.ncols()))
    }
    fn number(x: Complex<f64>) -> Self {
        Complex::new(x.re as f32, x.im as f32)
    }
    fn part(x: f64) -> f32 {
        x as f32
    }
}

/// What becomes of computed numbers in an output.
#[derive(Clone, Copy)]
enum Written {
    AsTheyAre,
    Conjugates,
    RealParts,
}

pub(super) fn prepare<S: Stored>(
    op: &'static str,
    what: Dense,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let a = inputs[0];
    let lead = a.rank() - 2;
    let is_spectrum = matches!(what, Dense::Eig | Dense::Eigenvalues);
    let mut numbers = SmallVec::<[(usize, Place, Written); 3]>::new();
    let mut complex = SmallVec::<[(usize, Place); 2]>::new();
    let mut integers = None;
    for (i, output) in outputs.iter().enumerate() {
        let place = Place::new(output, lead);
        match output.dtype {
            DType::I32 | DType::I64 => integers = Some((i, output.dtype, place)),
            dtype if is_spectrum && dtype.is_complex() && dtype.size_in_bytes() == 2 * size_of::<S::Part>() => {
                complex.push((i, place));
            }
            // faer gives V, and columns are contiguous in what it works on.
            dtype if dtype == a.dtype && what == Dense::Svd && i == 2 => {
                numbers.push((i, place.transposed(), Written::Conjugates));
            }
            dtype if dtype == a.dtype && !is_spectrum => numbers.push((i, place, Written::AsTheyAre)),
            dtype if !dtype.is_complex() && a.dtype.is_complex() && dtype.size_in_bytes() == size_of::<S::Part>() => {
                numbers.push((i, place, Written::RealParts));
            }
            other => return Err(Error::dtypes(op, a.dtype, other)),
        }
    }
    Ok(Arc::new(DenseKernel::<S> {
        op,
        what,
        batch: a.dims()[..lead].iter().product(),
        inputs: inputs.iter().map(|meta| Place::new(meta, lead)).collect(),
        numbers,
        complex,
        integers,
        element: PhantomData,
    }))
}

struct DenseKernel<S> {
    op: &'static str,
    what: Dense,
    batch: usize,
    inputs: SmallVec<[Place; 3]>,
    /// Which outputs hold numbers, or parts of them, and where.
    numbers: SmallVec<[(usize, Place, Written); 3]>,
    /// Which outputs hold eigenvalues and eigenvectors of general matrices, and where.
    complex: SmallVec<[(usize, Place); 2]>,
    /// Which output holds integers.
    integers: Option<(usize, DType, Place)>,
    element: PhantomData<S>,
}

impl<S: Stored> DenseKernel<S> {
    /// Operations for one matrix, roughly, with what it takes to come to it.
    fn work(&self) -> usize {
        let (m, n) = (self.inputs[0].rows, self.inputs[0].columns);
        let columns = self.inputs.get(1).map_or(0, |b| b.columns);
        let times = match self.what {
            Dense::Cholesky | Dense::CholeskyInfo | Dense::LogDet | Dense::Lu | Dense::Solve => 1,
            Dense::Triangular { .. } => 0,
            Dense::Qr | Dense::QrR | Dense::Reflections => 3,
            _ => 10,
        };
        (m * n).saturating_mul(times * m.min(n) + columns).saturating_add(50)
    }

    fn room(&self) -> Result<Results<S::Number>, Failure> {
        let numbers = self.numbers.iter().map(|(_, place, _)| zeros(place.len())).collect::<Result<_, Failure>>()?;
        let complex = self.complex.iter().map(|(_, place)| Room::filled(place.len(), Complex::default()));
        let integers = Room::filled(self.integers.as_ref().map_or(0, |(.., place)| place.len()), 0)?;
        Ok(Results { numbers, complex: complex.collect::<Result<_>>()?, integers })
    }

    /// What is computed of one matrix of the batch.
    ///
    /// # Safety
    /// The sources are valid for reads of the inputs' tensors.
    unsafe fn one(
        &self,
        sources: &[Shared<*const u8>],
        index: usize,
        results: &mut Results<S::Number>,
    ) -> Result<(), Failure> {
        let mut rooms = [const { None }; 3];
        let mut matrices = SmallVec::<[MatRef<'_, S::Number>; 3]>::new();
        for ((place, source), room) in self.inputs.iter().zip(sources).zip(&mut rooms) {
            // SAFETY: the place was made of the input's layout.
            let stored = unsafe { place.read(source.get().cast::<S>(), index) };
            matrices.push(S::matrix(stored, room)?);
        }
        self.compute(&matrices, results)
    }

    fn compute(&self, inputs: &[MatRef<'_, S::Number>], results: &mut Results<S::Number>) -> Result<(), Failure> {
        let a = inputs[0];
        let number = |i: usize| inputs[i][(0, 0)].real();
        match self.what {
            Dense::Cholesky => match cholesky::factor(a, &mut results.numbers[0])? {
                0 => Ok(()),
                _ => Err(Failure::NotPositiveDefinite),
            },
            Dense::CholeskyInfo => {
                let order = cholesky::factor(a, &mut results.numbers[0])?;
                results.integers[0] = order as i64;
                if order > 0 {
                    results.numbers[0].fill(Number::of(f64::NAN));
                }
                Ok(())
            }
            Dense::LogDet => {
                let [sign_and_log, itself] = &mut results.numbers[..] else {
                    unreachable!("sign and logarithm, and itself")
                };
                lu::log_determinant(a, sign_and_log, itself)
            }
            Dense::Solve => lu::solve(a, inputs[1], &mut results.numbers[0]),
            Dense::Lu => lu::factor(a, &mut results.numbers[0], &mut results.integers),
            Dense::Triangular { upper, unit } => {
                Ok(triangular::solve(a, inputs[1], Triangle { upper, unit }, &mut results.numbers[0])?)
            }
            Dense::Qr => {
                let [q, r] = &mut results.numbers[..] else { unreachable!("Q and R") };
                qr::factor(a, Some(q), r)
            }
            Dense::QrR => qr::factor(a, None, &mut results.numbers[0]),
            Dense::Reflections => {
                let [both, factors] = &mut results.numbers[..] else { unreachable!("reflections and their factors") };
                qr::reflections(a, both, factors)
            }
            Dense::Svd => {
                let [u, s, v] = &mut results.numbers[..] else { unreachable!("U, S and V") };
                spectral::svd(a, s, Some((u, v)))
            }
            Dense::SingularValues => spectral::svd(a, &mut results.numbers[0], None),
            Dense::Eigh { upper } => {
                let [values, vectors] = &mut results.numbers[..] else { unreachable!("values and vectors") };
                Number::symmetric_eigen(a, upper, values, Some(vectors))
            }
            Dense::EigenvaluesSymmetric { upper } => Number::symmetric_eigen(a, upper, &mut results.numbers[0], None),
            Dense::Eig => {
                let [values, vectors] = &mut results.complex[..] else { unreachable!("values and vectors") };
                eigen::general(a, values, Some(vectors))
            }
            Dense::Eigenvalues => eigen::general(a, &mut results.complex[0], None),
            Dense::PseudoInverse { hermitian } => {
                spectral::pseudo_inverse(a, hermitian, number(1), number(2), &mut results.numbers[0])
            }
            Dense::LeastSquares => {
                let (x, values) = results.numbers.split_first_mut().expect("X");
                let rank = spectral::least_squares(a, inputs[1], number(2), x, values.first_mut())?;
                results.integers[0] = rank as i64;
                Ok(())
            }
            Dense::Exp => exp::exp(a, &mut results.numbers[0]),
        }
    }
}

impl<S: Stored> HostKernel for DenseKernel<S> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sources: SmallVec<[Shared<*const u8>; 3]> = inputs.iter().map(|&input| Shared(input)).collect();
        let targets: SmallVec<[Shared<*mut u8>; 3]> = outputs.iter().map(|&output| Shared(output)).collect();
        let failed = FirstFailure::default();
        parallel_for(self.batch, grain(self.work() / OPERATIONS), |range| {
            let mut results = match self.room() {
                Ok(results) => results,
                Err(failure) => return failed.note(range.start, failure),
            };
            for index in range {
                // SAFETY: the sources are the inputs, of whose layouts the places were made, and outlive the matrices.
                let outcome = unsafe { self.one(&sources, index, &mut results) };
                if let Err(failure) = outcome {
                    failed.note(index, failure);
                    continue;
                }
                for ((i, place, written), numbers) in self.numbers.iter().zip(&results.numbers) {
                    let target = targets[*i].get();
                    // SAFETY: the place is the output's; each matrix of the batch has a part of it of its own.
                    unsafe {
                        match written {
                            Written::AsTheyAre => S::write(place, target.cast::<S>(), index, numbers),
                            Written::Conjugates => {
                                place.write_converted(target.cast::<S>(), index, numbers, |x| S::number(x.conjugate()));
                            }
                            Written::RealParts => {
                                place.write_converted(target.cast::<S::Part>(), index, numbers, |x| S::part(x.real()))
                            }
                        }
                    }
                }
                let complex = |x: Complex<f64>| Complex { re: S::part(x.re), im: S::part(x.im) };
                for ((i, place), numbers) in self.complex.iter().zip(&results.complex) {
                    // SAFETY: the place is the output's, of complex numbers; each matrix of the batch has a part of it of its own.
                    unsafe {
                        place.write_converted(targets[*i].get().cast::<Complex<S::Part>>(), index, numbers, complex)
                    };
                }
                if let Some((i, dtype, place)) = &self.integers {
                    let target = targets[*i].get();
                    // SAFETY: the place is the output's, of this dtype; each matrix of the batch has a part of it of its own.
                    unsafe {
                        match dtype {
                            DType::I32 => {
                                place.write_converted(target.cast::<i32>(), index, &results.integers, |x| x as i32)
                            }
                            _ => place.write(target.cast::<i64>(), index, &results.integers),
                        }
                    }
                }
            }
        });
        failed.outcome(self.op)
    }

    /// Operations of larger matrices take less time each: they are made of products.
    fn cost(&self) -> u64 {
        let rate = (2 + self.inputs[0].rows.min(self.inputs[0].columns) / 8).min(40);
        50 + (self.batch as u64).saturating_mul(50 + (self.work() / rate) as u64)
    }
}
