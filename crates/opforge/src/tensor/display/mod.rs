//! How tensors print: as PyTorch's do, with the options it has.
//!
//! ```
//! use opforge::{Device, Tensor};
//! # fn main() -> opforge::Result<()> {
//! let t = Tensor::new(&[[1f32, 2.5], [3.0, -4.0]], &Device::Cpu)?;
//! assert_eq!(t.to_string(), "[[ 1.0000,  2.5000],\n [ 3.0000, -4.0000]]\nTensor[[2, 2], f32]");
//! # Ok(())
//! # }
//! ```

mod debug;
mod grid;
mod number;
mod options;

use std::fmt;

use crate::{DType, Result, Tensor};
use grid::Grid;
use number::Format;
pub use options::{
    PrinterOptions, print_options, set_edge_items, set_line_width, set_precision, set_print_options,
    set_print_options_default, set_print_options_full, set_print_options_short, set_sci_mode, set_threshold,
};

/// The two front ends' habits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As Rust writes numbers (`NaN`, `true`, `1.5e3`) and candle breaks lines.
    Rust,
    /// As Python writes numbers (`nan`, `True`, `1.5e+03`) and PyTorch breaks lines.
    Python,
}

impl fmt::Display for Tensor {
    /// The elements, then a line `Tensor[[2, 3], f32]`. Elements that cannot be read show their error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match text(self, Style::Rust, 0, &options::current()) {
            Ok(text) => writeln!(f, "{text}")?,
            Err(error) => writeln!(f, "<{error}>")?,
        }
        let device = if self.device().is_cpu() { String::new() } else { format!(", {}", self.device()) };
        write!(f, "Tensor[{:?}, {}{device}]", self.shape(), self.dtype())
    }
}

/// A tensor's elements as text. Lines after the first are indented by `indent` more columns than the brackets ask for.
///
/// # Errors
/// When the elements cannot be read.
pub fn text(tensor: &Tensor, style: Style, indent: usize, options: &PrinterOptions) -> Result<String> {
    crate::no_grad(|| {
        let tensor = tensor.detach();
        if tensor.device().is_meta() {
            return Ok("...".into());
        }
        let edge = options.edge_items;
        let summarize = tensor.elem_count() > options.threshold;
        let cut = |&len: &usize| summarize && len > edge.saturating_mul(2);
        let cut: Vec<bool> = tensor.dims().iter().map(cut).collect();
        let shown = edges(&tensor, &cut, edge)?;
        let items = items(&shown, style, options)?;
        let grid = Grid { dims: shown.dims(), cut: &cut, edge, style, line_width: options.line_width };
        Ok(grid.text(&items, indent))
    })
}

/// The first and the last elements of the dimensions that are cut.
fn edges(tensor: &Tensor, cut: &[bool], edge: usize) -> Result<Tensor> {
    let mut out = tensor.clone();
    for dim in (0..cut.len()).filter(|&d| cut[d]) {
        let last = out.dims()[dim] - edge;
        out = Tensor::cat(&[out.narrow(dim, 0, edge)?, out.narrow(dim, last, edge)?], dim)?;
    }
    Ok(out)
}

/// Each element's text, aligned to the right.
fn items(tensor: &Tensor, style: Style, options: &PrinterOptions) -> Result<Vec<String>> {
    let words = |(yes, no): (&str, &str), values: Vec<bool>| -> Vec<String> {
        values.into_iter().map(|v| String::from(if v { yes } else { no })).collect()
    };
    let plain = match tensor.dtype() {
        DType::Bool if style == Style::Python => words(("True", "False"), tensor.elements()?),
        DType::Bool => words(("true", "false"), tensor.elements()?),
        DType::U64 => texts(tensor.elements::<u64>()?),
        DType::C64 => complex(tensor.elements::<crate::Complex<f32>>()?, style, options),
        DType::C128 => complex(tensor.elements::<crate::Complex<f64>>()?, style, options),
        dtype if dtype.is_float() || dtype.is_storage_only() => {
            let values = tensor.to_dtype(DType::F64)?.elements::<f64>()?;
            let format = Format::choose(&values, style, options);
            let items: Vec<String> = values.iter().map(|&v| format.number(v)).collect();
            // PyTorch aligns finite numbers other than zero; longer words stick out.
            let counts = |v: f64| style == Style::Rust || (v.is_finite() && v != 0.0);
            let width = values.iter().zip(&items).filter(|(v, _)| counts(**v)).map(|(_, item)| item.len()).max();
            return Ok(align(items, width.unwrap_or(0)));
        }
        _ => texts(tensor.to_dtype(DType::I64)?.elements::<i64>()?),
    };
    let width = plain.iter().map(String::len).max().unwrap_or(0);
    Ok(align(plain, width))
}

fn align(items: Vec<String>, width: usize) -> Vec<String> {
    items.into_iter().map(|item| format!("{item:>width$}")).collect()
}

fn texts<T: ToString>(values: Vec<T>) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

/// `1.0000+2.0000j`, each part in a format of its own.
fn complex<T: Into<f64>>(values: Vec<crate::Complex<T>>, style: Style, options: &PrinterOptions) -> Vec<String> {
    let (re, im): (Vec<f64>, Vec<f64>) = values.into_iter().map(|v| (v.re.into(), v.im.into())).unzip();
    let (re_format, im_format) = (Format::choose(&re, style, options), Format::choose(&im, style, options));
    let part = |(&re, &im): (&f64, &f64)| {
        let im = im_format.number(im);
        let sign = if im.starts_with('-') { "" } else { "+" };
        format!("{}{sign}{im}j", re_format.number(re))
    };
    re.iter().zip(&im).map(part).collect()
}
