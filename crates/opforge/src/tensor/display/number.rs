//! How the numbers of one tensor are written: digits, and scientific notation or not, as PyTorch chooses.

use super::{PrinterOptions, Style};

/// How all floats of one tensor are written. The choice is PyTorch's (`torch/_tensor_str.py`).
pub(super) struct Format {
    notation: Notation,
    precision: usize,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `42.`
    Whole,
    /// `42.5000`
    Fixed,
    /// `4.2500e1`
    Scientific,
}

impl Format {
    /// The notation that suits these numbers; zeros and what is not finite have no say.
    pub fn choose(values: &[f64], style: Style, options: &PrinterOptions) -> Self {
        let told = || values.iter().map(|v| v.abs()).filter(|&v| v != 0.0 && v.is_finite());
        let (min, max) = told().fold((f64::INFINITY, 0.0), |(min, max), v| (v.min(min), v.max(max)));
        let whole = told().all(|v| v.fract() == 0.0);
        let spread = max > 0.0 && (max / min > 1e3 || max > 1e8 || min < 1e-4);
        let notation = match options.sci_mode.unwrap_or(spread) {
            true => Notation::Scientific,
            false if whole => Notation::Whole,
            false => Notation::Fixed,
        };
        Format { notation, precision: options.precision, style }
    }

    pub fn number(&self, v: f64) -> String {
        let precision = self.precision;
        match (self.style, self.notation) {
            (Style::Python, _) if v.is_nan() => "nan".into(),
            _ if !v.is_finite() => v.to_string(),
            (_, Notation::Whole) => format!("{v:.0}."),
            (_, Notation::Fixed) => format!("{v:.precision$}"),
            (Style::Rust, Notation::Scientific) => format!("{v:.precision$e}"),
            (Style::Python, Notation::Scientific) => python_exponent(&format!("{v:.precision$e}")),
        }
    }
}

/// `1.5e3` as Python writes it: `1.5e+03`.
fn python_exponent(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(values: &[f64], style: Style) -> String {
        Format::choose(values, style, &PrinterOptions::default()).number(values[0])
    }

    #[test]
    fn the_notation_follows_the_numbers() {
        let cases: &[(&[f64], &str, &str)] = &[
            (&[42.0, 1.0], "42.", "42."),
            (&[0.0], "0.", "0."),
            (&[-0.5, 2.0], "-0.5000", "-0.5000"),
            (&[0.5, 500.0], "0.5000", "0.5000"),
            (&[1.0, 1001.0], "1.0000e0", "1.0000e+00"),
            (&[-1.0, 1000.0], "-1.", "-1."),
            (&[2e8], "2.0000e8", "2.0000e+08"),
            (&[9e-5], "9.0000e-5", "9.0000e-05"),
            (&[1e-100, 0.0], "1.0000e-100", "1.0000e-100"),
            (&[f64::NAN, 1.5], "NaN", "nan"),
            (&[f64::NEG_INFINITY, 1.0], "-inf", "-inf"),
        ];
        for (values, rust, python) in cases {
            assert_eq!(number(values, Style::Rust), *rust, "{values:?}");
            assert_eq!(number(values, Style::Python), *python, "{values:?}");
        }
    }
}
