//! Which elements a resampled element is made of, and their weights.

use opforge_core::Result;
use opforge_runtime::alloc::Room;
use opforge_runtime::checkpoint;

use crate::memory::scratch::buffer;

/// Which elements of one side of a dimension each element of the other is made of, and their weights, none of them 0.
#[derive(Debug)]
pub struct Taps {
    /// Where each element's taps end.
    ends: Room<usize>,
    taps: Room<(usize, f64)>,
}

impl Taps {
    /// Room for `len` elements.
    pub fn new(len: usize) -> Result<Self> {
        Ok(Taps { ends: buffer(len)?, taps: buffer(len)? })
    }

    /// Adds to the element that is being made. Equal places must come one after the other.
    pub fn take(&mut self, place: usize, weight: f64) -> Result<()> {
        checkpoint();
        let begun = self.ends.last().copied().unwrap_or(0);
        if let Some(last) = self.taps[begun..].last_mut().filter(|last| last.0 == place) {
            last.1 += weight;
        } else if weight != 0.0 {
            self.taps.push((place, weight))?;
        }
        Ok(())
    }

    /// Begins with the next element.
    pub fn end_element(&mut self) -> Result<()> {
        self.ends.push(self.taps.len())
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline(always)]
    pub fn of(&self, element: usize) -> &[(usize, f64)] {
        let begun = if element == 0 { 0 } else { self.ends[element - 1] };
        &self.taps[begun..self.ends[element]]
    }

    /// Whether each element is one of the other side's as it is.
    pub fn copies(&self) -> bool {
        (0..self.len()).all(|i| matches!(self.of(i), [(_, 1.0)]))
    }

    /// The most taps of an element.
    pub fn most(&self) -> usize {
        (0..self.len()).map(|i| self.of(i).len()).max().unwrap_or(0)
    }

    /// The most places from an element's first tap to its last.
    pub fn reach(&self) -> usize {
        let reach = |taps: &[(usize, f64)]| taps.last().map_or(0, |last| last.0 + 1 - taps[0].0);
        (0..self.len()).map(|i| reach(self.of(i))).max().unwrap_or(0)
    }

    /// The other direction: what each of `len` places gives to elements.
    pub fn transposed(&self, len: usize) -> Result<Self> {
        let mut ends = Room::filled(len, 0)?;
        self.taps.iter().for_each(|&(place, _)| ends[place] += 1);
        let mut sum = 0;
        for end in &mut *ends {
            // Where the place's taps begin, until they are filled in.
            sum += std::mem::replace(end, sum);
        }
        let mut taps = Room::filled(sum, (0, 0.0))?;
        for element in 0..self.len() {
            for &(place, weight) in self.of(element) {
                checkpoint();
                taps[ends[place]] = (element, weight);
                ends[place] += 1;
            }
        }
        Ok(Taps { ends, taps })
    }
}
