//! Steps over complex numbers: vectors of real parts and of imaginary ones, which lie in turns in memory.

use std::marker::PhantomData;

use super::block::{Block, Body, advanced, steps, walk};
use crate::simd::{Bits, Float, FloatElem, Routine, Simd, Vector};

/// No vector has more lanes.
const MAX_LANES: usize = 16;

/// A function of `K` complex numbers, each its real and its imaginary part.
pub(super) trait ComplexMap<const K: usize>: Copy + Send + Sync + 'static {
    fn map<V: Float>(&self, x: [[V; 2]; K]) -> [V; 2];
}

/// The step of a [`ComplexMap`] over numbers whose parts are of type `E`.
pub(super) struct ComplexStep<F, E, const K: usize>(pub F, pub PhantomData<E>);

struct ComplexBody<F, V>(F, PhantomData<V>);

impl<F, V: Vector> ComplexBody<F, V> {
    /// Computes a whole vector of numbers.
    ///
    /// # Safety
    /// Inputs are readable and the output is writable for so many numbers.
    #[inline(always)]
    unsafe fn vector<const K: usize>(&self, x: [*const u8; K], out: *mut V::Elem)
    where
        F: ComplexMap<K>,
    {
        let (numbers, one) = (V::numbers(), <V::Bits as Bits>::splat(1));
        let (evens, odds) = (numbers << 1, (numbers << 1) + one);
        // A real part, then an imaginary one, which `lookup` finds in the second vector.
        let turns = (numbers >> 1) + ((numbers & one) << V::LANES.trailing_zeros());
        let half = <V::Bits as Bits>::splat(V::LANES as i64 / 2);
        let mut parts = [[V::splat(0.0); 2]; K];
        // SAFETY: twice as many parts as lanes are the numbers of a vector.
        unsafe {
            for (parts, x) in parts.iter_mut().zip(x) {
                let x = x.cast::<V::Elem>();
                let (low, high) = (V::load(x), V::load(x.add(V::LANES)));
                *parts = [low.lookup(high, evens), low.lookup(high, odds)];
            }
            let [re, im] = self.0.map::<V>(parts);
            re.lookup(im, turns).store(out);
            re.lookup(im, turns + half).store(out.add(V::LANES));
        }
    }
}

impl<const K: usize, F: ComplexMap<K>, V: Vector> Body<K> for ComplexBody<F, V> {
    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: `from` is a number, and `to` holds more than a vector of them.
        unsafe {
            let number = from.cast::<[V::Elem; 2]>().read();
            for i in 0..V::LANES {
                to.cast::<[V::Elem; 2]>().add(i).write(number);
            }
        }
    }

    #[inline(always)]
    unsafe fn row(&mut self, mut x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize) {
        let step = steps(repeated, [2 * V::LANES * size_of::<V::Elem>(); K]);
        let rest = n % V::LANES;
        // SAFETY: whole vectors are within the row, and repeated inputs are one; what is left is copied to where it begins a vector.
        unsafe {
            for i in (0..n - rest).step_by(V::LANES) {
                self.vector(x, out.cast::<V::Elem>().add(2 * i));
                x = advanced(x, step);
            }
            if rest == 0 {
                return;
            }
            let mut ends = [[V::Elem::default(); 2 * MAX_LANES]; K];
            for k in 0..K {
                let count = if repeated[k] { V::LANES } else { rest };
                ends[k].as_mut_ptr().copy_from_nonoverlapping(x[k].cast(), 2 * count);
                x[k] = ends[k].as_ptr().cast();
            }
            let mut results = [V::Elem::default(); 2 * MAX_LANES];
            self.vector(x, results.as_mut_ptr());
            out.cast::<V::Elem>().add(2 * (n - rest)).copy_from_nonoverlapping(results.as_ptr(), 2 * rest);
        }
    }
}

impl<const K: usize, F: ComplexMap<K>, E: FloatElem> Routine for ComplexStep<F, E, K> {
    type Args = *const Block<K>;
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
        // SAFETY: the block is valid for its numbers, whose parts are of the step's type, while it is borrowed.
        unsafe { walk(&mut ComplexBody::<F, E::Vector<S>>(self.0, PhantomData), &*block) };
        false
    }
}
