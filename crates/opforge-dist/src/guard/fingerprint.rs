//! What ranks must agree on before they do something together.

use crate::engine::{Call, Collective};

/// A call's fingerprint: a hash of what must be equal on all ranks, and a text that shows it.
pub(super) struct Fingerprint {
    pub hash: u64,
    pub text: String,
}

impl Fingerprint {
    /// Of a collective: operation, dtype, shape, counts, group, number, and the place if ranks must agree on that.
    pub fn of(call: &Call, group: &[usize], number: u64, places: bool) -> Self {
        let mut hash = Hash::new().text(call.collective.name()).text(call.dtype.as_str());
        hash = hash.all(call.shape.dims()).all(group).number(number);
        hash = match &call.collective {
            Collective::AllReduce(op) => hash.text(op.name()),
            Collective::ReduceScatter { op, counts } => hash.text(op.name()).all(counts),
            Collective::AllGather { counts } => hash.all(counts),
            Collective::Broadcast { root } => hash.number(*root as u64),
            // Counts of pairs are compared by pairs.
            Collective::AllToAll { .. } | Collective::Barrier => hash,
            Collective::Send { .. } | Collective::Receive { .. } => hash,
        };
        if places {
            hash = hash.text(&call.place.to_string());
        }
        Fingerprint { hash: hash.0, text: format!("{call}, call {number} of {}", named(group)) }
    }

    /// Of a message between two ranks of a group: dtype and length.
    pub fn of_message(call: &Call, group: &[usize], bytes: usize) -> Self {
        let hash = Hash::new().text("message").text(call.dtype.as_str()).number(bytes as u64).all(group);
        Fingerprint { hash: hash.0, text: format!("{call}, of {}", named(group)) }
    }

    /// Of what is not a call of the engine: making a group, closing.
    pub fn named(name: &str, group: &[usize]) -> Self {
        Fingerprint { hash: Hash::new().text(name).all(group).0, text: format!("{name} of {}", named(group)) }
    }
}

fn named(group: &[usize]) -> String {
    if group.len() <= 8 { format!("ranks {group:?}") } else { format!("{} ranks", group.len()) }
}

/// FNV-1a, with lengths before texts and lists: the same on every machine.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    fn text(self, text: &str) -> Self {
        self.number(text.len() as u64).bytes(text.as_bytes())
    }

    fn all(self, numbers: &[usize]) -> Self {
        numbers.iter().fold(self.number(numbers.len() as u64), |hash, &number| hash.number(number as u64))
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        Hash(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }
}
