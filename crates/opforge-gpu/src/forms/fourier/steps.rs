//! Fourier transforms of lines that are too long for the memory of a group, in two steps: a line of `rows * columns` numbers is a matrix whose columns are
//! transformed, turned, and whose rows are transformed then. With `j = row * columns + column`, number `first + rows * second` of the result is
//! what the transforms of the columns have as their `first` and those of the rows as their `second` number.

use std::f64::consts::TAU;

use opforge_core::Result;

use super::Ends;
use super::butterfly::Complex;
use super::lines::{Lines, radices};
use crate::program::Program;

/// Words of four bytes that memory may have: places in it have 32 bits.
const WORDS: usize = 1 << 31;

/// The most square matrix of these numbers whose columns and rows have at most `most` numbers.
fn matrix(len: usize, most: usize) -> Option<[usize; 2]> {
    let rows = (2..=len.isqrt()).rev().find(|&rows| len.is_multiple_of(rows))?;
    (len / rows <= most).then_some([rows, len / rows])
}

/// The two launches; none where lines are longer than groups can have them, or too many.
pub(super) fn steps(ends: &Ends<'_>, most: usize) -> Option<Result<Program>> {
    let [rows, columns] = matrix(ends.len, most)?;
    let (vertical, horizontal) = (radices(rows)?, radices(columns)?);
    let (count, dtype) = (ends.count(), ends.dtype);
    if 2 * count * ends.len * dtype.size_in_bytes() / 4 >= WORDS {
        return None;
    }
    let vertical = Lines::new((count * columns, rows), vertical, ends.sign, most).abreast();
    let horizontal = Lines::new((count * rows, columns), horizontal, ends.sign, most).abreast();
    Some(launches(ends, [rows, columns], [vertical, horizontal]))
}

fn launches(ends: &Ends<'_>, [rows, columns]: [usize; 2], [vertical, horizontal]: [Lines; 2]) -> Result<Program> {
    let (count, len, dtype) = (ends.count(), ends.len, ends.dtype);
    let mut program = Program::default();
    let angles = (0..len).map(|i| ends.sign * TAU * i as f64 / len as f64);
    let turns: Vec<f64> = angles.clone().map(f64::cos).chain(angles.map(f64::sin)).collect();
    let turns = program.table(dtype, &turns);
    let between = program.scratch(dtype, 2 * count * len);
    let waves = (program.table(dtype, &vertical.waves()), dtype);
    program.launch(ends.call.target, |k| {
        let read = ends.input(k);
        let turns = k.strided(turns, dtype, &[2, len], &[len, 1], false);
        let to = k.strided(between, dtype, &[2, count, rows, columns], &[count * len, len, columns, 1], true);
        let sizes: Vec<_> = ends.lead.iter().chain(&[columns]).map(|&len| k.size(len)).collect();
        let width = k.size(columns);
        let from = |line, row| {
            let at = k.unravelled(line, &sizes);
            let (lead, column) = at.split_at(ends.lead.len());
            read(lead, row * width + column[0])
        };
        vertical.transform(k, waves, from, |line, first, number| {
            let [line, column] = line.divided(width);
            let turn = |part| turns.load(&[k.index(part), first * column]);
            let number = number.times(Complex { re: turn(0), im: turn(1) });
            to.store(&[k.index(0), line, first, column], number.re);
            to.store(&[k.index(1), line, first, column], number.im);
        });
        Ok(())
    })?;
    let waves = (program.table(dtype, &horizontal.waves()), dtype);
    program.launch(ends.call.target, |k| {
        let write = ends.output(k);
        let from = k.strided(between, dtype, &[2, count * rows, columns], &[count * len, columns, 1], false);
        let sizes: Vec<_> = ends.lead.iter().chain(&[rows]).map(|&len| k.size(len)).collect();
        let height = k.size(rows);
        let read = |line, column| {
            let part = |part| from.load(&[k.index(part), line, column]);
            Complex { re: part(0), im: part(1) }
        };
        horizontal.transform(k, waves, read, |line, second, number| {
            let at = k.unravelled(line, &sizes);
            let (lead, first) = at.split_at(ends.lead.len());
            write(lead, first[0] + second * height, number);
        });
        Ok(())
    })?;
    Ok(program)
}
