//! One resampled line: tables of positions and weights, arranged for vectors.

use std::marker::PhantomData;

use opforge_core::Result;
use opforge_runtime::alloc::Room;
use opforge_runtime::checkpoint;

use super::taps::Taps;
use crate::loops::work::look_at;
use crate::memory::scratch::buffer;
use crate::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, resolve};

/// Elements that must be readable, and writable, after a line: two vectors.
pub(super) const SLACK: usize = 32;

/// The taps of a line's elements, for the vectors of [`Isa::current`], of `lanes` elements: a group of entries for each vector, each with a number for every lane.
pub(super) struct Columns<F> {
    pub len: usize,
    /// Entries in a group; elements of fewer taps have some of weight 0.
    depth: usize,
    lanes: usize,
    /// Of each entry the first place, where the others are within two vectors of it.
    bases: Room<Option<u32>>,
    /// The places.
    places: Room<u32>,
    /// The places after the base, as lookups need them.
    offsets: Room<F>,
    weights: Room<F>,
}

impl<F: FloatElem> Columns<F> {
    /// The table of taps whose places are below 2^31.
    pub fn new(taps: &Taps) -> Result<Self> {
        // SAFETY: the level is this processor's.
        let lanes = unsafe { resolve::<Lanes<F>>(Isa::current())(&Lanes(PhantomData), ()) };
        let depth = taps.most();
        let groups = taps.len().div_ceil(lanes);
        let entries = groups * depth;
        let room = entries.saturating_mul(lanes);
        let mut columns = Columns {
            len: taps.len(),
            depth,
            lanes,
            bases: buffer(entries)?,
            places: buffer(room)?,
            offsets: buffer(room)?,
            weights: buffer(room)?,
        };
        for entry in 0..entries {
            columns.push(taps, entry / depth * lanes, entry % depth)?;
        }
        Ok(columns)
    }

    /// Adds the entry of the `k`-th taps of the elements from `first` on.
    fn push(&mut self, taps: &Taps, first: usize, k: usize) -> Result<()> {
        checkpoint();
        let begun = self.places.len();
        for lane in 0..self.lanes {
            let taps = taps.of((first + lane).min(self.len - 1));
            let near = taps.last().map_or(0, |tap| tap.0);
            let (place, weight) = taps.get(k).copied().unwrap_or((near, 0.0));
            self.places.push(place as u32)?;
            self.weights.push(F::from_f64(weight))?;
        }
        let places = &self.places[begun..];
        let (base, last) = places.iter().fold((u32::MAX, 0), |(least, most), &p| (p.min(least), p.max(most)));
        for place in places {
            self.offsets.push(F::of_integer(i64::from(place - base)))?;
        }
        self.bases.push((((last - base) as usize) < 2 * self.lanes).then_some(base))
    }

    /// The elements from a line; whole vectors are written.
    ///
    /// # Safety
    /// `line` is valid for the places of the taps and [`SLACK`], `to` for the elements and [`SLACK`]; the vectors have the lanes that the table
    /// was made for.
    #[inline(always)]
    pub unsafe fn weigh<S: Simd>(&self, line: *const F, to: *mut F) {
        for (group, first) in (0..self.len).step_by(F::Vector::<S>::LANES).enumerate() {
            let mut sum = F::Vector::<S>::splat(0.0);
            for entry in group * self.depth..(group + 1) * self.depth {
                look_at(entry * F::Vector::<S>::LANES);
                // SAFETY: `entry` is one of the group's `depth`, each with a weight a lane.
                unsafe {
                    let weights = F::Vector::<S>::load(self.weights.as_ptr().add(entry * F::Vector::<S>::LANES));
                    let more = self.entry::<S>(entry, line).mul_add(weights, sum);
                    // Not what nothing is taken of: it may be infinite.
                    sum = Float::select(weights.ne(Float::splat(0.0)), more, sum);
                }
            }
            // SAFETY: `first` is below `len`, and `to` has SLACK elements after those, at least a vector.
            unsafe { sum.store(to.add(first)) };
        }
    }

    /// The elements of a line where each has one tap, as they are; `to` is valid for the elements alone.
    ///
    /// # Safety
    /// As [`Columns::weigh`].
    #[inline(always)]
    pub unsafe fn pick<S: Simd>(&self, line: *const F, to: *mut F) {
        let lanes = F::Vector::<S>::LANES;
        for (entry, first) in (0..self.len).step_by(lanes).enumerate() {
            look_at(entry * F::Vector::<S>::LANES);
            // SAFETY: with one tap each, vector `entry` begins at `first`; `to` has `len - first` elements left.
            unsafe {
                let elements = self.entry::<S>(entry, line);
                match self.len - first {
                    rest if rest < lanes => elements.store_partial(to.add(first), rest),
                    _ => elements.store(to.add(first)),
                }
            }
        }
    }

    /// # Safety
    /// As [`Columns::weigh`].
    #[inline(always)]
    unsafe fn entry<S: Simd>(&self, entry: usize, line: *const F) -> F::Vector<S> {
        let (lanes, at) = (F::Vector::<S>::LANES, entry * F::Vector::<S>::LANES);
        // SAFETY: an entry has `lanes` numbers; a line with SLACK has two vectors from `base` on, and every place.
        unsafe {
            if let Some(base) = *self.bases.get_unchecked(entry) {
                let line = line.add(base as usize);
                let offsets = F::Vector::<S>::load(self.offsets.as_ptr().add(at)).to_bits();
                return F::Vector::<S>::load(line).lookup(F::Vector::<S>::load(line.add(lanes)), offsets);
            }
            let mut elements = [F::default(); 16];
            for (lane, element) in elements[..lanes].iter_mut().enumerate() {
                *element = *line.add(*self.places.get_unchecked(at + lane) as usize);
            }
            F::Vector::<S>::load(elements.as_ptr())
        }
    }
}

/// How many lanes vectors of `F` have.
struct Lanes<F>(PhantomData<F>);

impl<F: FloatElem> Routine for Lanes<F> {
    type Args = ();
    type Output = usize;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (): ()) -> usize {
        F::Vector::<S>::LANES
    }
}
