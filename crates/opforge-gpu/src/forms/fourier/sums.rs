//! Fourier transforms as plain sums: a thread for each element of the result. For lengths with large prime factors.

use std::f64::consts::TAU;

use opforge_core::Result;

use super::Ends;
use super::butterfly::Complex;
use crate::program::Program;

pub(super) fn sums(ends: &Ends<'_>) -> Result<Program> {
    let (n, dtype) = (ends.len, ends.dtype);
    let mut program = Program::default();
    let angles = (0..n).map(|i| ends.sign * TAU * i as f64 / n as f64);
    // Cosines, then sines.
    let waves: Vec<f64> = angles.clone().map(f64::cos).chain(angles.map(f64::sin)).collect();
    let table = program.table(dtype, &waves);
    program.launch(ends.call.target, |k| {
        let (read, write) = (ends.input(k), ends.output(k));
        let waves = k.strided(table, dtype, &[2, n], &[n, 1], false);
        let (length, zero) = (k.size(n), k.constant(0.0, dtype));
        k.each_of(&ends.call.outputs[0].dims()[..=ends.lead.len()], |at| {
            let (row, step) = at.split_at(ends.lead.len());
            let (re, im, wave) = (k.var(zero), k.var(zero), k.var(k.index(0)));
            k.repeat(length, |j| {
                let now = wave.get();
                let part = |part| waves.load(&[k.index(part), now]);
                let term = read(row, j).times(Complex { re: part(0), im: part(1) });
                re.add(term.re);
                im.add(term.im);
                let next = now + step[0];
                wave.set(next.lt(length).choose(next, next - length));
            });
            write(row, step[0], Complex { re: re.get(), im: im.get() });
        });
        Ok(())
    })?;
    Ok(program)
}
