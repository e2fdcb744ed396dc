//! Where a global tensor is: a mesh of ranks.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use opforge_core::{Error, Result};
use rustc_hash::FxHasher;

/// The kind of the devices that ranks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DeviceKind {
    Cpu,
    Cuda,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Cuda => "cuda",
        })
    }
}

/// Distinct ranks in an n-dimensional mesh, the last dimension fastest, on one kind of device. Its text is `cpu[[0, 1], [2, 3]]`.
///
/// ```
/// use opforge_dist::Placement;
///
/// let placement: Placement = "cpu[[0, 1, 2], [4, 5, 6]]".parse()?;
/// assert_eq!((placement.mesh(), placement.ranks()), (&[2, 3][..], &[0, 1, 2, 4, 5, 6][..]));
/// assert_eq!(placement.to_string(), "cpu[[0, 1, 2], [4, 5, 6]]");
/// # Ok::<(), opforge_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Placement(Arc<Mesh>);

/// What a placement is, shared by all that know it.
#[derive(Debug, PartialEq, Eq)]
struct Mesh {
    /// Of the other fields: placements are compared and looked up at each call, and may have thousands of ranks.
    digest: u64,
    device: DeviceKind,
    dims: Vec<usize>,
    ranks: Vec<usize>,
    /// Whether each rank is one more than the one before.
    consecutive: bool,
}

impl PartialEq for Placement {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Placement {}

impl Hash for Placement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.digest);
    }
}

impl Placement {
    /// Ranks in a mesh.
    ///
    /// # Errors
    /// No ranks, a mesh without dimensions or of another number of ranks, a rank that is there twice.
    pub fn new(device: DeviceKind, mesh: &[usize], ranks: &[usize]) -> Result<Self> {
        let count = mesh.iter().try_fold(1usize, |count, &length| count.checked_mul(length));
        if mesh.is_empty() || ranks.is_empty() || count != Some(ranks.len()) {
            let given = format!("{mesh:?} for {} ranks", ranks.len());
            return Err(Error::shape(
                "placement",
                "mesh",
                given,
                "one or more dimensions, whose product is the number of ranks",
            ));
        }
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::value("placement", "ranks", format!("{ranks:?}"), "each rank once"));
        }
        let mut hasher = FxHasher::default();
        (device, mesh, ranks).hash(&mut hasher);
        let consecutive = ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (digest, dims, ranks) = (hasher.finish(), mesh.to_vec(), ranks.to_vec());
        Ok(Placement(Arc::new(Mesh { digest, device, dims, ranks, consecutive })))
    }

    /// Ranks in a row.
    ///
    /// # Errors
    /// As [`Placement::new`].
    pub fn row(device: DeviceKind, ranks: &[usize]) -> Result<Self> {
        Self::new(device, &[ranks.len()], ranks)
    }

    /// The kind of device.
    pub fn device(&self) -> DeviceKind {
        self.0.device
    }

    /// The mesh's dimensions.
    pub fn mesh(&self) -> &[usize] {
        &self.0.dims
    }

    /// The ranks by position.
    pub fn ranks(&self) -> &[usize] {
        &self.0.ranks
    }

    /// A rank's position, if it is in the mesh.
    pub fn position(&self, rank: usize) -> Option<usize> {
        let ranks = self.ranks();
        match self.0.consecutive {
            true => rank.checked_sub(ranks[0]).filter(|&position| position < ranks.len()),
            false => ranks.iter().position(|&other| other == rank),
        }
    }

    /// A position's coordinate along a dimension.
    pub(crate) fn coordinate(&self, position: usize, dim: usize) -> usize {
        position / self.stride(dim) % self.mesh()[dim]
    }

    /// The positions that differ from this one along a dimension only, in order.
    pub(crate) fn along(&self, position: usize, dim: usize) -> impl Iterator<Item = usize> {
        let stride = self.stride(dim);
        let first = position - self.coordinate(position, dim) * stride;
        (0..self.mesh()[dim]).map(move |coordinate| first + coordinate * stride)
    }

    fn stride(&self, dim: usize) -> usize {
        self.mesh()[dim + 1..].iter().product()
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.device())?;
        nested(f, self.mesh(), self.ranks())
    }
}

fn nested(f: &mut fmt::Formatter<'_>, mesh: &[usize], ranks: &[usize]) -> fmt::Result {
    let [length, rest @ ..] = mesh else { return write!(f, "{}", ranks[0]) };
    f.write_str("[")?;
    for (i, part) in ranks.chunks(ranks.len() / length).enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        nested(f, rest, part)?;
    }
    f.write_str("]")
}

impl std::str::FromStr for Placement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::value("placement", "text", format!("{text:?}"), "a kind of device and lists, as cpu[[0, 1], [2, 3]]")
        };
        let start = text.find('[').ok_or_else(wrong)?;
        let device = match text[..start].trim() {
            "cpu" => DeviceKind::Cpu,
            "cuda" => DeviceKind::Cuda,
            _ => return Err(wrong()),
        };
        let (mut ranks, mut mesh) = (Vec::new(), Vec::new());
        let rest = list(&text[start..], 0, &mut mesh, &mut ranks).ok_or_else(wrong)?;
        if rest.trim().is_empty() { Self::new(device, &mesh, &ranks) } else { Err(wrong()) }
    }
}

/// Reads a list of equally long lists of numbers; what follows it.
fn list<'a>(text: &'a str, depth: usize, mesh: &mut Vec<usize>, ranks: &mut Vec<usize>) -> Option<&'a str> {
    let Some(mut rest) = text.trim_start().strip_prefix('[') else {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        ranks.push(text[..end].parse().ok()?);
        return (depth == mesh.len()).then_some(&text[end..]);
    };
    // The first list of a depth says how long they are, and numbers how deep.
    let first = mesh.len() == depth;
    if first {
        if !ranks.is_empty() || depth >= opforge_core::MAX_RANK {
            return None;
        }
        mesh.push(0);
    }
    let mut length = 0;
    loop {
        rest = list(rest, depth + 1, mesh, ranks)?.trim_start();
        length += 1;
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => break,
        }
    }
    if first {
        mesh[depth] = length;
    }
    (mesh[depth] == length).then_some(rest)?.strip_prefix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in ["cpu[0]", "cuda[3, 1, 2]", "cpu[[0, 1], [2, 3]]", "cpu[[[0], [1]], [[5], [4]]]"] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_errors() {
        let deep = format!("cpu{}0{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [
            "",
            "cpu",
            "cpu[]",
            "gpu[0]",
            "cpu[0, 0]",
            "cpu[[0, 1], [2]]",
            "cpu[0, [1]]",
            "cpu[[0], 1]",
            "cpu[0",
            "cpu[0]]",
            "cpu[-1]",
            "cpu[0,]",
            &deep,
        ] {
            assert!(text.parse::<Placement>().is_err(), "{text:.40}");
        }
    }

    #[test]
    fn positions_along_a_dimension() {
        let placement = Placement::new(DeviceKind::Cpu, &[2, 3], &[0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(placement.along(4, 0).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(placement.along(4, 1).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((placement.coordinate(4, 0), placement.coordinate(4, 1)), (1, 1));
    }

    #[test]
    fn positions_of_ranks() {
        for ranks in [&[3, 4, 5][..], &[5, 3, 4]] {
            let placement = Placement::row(DeviceKind::Cpu, ranks).unwrap();
            let found: Vec<_> = (0..8).map(|rank| placement.position(rank)).collect();
            let expected: Vec<_> = (0..8).map(|rank| ranks.iter().position(|&other| other == rank)).collect();
            assert_eq!(found, expected);
        }
    }
}
