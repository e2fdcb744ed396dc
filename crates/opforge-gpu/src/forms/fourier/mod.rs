//! Fourier transforms: lines of lengths that are products of small factors in the memory of groups, as a whole or in two steps; others as plain sums. Real
//! lines of an even length are half as many complex numbers.

mod butterfly;
mod lines;
mod real;
mod steps;
mod sums;

use opforge_core::{DType, Result};
use opforge_tile::forms::{Fourier, Spectrum};

use crate::code::Code;
use crate::lower::Call;
use crate::program::Program;
use crate::value::Value;
use butterfly::Complex;
use lines::{Lines, radices};

pub(crate) fn fourier(call: &Call<'_>, form: &Fourier) -> Result<Program> {
    call.real(&[call.inputs[0], call.outputs[0]])?;
    let ends = Ends::of(call, form);
    let most = lines::most(call.target.shared, ends.dtype);
    if let Some(program) = (form.spectrum == Spectrum::OfReal).then(|| real::real(&ends, most)).flatten() {
        return program;
    }
    match radices(ends.len) {
        Some(radices) if ends.len <= most => {
            let lines = Lines::new((ends.count(), ends.len), radices, ends.sign, most);
            let mut program = Program::default();
            let waves = (program.table(ends.dtype, &lines.waves()), ends.dtype);
            program.launch(call.target, |k| {
                let (read, write) = (ends.input(k), ends.output(k));
                let sizes: Vec<_> = ends.lead.iter().map(|&len| k.size(len)).collect();
                let at = |line| k.unravelled(line, &sizes);
                lines.transform(k, waves, |line, j| read(&at(line), j), |line, j, x| write(&at(line), j, x));
                Ok(())
            })?;
            Ok(program)
        }
        Some(_) => steps::steps(&ends, most).unwrap_or_else(|| sums::sums(&ends)),
        None => sums::sums(&ends),
    }
}

/// What is transformed, and how its numbers lie in tensors.
struct Ends<'c> {
    call: &'c Call<'c>,
    form: &'c Fourier,
    /// Numbers of a line.
    len: usize,
    /// The lengths of the lines' dimensions.
    lead: &'c [usize],
    /// What is computed in.
    dtype: DType,
    /// The exponents'.
    sign: f64,
}

impl<'c> Ends<'c> {
    fn of(call: &'c Call<'c>, form: &'c Fourier) -> Self {
        let (input, output) = (call.inputs[0], call.outputs[0]);
        let lead = input.rank() - if form.spectrum.is_of_real() { 1 } else { 2 };
        let of_len = if matches!(form.spectrum, Spectrum::ToReal { .. }) { output } else { input };
        let forward = form.spectrum.is_of_real() || form.spectrum == Spectrum::Complex { inverse: false };
        Ends {
            call,
            form,
            len: of_len.dims()[lead],
            lead: &input.dims()[..lead],
            dtype: input.dtype.compute(),
            sign: if forward { -1.0 } else { 1.0 },
        }
    }

    /// How many lines there are.
    fn count(&self) -> usize {
        self.lead.iter().product()
    }

    /// How numbers of lines are read: of which line, the number's place.
    fn input<'a>(&self, k: &'a Code) -> impl Fn(&[Value<'a>], Value<'a>) -> Complex<'a> {
        let (x, zero, len) = (k.input(0, self.call.inputs[0]), k.constant(0.0, self.dtype), k.size(self.len));
        let (spectrum, middle) = (self.form.spectrum, k.size(self.len / 2));
        move |row, j| {
            let part = |j, part: usize| x.load(&[row, &[j, k.index(part)]].concat());
            match spectrum {
                Spectrum::OfReal | Spectrum::OfRealToAll => Complex { re: x.load(&[row, &[j]].concat()), im: zero },
                Spectrum::Complex { .. } => Complex { re: part(j, 0), im: part(j, 1) },
                Spectrum::ToReal { .. } => {
                    // Beyond the middle stand conjugates; the first number and the middle one are real.
                    let mirrored = middle.lt(j);
                    let own = mirrored.choose(len - j, j);
                    let (re, im) = (part(own, 0), part(own, 1));
                    let real = j.equals(k.index(0)) | (j + j).equals(len);
                    Complex { re, im: real.choose(zero, mirrored.choose(-im, im)) }
                }
            }
        }
    }

    /// How numbers of transforms are written: of which line, the number's place, the number before it is multiplied by the form's factor.
    fn output<'a>(&self, k: &'a Code) -> impl Fn(&[Value<'a>], Value<'a>, Complex<'a>) {
        let (y, factor) = (k.output(0, self.call.outputs[0]), k.constant(self.form.factor.to_f64(), self.dtype));
        let (spectrum, middle) = (self.form.spectrum, k.size(self.len / 2));
        // Both parts of a number in memory.
        let are_beside = self.call.outputs[0].layout.stride().last() == Some(&1);
        move |row, j, number| {
            let number = number.scaled(factor);
            let both = || match are_beside {
                true => y.store_pack(&[row, &[j, k.index(0)]].concat(), &[number.re, number.im]),
                false => [number.re, number.im].into_iter().enumerate().for_each(|(part, value)| {
                    y.store(&[row, &[j, k.index(part)]].concat(), value);
                }),
            };
            match spectrum {
                Spectrum::ToReal { .. } => y.store(&[row, &[j]].concat(), number.re),
                Spectrum::OfReal => k.when(j.le(middle), both),
                Spectrum::OfRealToAll | Spectrum::Complex { .. } => both(),
            }
        }
    }
}
