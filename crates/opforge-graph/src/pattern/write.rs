//! Patterns of graphs, and patterns as text.

use std::fmt::{self, Display};

use super::{Line, Part, Pattern, Says, Size, Type, expression::Expression};
use crate::graph::{Graph, Origin};
use crate::text::{MAGIC, VERSION};

impl Graph {
    /// What the graph's text says. Values that nobody uses are left out, the others numbered anew.
    pub(crate) fn pattern(&self) -> Pattern {
        let numbers = self.numbers();
        let parts = |uses: &[crate::Use]| uses.iter().map(|x| Part::of(x, &numbers)).collect::<Vec<Part>>();
        let given = numbers.iter().enumerate().filter_map(|(value, number)| {
            let value_number = (*number)?;
            match &self.values[value].origin {
                Origin::Captured(captured) => Some(Says::Captured {
                    value: value_number,
                    name: captured.label(value_number),
                    stored: Type::from(&captured.stored),
                }),
                Origin::Key(_) => Some(Says::Key { value: value_number }),
                Origin::Input(_) | Origin::Made | Origin::Packed(_) => None,
            }
        });
        let calls = self.nodes.iter().map(|node| Says::Call {
            term: node.op.term(),
            inputs: parts(&node.inputs),
            outputs: parts(&node.outputs),
            at: Some(node.at),
        });
        let mut pattern = Pattern {
            sizes: Vec::new(),
            inputs: parts(&self.inputs),
            lines: given.chain(calls).map(|says| Line { number: 0, says }).collect(),
            outputs: parts(&self.outputs),
        };
        pattern.number_lines();
        pattern
    }
}

impl Pattern {
    /// Numbers lines as the text has them.
    pub fn number_lines(&mut self) {
        let first = 3 + self.sizes.len();
        self.lines.iter_mut().enumerate().for_each(|(i, line)| line.number = first + i);
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC}{VERSION}")?;
        self.sizes.iter().try_for_each(|size| writeln!(f, "{size}"))?;
        writeln!(f, "graph({}) {{", list(&self.inputs))?;
        self.lines.iter().try_for_each(|line| writeln!(f, "  {}", line.says))?;
        writeln!(f, "  return{}{}\n}}", space(&self.outputs), list(&self.outputs))
    }
}

fn list(parts: &[Part]) -> String {
    parts.iter().map(Part::to_string).collect::<Vec<_>>().join(", ")
}

fn space(parts: &[Part]) -> &'static str {
    if parts.is_empty() { "" } else { " " }
}

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size {} from {}", self.name, self.min)?;
        if self.max < usize::MAX { write!(f, " to {}", self.max) } else { Ok(()) }
    }
}

impl Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Says::Captured { value, name, stored } => write!(f, "%{value} = captured {name:?} {stored}"),
            Says::Key { value } => write!(f, "%{value} = key"),
            Says::Call { term, inputs, outputs, .. } => {
                write!(f, "{} = {term}{}{}", list(outputs), space(inputs), list(inputs))
            }
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{} {}", self.value, self.is)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, numbers(&self.dims))?;
        if let Some(stride) = &self.stride {
            write!(f, " stride {}", numbers(stride))?;
        }
        match self.start.constant() {
            Some(0) => Ok(()),
            _ => write!(f, " from {}", number(&self.start)),
        }
    }
}

fn numbers(all: &[Expression]) -> String {
    format!("[{}]", all.iter().map(number).collect::<Vec<_>>().join(", "))
}

/// A number, or a hole where it depends on sizes or is none that a length can be.
fn number(expression: &Expression) -> String {
    let number = expression.constant().and_then(|number| usize::try_from(number).ok());
    number.map_or_else(|| format!("{{{expression}}}"), |number| number.to_string())
}
