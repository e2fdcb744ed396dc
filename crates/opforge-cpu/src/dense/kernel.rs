//! The kernel of routines that work on one matrix of a batch at a time.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use faer::MatRef;
use num_complex::Complex;
use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
use opforge_runtime::parallel::parallel_for;
use smallvec::SmallVec;

use super::place::Place;
use super::real::{Real, zeros};
use super::{Dense, Failure, eigen, exp, lu, qr, spectral, triangular};
use crate::copy::Shared;
use crate::loops::work::grain;

/// Operations that cost as much as an element of a plain loop.
const OPERATIONS: usize = 6;

/// What a routine computes of one matrix, column by column: outputs of numbers, of complex ones, and that of integers if there is one.
pub(super) struct Results<T> {
    pub numbers: SmallVec<[Room<T>; 3]>,
    pub complex: SmallVec<[Room<Complex<T>>; 2]>,
    pub integers: Room<i64>,
}

pub(super) fn prepare<T: Real>(
    op: &'static str,
    what: Dense,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let a = inputs[0];
    let lead = a.rank() - 2;
    let mut numbers = SmallVec::<[(usize, Place); 3]>::new();
    let mut complex = SmallVec::<[(usize, Place); 2]>::new();
    let mut integers = None;
    for (i, output) in outputs.iter().enumerate() {
        let place = Place::new(output, lead);
        match output.dtype {
            dtype if dtype == a.dtype => {
                // faer gives V, and columns are contiguous in what it works on.
                numbers.push((i, if what == Dense::Svd && i == 2 { place.transposed() } else { place }));
            }
            dtype if dtype.is_complex() && dtype.size_in_bytes() == 2 * size_of::<T>() => complex.push((i, place)),
            DType::I32 | DType::I64 => integers = Some((i, output.dtype, place)),
            other => return Err(Error::dtypes(op, a.dtype, other)),
        }
    }
    Ok(Arc::new(DenseKernel::<T> {
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

struct DenseKernel<T> {
    op: &'static str,
    what: Dense,
    batch: usize,
    inputs: SmallVec<[Place; 3]>,
    /// Which outputs hold numbers of the inputs' dtype, and where.
    numbers: SmallVec<[(usize, Place); 3]>,
    /// Which outputs hold complex numbers, and where.
    complex: SmallVec<[(usize, Place); 2]>,
    /// Which output holds integers.
    integers: Option<(usize, DType, Place)>,
    element: PhantomData<T>,
}

impl<T: Real> DenseKernel<T> {
    /// Operations for one matrix, roughly, with what it takes to come to it.
    fn work(&self) -> usize {
        let (m, n) = (self.inputs[0].rows, self.inputs[0].columns);
        let columns = self.inputs.get(1).map_or(0, |b| b.columns);
        let times = match self.what {
            Dense::Cholesky | Dense::CholeskyInfo | Dense::LogDet | Dense::Lu | Dense::Solve => 1,
            Dense::Triangular { .. } => 0,
            Dense::Qr | Dense::QrR => 3,
            _ => 10,
        };
        (m * n).saturating_mul(times * m.min(n) + columns).saturating_add(50)
    }

    fn room(&self) -> Result<Results<T>, Failure> {
        let numbers = self.numbers.iter().map(|(_, place)| zeros(place.len())).collect::<Result<_, Failure>>()?;
        let complex = self.complex.iter().map(|(_, place)| Room::filled(place.len(), Complex::default()));
        let integers = Room::filled(self.integers.as_ref().map_or(0, |(.., place)| place.len()), 0)?;
        Ok(Results { numbers, complex: complex.collect::<Result<_>>()?, integers })
    }

    fn compute(&self, inputs: &[MatRef<'_, T>], results: &mut Results<T>) -> Result<(), Failure> {
        let a = inputs[0];
        match self.what {
            Dense::Cholesky => match triangular::cholesky(a, &mut results.numbers[0])? {
                0 => Ok(()),
                _ => Err(Failure::NotPositiveDefinite),
            },
            Dense::CholeskyInfo => {
                let order = triangular::cholesky(a, &mut results.numbers[0])?;
                results.integers[0] = order as i64;
                if order > 0 {
                    results.numbers[0].fill(T::of(f64::NAN));
                }
                Ok(())
            }
            Dense::LogDet => lu::log_determinant(a, &mut results.numbers[0]),
            Dense::Solve => lu::solve(a, inputs[1], &mut results.numbers[0]),
            Dense::Lu => lu::factor(a, &mut results.numbers[0], &mut results.integers),
            Dense::Triangular { upper, unit } => {
                triangular::solve(a, inputs[1], upper, unit, &mut results.numbers[0]);
                Ok(())
            }
            Dense::Qr => {
                let [q, r] = &mut results.numbers[..] else { unreachable!("Q and R") };
                qr::factor(a, Some(q), r)
            }
            Dense::QrR => qr::factor(a, None, &mut results.numbers[0]),
            Dense::Svd => {
                let [u, s, v] = &mut results.numbers[..] else { unreachable!("U, S and V") };
                spectral::svd(a, s, Some((u, v)))
            }
            Dense::SingularValues => spectral::svd(a, &mut results.numbers[0], None),
            Dense::Eigh { upper } => {
                let [values, vectors] = &mut results.numbers[..] else { unreachable!("values and vectors") };
                eigen::symmetric(a, upper, values, Some(vectors))
            }
            Dense::EigenvaluesSymmetric { upper } => eigen::symmetric(a, upper, &mut results.numbers[0], None),
            Dense::Eig => {
                let [values, vectors] = &mut results.complex[..] else { unreachable!("values and vectors") };
                eigen::general(a, values, Some(vectors))
            }
            Dense::Eigenvalues => eigen::general(a, &mut results.complex[0], None),
            Dense::PseudoInverse { hermitian } => spectral::pseudo_inverse(
                a,
                hermitian,
                *inputs[1].get(0, 0),
                *inputs[2].get(0, 0),
                &mut results.numbers[0],
            ),
            Dense::LeastSquares => {
                let (x, values) = results.numbers.split_first_mut().expect("X");
                let rank = spectral::least_squares(a, inputs[1], *inputs[2].get(0, 0), x, values.first_mut())?;
                results.integers[0] = rank as i64;
                Ok(())
            }
            Dense::Exp => exp::exp(a, &mut results.numbers[0]),
        }
    }
}

impl<T: Real> HostKernel for DenseKernel<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sources: SmallVec<[Shared<*const u8>; 3]> = inputs.iter().map(|&input| Shared(input)).collect();
        let targets: SmallVec<[Shared<*mut u8>; 3]> = outputs.iter().map(|&output| Shared(output)).collect();
        // The first matrix that has no result, whichever thread comes upon it.
        let failed: Mutex<Option<(usize, Failure)>> = Mutex::new(None);
        let fail = |index: usize, failure: Failure| {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.is_none_or(|(first, _)| index < first) {
                *failed = Some((index, failure));
            }
        };
        parallel_for(self.batch, grain(self.work() / OPERATIONS), |range| {
            let mut results = match self.room() {
                Ok(results) => results,
                Err(failure) => return fail(range.start, failure),
            };
            for index in range {
                // SAFETY: the sources are the inputs, of whose layouts the places were made, and outlive the matrices.
                let matrix = |(place, source): (&Place, &Shared<*const u8>)| unsafe {
                    place.read(source.get().cast::<T>(), index)
                };
                let matrices: SmallVec<[MatRef<'_, T>; 3]> = self.inputs.iter().zip(&sources).map(matrix).collect();
                if let Err(failure) = self.compute(&matrices, &mut results) {
                    fail(index, failure);
                    continue;
                }
                for ((i, place), numbers) in self.numbers.iter().zip(&results.numbers) {
                    // SAFETY: the place is the output's; each matrix of the batch has a part of it of its own.
                    unsafe { place.write(targets[*i].get().cast::<T>(), index, numbers, |x| x) };
                }
                for ((i, place), numbers) in self.complex.iter().zip(&results.complex) {
                    // SAFETY: the place is the output's, of complex numbers; each matrix of the batch has a part of it of its own.
                    unsafe { place.write(targets[*i].get().cast::<Complex<T>>(), index, numbers, |x| x) };
                }
                if let Some((i, dtype, place)) = &self.integers {
                    let target = targets[*i].get();
                    // SAFETY: the place is the output's, of this dtype; each matrix of the batch has a part of it of its own.
                    unsafe {
                        match dtype {
                            DType::I32 => place.write(target.cast::<i32>(), index, &results.integers, |x| x as i32),
                            _ => place.write(target.cast::<i64>(), index, &results.integers, |x| x),
                        }
                    }
                }
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((index, failure)) => Err(failure.error(self.op, index)),
        }
    }

    fn cost(&self) -> u64 {
        50 + (self.batch as u64).saturating_mul(50 + self.work() as u64 / 4)
    }
}
