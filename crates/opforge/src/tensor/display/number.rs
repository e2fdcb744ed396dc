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
