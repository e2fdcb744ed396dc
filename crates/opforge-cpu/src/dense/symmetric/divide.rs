//! Eigenvectors of symmetric tridiagonal matrices by halves (Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981):
//! a matrix is two of half its rows and a product of one vector. Where that changes nothing, or two values are the same, vectors stay as they are or
//! are turned (Dongarra and Sorensen, "A fully parallel algorithm for the symmetric eigenvalue problem", 1987); the others are multiplied by those
//! of the [secular equation](super::secular).

use faer::MatRef;
use opforge_runtime::alloc::Room;
use opforge_runtime::checkpoint;

use super::super::Failure;
use super::super::number::{Number, zeros};
use super::super::place::matrix;
use super::super::product::Update;
use super::leaves::{self, Halves};
use super::secular::{self, Equation, Found};
use crate::simd::FloatElem;

/// Overwrites the diagonal with the eigenvalues, in ascending order, and `vectors` with the eigenvectors, in columns. `e` holds what is beside the diagonal.
pub(super) fn eigenvectors<E: FloatElem + Number>(d: &mut [f64], e: &[f64], vectors: &mut [E]) -> Result<(), Failure> {
    let (n, halves) = (d.len(), Halves::new(d.len()));
    for start in (1..1 << halves.levels).map(|part| halves.start(halves.levels, part)) {
        d[start - 1] -= e[start - 1].abs();
        d[start] -= e[start - 1].abs();
    }
    let mut columns = zeros(n * n)?;
    leaves::solve(halves, d, e, &mut columns)?;
    let mut order = Room::collect(0..n)?;
    for part in 0..1 << halves.levels {
        let start = halves.start(halves.levels, part);
        order[start..halves.start(halves.levels, part + 1)].iter_mut().for_each(|index| *index -= start);
    }
    let mut room = Work::new(n)?;
    for level in (0..halves.levels).rev() {
        for part in 0..1 << level {
            checkpoint();
            let [start, end] = [part, part + 1].map(|part| halves.start(level, part));
            let middle = halves.start(level + 1, 2 * part + 1);
            let (values, order) = (&mut d[start..end], &mut order[start..end]);
            let block = Block { values, order, columns: &mut columns, n, start, first: middle - start };
            block.merge(e[middle - 1], &mut room)?;
        }
    }
    // `vectors` is `columns` in order, and `room.z` the values.
    for ((to, value), &from) in vectors.chunks_exact_mut(n).zip(&mut room.z[..]).zip(&order[..]) {
        to.copy_from_slice(&columns[from * n..(from + 1) * n]);
        *value = d[from];
    }
    d.copy_from_slice(&room.z);
    Ok(())
}

/// Working memory for `n` rows.
struct Work<E> {
    z: Room<f64>,
    sorted: Room<usize>,
    kept: Room<usize>,
    deflated: Room<usize>,
    /// In which rows a column has elements.
    rows: Room<Rows>,
    d: Room<E>,
    squares: Room<E>,
    weights: Room<E>,
    origins: Room<E>,
    steps: Room<E>,
    /// Vectors of the secular equation.
    inner: Room<E>,
    /// Columns that are multiplied by those, and columns that are not.
    packed: Room<E>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    First,
    Both,
    Second,
}

impl<E: FloatElem + Number> Work<E> {
    fn new(n: usize) -> Result<Self, Failure> {
        Ok(Work {
            z: Room::filled(n, 0.0)?,
            sorted: Room::with_capacity(n)?,
            kept: Room::with_capacity(n)?,
            deflated: Room::with_capacity(n)?,
            rows: Room::filled(n, Rows::First)?,
            d: zeros(n)?,
            squares: zeros(n)?,
            weights: zeros(n)?,
            origins: zeros(n)?,
            steps: zeros(n)?,
            inner: zeros(n * n)?,
            packed: zeros(n * n)?,
        })
    }
}

/// Rows of a matrix of `n` from `start` on: values, which of these is the first, the second and so on in ascending order of either part, and columns with
/// the vectors of the `first` rows and of the others, each in rows of their own.
struct Block<'a, E> {
    values: &'a mut [f64],
    order: &'a mut [usize],
    columns: &'a mut [E],
    n: usize,
    start: usize,
    first: usize,
}

impl<E: FloatElem + Number> Block<'_, E> {
    fn len(&self) -> usize {
        self.values.len()
    }

    /// A column's rows of this block.
    fn column(&mut self, j: usize) -> &mut [E] {
        let at = (self.start + j) * self.n + self.start;
        &mut self.columns[at..at + self.values.len()]
    }

    /// The values and vectors of both parts become those of the whole, between whose parts there is the element `beside`.
    fn merge(mut self, beside: f64, work: &mut Work<E>) -> Result<(), Failure> {
        let (len, first) = (self.len(), self.first);
        // Rows beside the border: a vector of length 1 with this factor.
        let sign = beside.signum() * 0.5f64.sqrt();
        for j in 0..len {
            let column = self.column(j);
            work.z[j] = if j < first { column[first - 1].real() * 0.5f64.sqrt() } else { column[first].real() * sign };
            work.rows[j] = if j < first { Rows::First } else { Rows::Second };
        }
        self.sort(&mut work.sorted)?;
        self.deflate(2.0 * beside.abs(), work)?;
        if !work.kept.is_empty() {
            self.solve(2.0 * beside.abs(), work)?;
            self.multiply(work)?;
        }
        let values = &*self.values;
        self.order.iter_mut().enumerate().for_each(|(i, index)| *index = i);
        self.order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
        Ok(())
    }

    /// The columns in ascending order of their values, of which both parts' are known.
    fn sort(&self, sorted: &mut Room<usize>) -> Result<(), Failure> {
        sorted.clear();
        let (mut left, mut right) = (self.order[..self.first].iter(), self.order[self.first..].iter());
        let (mut i, mut j) = (left.next(), right.next());
        while let Some(next) = match (i, j.map(|&j| j + self.first)) {
            (Some(&a), Some(b)) if self.values[b] < self.values[a] => Some(b),
            (Some(&a), _) => Some(a),
            (None, b) => b,
        } {
            sorted.push(next)?;
            if next < self.first { i = left.next() } else { j = right.next() }
        }
        Ok(())
    }

    /// Which columns stay as they are, of which `rho z z^T` changes no more than rounding does, and which do not; of two with the same value, one is turned
    /// so that it stays.
    fn deflate(&mut self, rho: f64, work: &mut Work<E>) -> Result<(), Failure> {
        let Work { z, sorted, kept, deflated, rows, .. } = work;
        kept.clear();
        deflated.clear();
        let largest = self.values.iter().chain(&z[..self.len()]).fold(0f64, |most, x| most.max(x.abs()));
        let tolerance = 8.0 * epsilon::<E>() * largest;
        let mut before: Option<usize> = None;
        for &j in &sorted[..] {
            if rho * z[j].abs() <= tolerance {
                deflated.push(j)?;
                continue;
            }
            if let Some(i) = before {
                let length = z[i].hypot(z[j]);
                let (c, s) = (z[j] / length, z[i] / length);
                let [lower, upper] = [self.values[i], self.values[j]];
                if ((upper - lower) * c * s).abs() <= tolerance {
                    self.turn(i, j, c, s);
                    (z[i], z[j]) = (0.0, length);
                    self.values[i] = lower * c * c + upper * s * s;
                    self.values[j] = lower * s * s + upper * c * c;
                    if rows[i] != rows[j] {
                        rows[j] = Rows::Both;
                    }
                    deflated.push(i)?;
                } else {
                    kept.push(i)?;
                }
            }
            before = Some(j);
        }
        before.map_or(Ok(()), |last| Ok(kept.push(last)?))
    }

    /// Turns two columns.
    fn turn(&mut self, i: usize, j: usize, c: f64, s: f64) {
        let (c, s) = (E::of(c), E::of(s));
        for row in 0..self.len() {
            let (x, y) = (self.column(i)[row], self.column(j)[row]);
            self.column(i)[row] = c * x - s * y;
            self.column(j)[row] = c * y + s * x;
        }
    }

    /// The secular equation of what is kept: its roots, and vectors in the order of the columns' [`Rows`]; `kept` is put in that order.
    fn solve(&mut self, rho: f64, work: &mut Work<E>) -> Result<(), Failure> {
        let Work { z, kept, rows, d, squares, weights, origins, steps, inner, .. } = work;
        let count = kept.len();
        let (d, squares) = (&mut d[..count], &mut squares[..count]);
        let (origins, steps, weights) = (&mut origins[..count], &mut steps[..count], &mut weights[..count]);
        for (i, &j) in kept.iter().enumerate() {
            (d[i], squares[i]) = (E::of(self.values[j]), E::of(z[j] * z[j]));
        }
        if count == 1 {
            (origins[0], steps[0], weights[0]) = (d[0], E::of(rho * z[kept[0]] * z[kept[0]]), E::of(1.0));
        } else {
            Equation { d, squares, rho }.roots(origins, steps);
            secular::weights(d, Found { origins, steps }, weights);
        }
        // The poles are no longer needed in ascending order, nor are the squares.
        let mut place = 0;
        for part in [Rows::First, Rows::Both, Rows::Second] {
            for (i, &j) in kept.iter().enumerate().filter(|(_, j)| rows[**j] == part) {
                d[place] = E::of(self.values[j]);
                squares[place] = if z[j] < 0.0 { -weights[i] } else { weights[i] };
                place += 1;
            }
        }
        kept.sort_by_key(|&j| rows[j] as u8);
        secular::vectors(d, squares, Found { origins, steps }, &mut inner[..count * count]);
        Ok(())
    }

    /// Multiplies what is kept by the inner vectors; the products are the first columns, what is deflated follows.
    fn multiply(&mut self, work: &mut Work<E>) -> Result<(), Failure> {
        let Work { kept, deflated, rows, origins, steps, inner, packed, z, .. } = work;
        let (len, first, count) = (self.len(), self.first, kept.len());
        let upper = kept.partition_point(|&j| rows[j] != Rows::Second);
        let lower = kept.partition_point(|&j| rows[j] == Rows::First);
        let (tops, rest) = packed.split_at_mut(first * upper);
        let (bottoms, rest) = rest.split_at_mut((len - first) * (count - lower));
        for (to, &j) in tops.chunks_exact_mut(first).zip(&kept[..]) {
            to.copy_from_slice(&self.column(j)[..first]);
        }
        for (to, &j) in bottoms.chunks_exact_mut(len - first).zip(&kept[lower..]) {
            to.copy_from_slice(&self.column(j)[first..]);
        }
        for (i, (to, &j)) in rest.chunks_exact_mut(len).zip(&deflated[..]).enumerate() {
            to.copy_from_slice(self.column(j));
            z[i] = self.values[j];
        }
        let inner = MatRef::from_column_major_slice(&inner[..count * count], count, count);
        let target = matrix(self.columns, self.n).submatrix_mut(self.start, self.start, len, count);
        let (top, bottom) = target.split_at_row_mut(first);
        let tops = MatRef::from_column_major_slice(tops, first, upper);
        let bottoms = MatRef::from_column_major_slice(bottoms, len - first, count - lower);
        E::product(top, Update::Replace, tops, inner.subrows(0, upper))?;
        E::product(bottom, Update::Replace, bottoms, inner.subrows(lower, count - lower))?;
        for (i, from) in rest.chunks_exact(len).take(deflated.len()).enumerate() {
            self.column(count + i).copy_from_slice(from);
        }
        let roots = origins.iter().zip(&steps[..]).map(|(origin, step)| origin.real() + step.real());
        self.values.iter_mut().zip(roots.take(count).chain(z.iter().copied())).for_each(|(value, x)| *value = x);
        Ok(())
    }
}

/// The distance from 1 to the next number.
fn epsilon<E: FloatElem>() -> f64 {
    if size_of::<E>() == 8 { f64::EPSILON } else { f32::EPSILON.into() }
}
