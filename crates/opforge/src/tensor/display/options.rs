//! Options of printing, for the whole process.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is printed, and how exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterOptions {
    /// Digits after the decimal point.
    pub precision: usize,
    /// Tensors of more elements show the ends of their dimensions only.
    pub threshold: usize,
    /// Elements shown at each end of a dimension that is cut.
    pub edge_items: usize,
    /// Columns of a line.
    pub line_width: usize,
    /// Whether floats are in scientific notation; `None` leaves it to the numbers.
    pub sci_mode: Option<bool>,
}

const DEFAULT: PrinterOptions =
    PrinterOptions { precision: 4, threshold: 1000, edge_items: 3, line_width: 80, sci_mode: None };

impl Default for PrinterOptions {
    fn default() -> Self {
        DEFAULT
    }
}

static OPTIONS: Mutex<PrinterOptions> = Mutex::new(DEFAULT);

fn lock() -> MutexGuard<'static, PrinterOptions> {
    OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn current() -> PrinterOptions {
    lock().clone()
}

/// The options of the whole process.
pub fn print_options() -> &'static Mutex<PrinterOptions> {
    &OPTIONS
}

/// Sets all options.
pub fn set_print_options(options: PrinterOptions) {
    *lock() = options;
}

/// Back to four digits and at most a thousand elements.
pub fn set_print_options_default() {
    set_print_options(DEFAULT);
}

/// Two digits, and two elements at each end.
pub fn set_print_options_short() {
    set_print_options(PrinterOptions { precision: 2, edge_items: 2, ..DEFAULT });
}

/// Every element.
pub fn set_print_options_full() {
    set_print_options(PrinterOptions { threshold: usize::MAX, ..DEFAULT });
}

/// Sets [`PrinterOptions::line_width`].
pub fn set_line_width(line_width: usize) {
    lock().line_width = line_width;
}

/// Sets [`PrinterOptions::precision`].
pub fn set_precision(precision: usize) {
    lock().precision = precision;
}

/// Sets [`PrinterOptions::edge_items`].
pub fn set_edge_items(edge_items: usize) {
    lock().edge_items = edge_items;
}

/// Sets [`PrinterOptions::threshold`].
pub fn set_threshold(threshold: usize) {
    lock().threshold = threshold;
}

/// Sets [`PrinterOptions::sci_mode`].
pub fn set_sci_mode(sci_mode: Option<bool>) {
    lock().sci_mode = sci_mode;
}
