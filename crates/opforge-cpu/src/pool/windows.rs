//! Which elements lie under the windows of a pool.

use opforge_core::{Error, Meta, Result};
use opforge_runtime::checkpoint;
use opforge_tile::forms::Windows;

use crate::conv::split::Split;
use crate::conv::{MAX_SPATIAL, Window};
use crate::memory::prefetch::prefetch;

/// The longest way from window to window for which vectors of neighbouring windows are read as vectors.
pub(super) const MAX_STEP: usize = 4;

/// The windows along one dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub input: usize,
    pub output: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sliding { kernel: usize, window: Window },
    Adaptive,
}

impl Kind {
    /// Adaptive windows; narrow ones that share nothing slide, which is faster.
    fn adaptive(input: usize, output: usize) -> Kind {
        match input.checked_div(output) {
            Some(kernel @ 1..=MAX_STEP) if input.is_multiple_of(output) => {
                Kind::Sliding { kernel, window: Window { stride: kernel, padding: 0, dilation: 1 } }
            }
            _ => Kind::Adaptive,
        }
    }
}

/// Some elements of a window that lie within the input: those `first + i step` for `i` below `count`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Span {
    #[inline(always)]
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |i| self.first + i * self.step)
    }
}

/// One element of all windows: outputs `from ..`, as many as `span` counts, read the input at the span's positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tap {
    pub from: usize,
    pub span: Span,
}

impl Axis {
    /// The dimensions of input and output after the first `lead`.
    pub fn all(op: &'static str, windows: &Windows, x: &[usize], y: &[usize]) -> Result<[Axis; MAX_SPATIAL]> {
        let mut axes = [Axis { input: 1, output: 1, kind: Kind::Adaptive }; MAX_SPATIAL];
        for (d, axis) in axes.iter_mut().enumerate().skip(MAX_SPATIAL - x.len()) {
            let at = d + x.len() - MAX_SPATIAL;
            let kind = match windows {
                Windows::Adaptive => Kind::adaptive(x[at], y[at]),
                Windows::Sliding { kernel, windows } => Kind::Sliding { kernel: kernel[d], window: windows[d] },
            };
            *axis = Axis { input: x[at], output: y[at], kind };
            axis.check(op)?;
        }
        Ok(axes)
    }

    /// Refuses windows whose positions do not fit the address space.
    fn check(&self, op: &'static str) -> Result<()> {
        const LIMIT: usize = isize::MAX as usize / 64;
        let Kind::Sliding { kernel, window } = self.kind else { return Ok(()) };
        let reach = |n: usize, step: usize| n.saturating_sub(1).checked_mul(step);
        let all = [reach(self.output, window.stride), reach(kernel, window.dilation), Some(window.padding)];
        let sum = all.into_iter().try_fold(self.input, |sum, n| sum.checked_add(n?));
        let steps = [kernel, window.stride, window.dilation];
        if steps.iter().any(|n| !(1..=LIMIT).contains(n)) || sum.is_none_or(|sum| sum > LIMIT) {
            let accepted = "a kernel, stride and dilation of at least 1, and windows that fit the address space";
            return Err(Error::value(op, "window", format!("{kernel} elements, {window:?}"), accepted));
        }
        Ok(())
    }

    /// The part of an output's window that lies within the input.
    #[inline(always)]
    pub fn span(&self, output: usize) -> Span {
        match self.kind {
            Kind::Adaptive => {
                let (n, m) = (self.input as u128, self.output as u128);
                let (from, to) = match (output + 1).checked_mul(self.input) {
                    Some(end) => ((end - self.input) / self.output, end.div_ceil(self.output)),
                    None => ((output as u128 * n / m) as usize, ((output as u128 + 1) * n).div_ceil(m) as usize),
                };
                Span { first: from, step: 1, count: to - from }
            }
            Kind::Sliding { kernel, window } => {
                let start = (output * window.stride) as isize - window.padding as isize;
                let step = window.dilation;
                let skipped = (-start).max(0) as usize;
                // Most steps are 1, and divisions take as long as all the rest.
                let steps = |n: usize| if step == 1 { n } else { n.div_ceil(step) };
                let skipped = steps(skipped);
                let first = (start + (skipped * step) as isize) as usize;
                let room = steps(self.input.saturating_sub(first));
                Span { first, step, count: kernel.saturating_sub(skipped).min(room) }
            }
        }
    }

    /// The elements of an output's window, those in the padding included but not those beyond it.
    pub fn padded_len(&self, output: usize) -> usize {
        match self.kind {
            Kind::Adaptive => self.span(output).count,
            Kind::Sliding { kernel, window } => {
                let start = output * window.stride;
                kernel.min((self.input + 2 * window.padding).saturating_sub(start))
            }
        }
    }

    /// The elements of a window and how it moves, unless windows are adaptive. Elements beyond the input for every output are left out.
    #[inline(always)]
    pub fn sliding(&self) -> Option<(usize, Window)> {
        match self.kind {
            Kind::Sliding { kernel, window } => {
                Some((kernel.min((self.input + window.padding).div_ceil(window.dilation)), window))
            }
            Kind::Adaptive => None,
        }
    }

    /// How a line is divided, so that the positions of a [`Tap`] lie next to each other.
    pub fn split(&self) -> Split {
        match self.kind {
            Kind::Sliding { window, .. } => Split::new(self.input, window.stride),
            Kind::Adaptive => Split::new(self.input, 1),
        }
    }

    /// The windows' elements one by one, where each is one run of positions for neighbouring outputs.
    #[inline(always)]
    pub fn taps(&self) -> Option<impl Iterator<Item = Tap>> {
        let (axis, (kernel, window)) = (*self, self.sliding()?);
        Some((0..kernel).map(move |k| {
            let start = (k * window.dilation) as isize - window.padding as isize;
            let from = ((-start).max(0) as usize).div_ceil(window.stride);
            let first = (start + (from * window.stride) as isize) as usize;
            let room = axis.input.saturating_sub(first).div_ceil(window.stride);
            let count = room.min(axis.output.saturating_sub(from));
            Tap { from: from.min(axis.output), span: Span { first, step: window.stride, count } }
        }))
    }
}

/// Planes of input and output, each of up to three spatial dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planes {
    pub count: usize,
    pub axes: [Axis; MAX_SPATIAL],
}

impl Planes {
    /// The planes of tensors that are alike but for the last `spatial` dimensions, `x` the larger side.
    pub fn new(op: &'static str, windows: &Windows, spatial: usize, x: &Meta, y: &Meta) -> Result<Self> {
        let mismatch = || {
            let accepted = format!("tensors that differ in their last {spatial} dimensions, 1 to 3, only");
            Error::shapes(op, x.shape(), y.shape(), accepted)
        };
        if x.rank() != y.rank() || x.rank() < spatial || !(1..=MAX_SPATIAL).contains(&spatial) {
            return Err(mismatch());
        }
        let ((lead, x), (lead_y, y)) = (x.dims().split_at(x.rank() - spatial), y.dims().split_at(y.rank() - spatial));
        if lead != lead_y {
            return Err(mismatch());
        }
        Ok(Planes { count: lead.iter().product(), axes: Axis::all(op, windows, x, y)? })
    }

    /// Elements of a plane of the input, and of the output.
    pub fn input(&self) -> usize {
        self.axes.iter().map(|axis| axis.input).product()
    }

    pub fn output(&self) -> usize {
        self.axes.iter().map(|axis| axis.output).product()
    }

    /// Lines of a plane of the output; none if they are empty, however many the lengths say there are.
    pub fn lines(&self) -> usize {
        if self.axes[2].output == 0 { 0 } else { self.axes[0].output * self.axes[1].output }
    }

    /// The lines of the input that a line of the output reads.
    #[inline(always)]
    pub fn rows(&self, line: usize) -> Rows {
        let [a, b, c] = &self.axes;
        Rows { spans: [a.span(line / b.output), b.span(line % b.output)], lengths: [b.input, c.input] }
    }

    /// Asks for the rows of `plane` that a line of the output some way ahead reads. Rows are short and read in turns, so that the processor does
    /// not see by itself what comes next.
    #[inline(always)]
    pub fn prefetch<E>(&self, plane: *const E, line: usize) {
        /// Lines of the output.
        const AHEAD: usize = 6;
        let [depth, rows, columns] = &self.axes;
        if depth.output == 1 {
            let step = (rows.input + rows.output / 2) / rows.output * columns.input;
            prefetch(plane.wrapping_add((line + AHEAD) * step).cast(), step * size_of::<E>());
        }
    }

    /// Calls `f` as [`Rows::each`] does; at some of the rows it looks whether the kernel is to stop.
    #[inline(always)]
    pub fn each_row(&self, line: usize, mut f: impl FnMut(usize)) {
        const ROWS: usize = 16;
        let mut seen = 0;
        self.rows(line).each(|row| {
            seen += 1;
            if seen == ROWS {
                seen = 0;
                checkpoint();
            }
            f(row);
        });
    }

    /// The elements that one output is made of, at most; for estimates.
    pub fn window(&self) -> usize {
        let longest = |axis: &Axis| match axis.kind {
            Kind::Adaptive => axis.input.div_ceil(axis.output.max(1)) + 1,
            Kind::Sliding { kernel, .. } => kernel.min(axis.input),
        };
        self.axes.iter().map(longest).fold(1, usize::saturating_mul)
    }
}

/// Lines of a plane.
pub(super) struct Rows {
    spans: [Span; 2],
    lengths: [usize; 2],
}

impl Rows {
    /// The first element of the only line, if there is one.
    #[inline(always)]
    pub fn only(&self) -> Option<usize> {
        let [Span { first: i, count: 1, .. }, Span { first: j, count: 1, .. }] = self.spans else { return None };
        Some((i * self.lengths[0] + j) * self.lengths[1])
    }

    /// Calls `f` with the first element of each line, within its plane.
    #[inline(always)]
    pub fn each(&self, mut f: impl FnMut(usize)) {
        for i in self.spans[0].positions() {
            for j in self.spans[1].positions() {
                f((i * self.lengths[0] + j) * self.lengths[1]);
            }
        }
    }
}
