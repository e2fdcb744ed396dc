//! Fourier transforms of real lines of an even length: neighbours are the two parts of half as many complex numbers, and two numbers of the transform of
//! these give two of the one that is wanted.
//!
//! Source: Press, Teukolsky, Vetterling and Flannery, "Numerical Recipes" (2007), section 12.3.2.

use std::f64::consts::PI;

use opforge_core::Result;

use super::Ends;
use super::butterfly::Complex;
use super::lines::{Lines, radices};
use crate::program::Program;

/// The launch; none for lengths that a group cannot have.
pub(super) fn real(ends: &Ends<'_>, most: usize) -> Option<Result<Program>> {
    let middle = ends.len / 2;
    let radices = radices(middle).filter(|_| ends.len.is_multiple_of(2) && middle <= most)?;
    Some(launch(ends, middle, &Lines::new((ends.count(), middle), radices, ends.sign, most)))
}

fn launch(ends: &Ends<'_>, middle: usize, lines: &Lines) -> Result<Program> {
    let (mut program, dtype, pairs) = (Program::default(), ends.dtype, middle / 2 + 1);
    let angles = (0..pairs).map(|j| ends.sign * PI * j as f64 / middle as f64);
    let turns: Vec<f64> = angles.clone().map(f64::cos).chain(angles.map(f64::sin)).collect();
    let turns = program.table(dtype, &turns);
    let waves = (program.table(dtype, &lines.waves()), dtype);
    program.launch(ends.call.target, |k| {
        let (read, write) = (ends.input(k), ends.output(k));
        let turns = k.strided(turns, dtype, &[2, pairs], &[pairs, 1], false);
        let sizes: Vec<_> = ends.lead.iter().map(|&len| k.size(len)).collect();
        let half = k.constant(0.5, dtype);
        let neighbours = |line, j| {
            let at = k.unravelled(line, &sizes);
            let [re, im] = [0, 1].map(|part| read(&at, j * 2 + part).re);
            Complex { re, im }
        };
        lines.transform_in_pairs(k, waves, neighbours, |line, j, [a, b]| {
            let at = k.unravelled(line, &sizes);
            let turn = |part| turns.load(&[k.index(part), j]);
            // The transforms of the numbers at even places, and of those at odd ones.
            let even = (a + b.conjugate()).scaled(half);
            let odd = (a - b.conjugate()).scaled(half).quarter_turn(-1.0).times(Complex { re: turn(0), im: turn(1) });
            write(&at, j, even + odd);
            write(&at, k.index(middle) - j, (even - odd).conjugate());
        });
        Ok(())
    })?;
    Ok(program)
}
