//! Fourier transforms as plain sums: a thread for each element of the result.

use std::f64::consts::TAU;

use opforge_core::Result;
use opforge_tile::forms::{Fourier, Spectrum};

use crate::lower::Call;
use crate::program::Program;

pub(crate) fn fourier(call: &Call<'_>, form: &Fourier) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let lead = input.rank() - if form.spectrum.is_of_real() { 1 } else { 2 };
    let to_real = matches!(form.spectrum, Spectrum::ToReal { .. });
    let n = if to_real { output.dims()[lead] } else { input.dims()[lead] };
    let forward = form.spectrum.is_of_real() || form.spectrum == Spectrum::Complex { inverse: false };
    let (dtype, sign) = (input.dtype.compute(), if forward { -1.0 } else { 1.0 });
    let mut program = Program::default();
    let angles = (0..n).map(|i| sign * TAU * i as f64 / n as f64);
    // Cosines, then sines.
    let waves: Vec<f64> = angles.clone().map(f64::cos).chain(angles.map(f64::sin)).collect();
    let table = program.table(dtype, &waves);
    program.launch(call.target, |k| {
        let (x, y) = (k.input(0, input), k.output(0, output));
        let waves = k.strided(table, dtype, &[2, n], &[n, 1], false);
        let (length, zero) = (k.size(n), k.constant(0.0, dtype));
        let factor = k.constant(form.factor.to_f64(), dtype);
        k.each_of(&output.dims()[..=lead], |at| {
            let (row, step) = (&at[..lead], at[lead]);
            let (re, im, wave) = (k.var(zero), k.var(zero), k.var(k.index(0)));
            k.repeat(length, |j| {
                let now = wave.get();
                let (cos, sin) = (waves.load(&[k.index(0), now]), waves.load(&[k.index(1), now]));
                let part = |j, part: usize| x.load(&[row, &[j, k.index(part)]].concat());
                let (a, b) = match form.spectrum {
                    Spectrum::OfReal | Spectrum::OfRealToAll => (x.load(&[row, &[j]].concat()), zero),
                    Spectrum::Complex { .. } => (part(j, 0), part(j, 1)),
                    Spectrum::ToReal { .. } => {
                        // Beyond the middle stand conjugates; the first number and the middle one are real.
                        let mirrored = (k.parameter(n as u32 / 2)).lt(j);
                        let own = mirrored.choose(length - j, j);
                        let (a, b) = (part(own, 0), part(own, 1));
                        let real = j.equals(k.index(0)) | (j + j).equals(length);
                        (a, real.choose(zero, mirrored.choose(-b, b)))
                    }
                };
                re.add(a * cos - b * sin);
                im.add(a * sin + b * cos);
                let next = now + step;
                wave.set(next.lt(length).choose(next, next - length));
            });
            if to_real {
                y.store(at, re.get() * factor);
            } else {
                for (part, sum) in [re, im].into_iter().enumerate() {
                    y.store(&[at, &[k.index(part)]].concat(), sum.get() * factor);
                }
            }
        });
        Ok(())
    })?;
    Ok(program)
}
