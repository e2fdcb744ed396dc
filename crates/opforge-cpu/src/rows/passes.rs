//! What functions of rows ask for, made of passes over whatever rows there are.

use std::marker::PhantomData;

use opforge_tile::{Float, Fold, Row, RowFn};

/// Rows that a vector goes over together: places of one, or one place of many.
///
/// # Safety
/// Passes give only places that `read`, `keep` and `write` accept.
pub(super) unsafe trait Lines<const K: usize>: Copy {
    /// Elements of places that are computed together.
    type Vector: Float;

    /// The elements of place `i` and those computed with it, `n` in all; what lies in lanes after them is of no meaning.
    ///
    /// # Safety
    /// A pass has given `i` and `n`.
    unsafe fn read(&self, i: usize, n: usize) -> [Self::Vector; K];

    /// What was kept at these places.
    ///
    /// # Safety
    /// As [`read`](Lines::read); there is memory for what is kept, and a pass has kept something everywhere.
    unsafe fn kept(&self, i: usize) -> Self::Vector;

    /// Keeps something at these places.
    ///
    /// # Safety
    /// As [`read`](Lines::read); there is memory for what is kept.
    unsafe fn keep(&self, i: usize, kept: Self::Vector);

    /// Folds what `term` gives for every place.
    fn fold(&self, by: Fold, term: impl Fn(usize, usize) -> Self::Vector) -> Self::Vector;

    /// Writes what `element` gives for every place to an output.
    fn write(&self, output: usize, element: impl Fn(usize, usize) -> Self::Vector);
}

/// Passes of the function `F` over some lines.
#[derive(Clone, Copy)]
pub(super) struct Passes<L, F> {
    lines: L,
    has_kept: bool,
    function: PhantomData<F>,
}

/// Carries the function out. Closures of passes work on copies of the lines, of which the compiler sees that no store changes them.
///
/// # Safety
/// The addresses of the lines are valid; with `F::KEEPS` so is their memory for what is kept.
#[inline(always)]
pub(super) unsafe fn carry_out<L: Lines<K>, F: RowFn<K>, const K: usize>(f: F, lines: L) {
    f.row(&mut Passes::<L, F> { lines, has_kept: false, function: PhantomData });
}

impl<L: Copy, F: Copy> Passes<L, F> {
    /// The elements of a place, and what was kept there.
    ///
    /// # Safety
    /// As [`Lines::read`].
    #[inline(always)]
    unsafe fn at<const K: usize>(&self, i: usize, n: usize) -> ([L::Vector; K], L::Vector)
    where
        L: Lines<K>,
    {
        // SAFETY: a pass has given `i` and `n`; what says that something was kept has kept it everywhere.
        unsafe {
            let kept = if self.has_kept { self.lines.kept(i) } else { Float::splat(0.0) };
            (self.lines.read(i, n), kept)
        }
    }
}

impl<L: Lines<K>, F: RowFn<K>, const K: usize> Row<K> for Passes<L, F> {
    type Element = L::Vector;

    #[inline(always)]
    fn fold(&mut self, by: Fold, term: impl Fn([Self::Element; K], Self::Element) -> Self::Element) -> Self::Element {
        let row = *self;
        row.lines.fold(
            by,
            #[inline(always)]
            |i, n| {
                // SAFETY: the pass has given the place.
                let (elements, kept) = unsafe { row.at(i, n) };
                term(elements, kept)
            },
        )
    }

    #[inline(always)]
    fn fold_keeping(
        &mut self,
        by: Fold,
        place: impl Fn([Self::Element; K], Self::Element) -> [Self::Element; 2],
    ) -> Self::Element {
        const { assert!(F::KEEPS, "a function of rows that keeps something says so: KEEPS") };
        let row = *self;
        let found = row.lines.fold(
            by,
            #[inline(always)]
            |i, n| {
                // SAFETY: the pass has given the place; a function that keeps something is given memory for it.
                unsafe {
                    let (elements, kept) = row.at(i, n);
                    let [term, kept] = place(elements, kept);
                    row.lines.keep(i, kept);
                    term
                }
            },
        );
        self.has_kept = true;
        found
    }

    #[inline(always)]
    fn write(&mut self, output: usize, element: impl Fn([Self::Element; K], Self::Element) -> Self::Element) {
        let row = *self;
        row.lines.write(
            output,
            #[inline(always)]
            |i, n| {
                // SAFETY: the pass has given the place.
                let (elements, kept) = unsafe { row.at(i, n) };
                element(elements, kept)
            },
        );
    }
}
