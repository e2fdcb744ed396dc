//! How a tensor lies along one dimension of a mesh of ranks.

use std::fmt;

use opforge_core::{Error, Result};

use crate::Reduction;

/// How a tensor lies along one dimension of a mesh: split, broadcast or partial.
///
/// Its text is `S(0)`, `B`, `P(sum)`; `split(0)`, `broadcast`, `partial(sum)` and `partial_sum` are read as well.
///
/// ```
/// use opforge_dist::{Reduction, Sbp};
///
/// let sbp: Sbp = "partial_sum".parse()?;
/// assert_eq!((sbp, sbp.to_string()), (Sbp::Partial(Reduction::Sum), "P(sum)".to_owned()));
/// # Ok::<(), opforge_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sbp {
    /// Each rank has a balanced part along this dimension of the tensor.
    Split(usize),
    /// Each rank has all of it.
    Broadcast,
    /// The value is the reduction of what the ranks have, element by element.
    Partial(Reduction),
}

impl fmt::Display for Sbp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sbp::Split(axis) => write!(f, "S({axis})"),
            Sbp::Broadcast => f.write_str("B"),
            Sbp::Partial(op) => write!(f, "P({op})"),
        }
    }
}

impl std::str::FromStr for Sbp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let within = |name: &str| text.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')').map(str::trim);
        if text == "B" || text == "broadcast" {
            return Ok(Sbp::Broadcast);
        }
        if let Some(axis) = within("split").or_else(|| within("S"))
            && let Ok(axis) = axis.parse()
        {
            return Ok(Sbp::Split(axis));
        }
        let partial = within("partial").or_else(|| within("P")).or_else(|| text.strip_prefix("partial_"));
        let op = partial.and_then(|op| op.parse().ok());
        op.map(Sbp::Partial)
            .ok_or_else(|| Error::value("sbp", "text", format!("{text:?}"), "S(0), B, P(sum) and the like"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        let partial = Reduction::ALL.map(Sbp::Partial);
        for sbp in [Sbp::Split(0), Sbp::Split(12), Sbp::Broadcast].into_iter().chain(partial) {
            assert_eq!(sbp.to_string().parse::<Sbp>().unwrap(), sbp);
        }
        for (text, sbp) in [("split(1)", Sbp::Split(1)), (" broadcast ", Sbp::Broadcast), ("partial(max)", partial[2])]
        {
            assert_eq!(text.parse::<Sbp>().unwrap(), sbp);
        }
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "S", "S()", "S(-1)", "S(0", "P", "P()", "P(mean)", "partial_", "b", "split 0"] {
            assert!(text.parse::<Sbp>().is_err(), "{text:?}");
        }
    }
}
