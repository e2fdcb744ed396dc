//! Printed elements in nested brackets.

use super::Style;

/// Texts of one width, set in nested brackets.
pub(super) struct Grid<'a> {
    /// The lengths of the dimensions as shown.
    pub dims: &'a [usize],
    /// Which dimensions lack their middle.
    pub cut: &'a [bool],
    /// The elements before and after the gap of a dimension that is cut.
    pub edge: usize,
    pub style: Style,
    pub line_width: usize,
}

impl Grid<'_> {
    /// The whole text; `indent` is the column that it starts in.
    pub fn text(&self, items: &[String], indent: usize) -> String {
        match (self.dims, self.style) {
            (_, _) if items.is_empty() => "[]".into(),
            ([], Style::Rust) => format!("[{}]", items[0]),
            ([], Style::Python) => items[0].clone(),
            _ => self.part(0, items, indent),
        }
    }

    fn part(&self, dim: usize, items: &[String], indent: usize) -> String {
        if dim + 1 == self.dims.len() { self.row(items, indent) } else { self.block(dim, items, indent) }
    }

    /// A vector, broken into lines.
    fn row(&self, items: &[String], indent: usize) -> String {
        let mut words: Vec<&str> = items.iter().map(String::as_str).collect();
        if self.cut[self.dims.len() - 1] {
            words.insert(self.edge, if self.style == Style::Python { " ..." } else { "..." });
        }
        // An item takes a comma and a space besides its own width.
        let before = if self.style == Style::Python { indent } else { 0 };
        let per_line = (self.line_width.saturating_sub(before) / (items[0].len() + 2)).max(1);
        let lines: Vec<String> = words.chunks(per_line).map(|line| line.join(", ")).collect();
        format!("[{}]", lines.join(&format!(",{}", line_break(1, indent + 1))))
    }

    /// The parts of an outer dimension, each on lines of its own.
    fn block(&self, dim: usize, items: &[String], indent: usize) -> String {
        let below = self.dims.len() - dim - 1;
        // PyTorch sets blocks of more than one dimension apart by empty lines.
        let lines = if self.style == Style::Python { below } else { 1 };
        let next = line_break(lines, indent + 1);
        let mut out = String::from("[");
        for (i, part) in items.chunks(items.len() / self.dims[dim]).enumerate() {
            if i > 0 {
                out += ",";
                out += &next;
            }
            if self.cut[dim] && i == self.edge {
                out += if self.style == Style::Python { "...," } else { "..." };
                out += &next;
            }
            out += &self.part(dim + 1, part, indent + 1);
        }
        out + "]"
    }
}

fn line_break(lines: usize, indent: usize) -> String {
    "\n".repeat(lines) + &" ".repeat(indent)
}
