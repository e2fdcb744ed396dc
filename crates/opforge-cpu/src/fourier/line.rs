//! Lines of real or complex numbers in memory of any strides, to and from buffers.

use opforge_core::Meta;

use super::plan::Real;
use crate::copy::byte_steps;

/// Numbers that lie `step` bytes apart; the parts of a complex one `part` bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub len: usize,
    step: isize,
    /// None of real numbers.
    part: Option<isize>,
}

impl Line {
    /// The line along the last axis, or the last but one where the last holds the parts of complex numbers; and how many axes come before it.
    pub fn last(meta: &Meta, of_pairs: bool) -> Option<(Line, usize)> {
        let steps: Vec<isize> = byte_steps(meta).collect();
        match (of_pairs, meta.dims(), &steps[..]) {
            (false, [lead @ .., len], [.., step]) => Some((Line { len: *len, step: *step, part: None }, lead.len())),
            (true, [lead @ .., len, 2], [.., step, part]) => {
                Some((Line { len: *len, step: *step, part: Some(*part) }, lead.len()))
            }
            _ => None,
        }
    }

    /// Whether the numbers and their parts lie side by side.
    fn is_dense<T>(&self) -> bool {
        let size = size_of::<T>() as isize;
        match self.part {
            None => self.step == size,
            Some(part) => part == size && self.step == 2 * size,
        }
    }

    /// How many real numbers an element is.
    fn parts(&self) -> usize {
        1 + usize::from(self.part.is_some())
    }

    /// The offset of the part `i` in bytes, counting parts of all numbers.
    fn offset(&self, i: usize) -> isize {
        match self.part {
            None => i as isize * self.step,
            Some(part) => (i / 2) as isize * self.step + (i % 2) as isize * part,
        }
    }

    /// Copies the line to a buffer of as many numbers, parts side by side.
    ///
    /// # Safety
    /// `src` is the address of a line of these strides that may be read.
    pub unsafe fn read<T: Real>(&self, src: *const u8, buffer: &mut [T]) {
        let buffer = &mut buffer[..self.len * self.parts()];
        if self.is_dense::<T>() {
            // SAFETY: the line's numbers lie side by side, as many as the buffer has, in other memory.
            return unsafe { std::ptr::copy_nonoverlapping(src, buffer.as_mut_ptr().cast(), size_of_val(buffer)) };
        }
        for (i, x) in buffer.iter_mut().enumerate() {
            // SAFETY: the offset is that of a number of the line.
            *x = unsafe { src.offset(self.offset(i)).cast::<T>().read_unaligned() };
        }
    }

    /// Writes a buffer's numbers, multiplied by a factor.
    ///
    /// # Safety
    /// `dst` is the address of a line of these strides that may be written.
    pub unsafe fn write<T: Real>(&self, buffer: &[T], factor: T, dst: *mut u8) {
        let buffer = &buffer[..self.len * self.parts()];
        if self.is_dense::<T>() {
            for (i, &x) in buffer.iter().enumerate() {
                // SAFETY: the line's numbers lie side by side, as many as the buffer has.
                unsafe { dst.cast::<T>().add(i).write_unaligned(x * factor) };
            }
            return;
        }
        for (i, &x) in buffer.iter().enumerate() {
            // SAFETY: the offset is that of a number of the line.
            unsafe { dst.offset(self.offset(i)).cast::<T>().write_unaligned(x * factor) };
        }
    }
}
