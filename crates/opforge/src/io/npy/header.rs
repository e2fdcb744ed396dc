//! Headers of `.npy` files, read, checked and written.

use super::FORMAT;
use super::dict::{Entry, parse_dict};
use crate::io::bytes::Claim;
use crate::{DType, Error, Result, Shape, Tensor};

const MAGIC: &[u8] = b"\x93NUMPY";

/// What a file's header says.
#[derive(Debug)]
pub(in crate::io) struct Header {
    pub claim: Claim,
    /// Whether the first dimension is the innermost.
    pub fortran_order: bool,
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}{}", self.dtype, self.shape, if self.swapped { " swapped" } else { "" })
    }
}

fn bad(message: impl std::fmt::Display) -> Error {
    Error::format(FORMAT, message)
}

impl Header {
    /// The header at the beginning of a file, and where the elements begin.
    pub fn parse(bytes: &[u8]) -> Result<(Header, usize)> {
        let (start, len) = Self::extent(bytes)?;
        let end = start.checked_add(len).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| bad(format!("a header of {len} bytes in a file of {}", bytes.len())))?;
        let text = std::str::from_utf8(&bytes[start..end]).map_err(|_| bad("a header that is not text"))?;
        Ok((Self::from_dict(text)?, end))
    }

    /// Where the header's text begins, and how long it says it is. Needs the first 12 bytes.
    pub fn extent(bytes: &[u8]) -> Result<(usize, usize)> {
        let short = || bad("the file ends within its header");
        if !bytes.starts_with(MAGIC) {
            return Err(bad("no \\x93NUMPY at the beginning"));
        }
        let major = *bytes.get(6).ok_or_else(short)?;
        let start = match major {
            1 => 10,
            2 | 3 => 12,
            other => return Err(bad(format!("version {other} of the format"))),
        };
        // Little-endian, up to where the text starts.
        let len = bytes.get(8..start).ok_or_else(short)?.iter().rev();
        Ok((start, len.fold(0, |len, &byte| len << 8 | usize::from(byte))))
    }

    pub fn from_dict(text: &str) -> Result<Header> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        for (key, value) in parse_dict(text).ok_or_else(|| bad(format!("header {:?}", shortened(text))))? {
            let before = match (key, value) {
                ("descr", Entry::Text(text)) => descr.replace(text).is_some(),
                ("fortran_order", Entry::Bool(value)) => fortran_order.replace(value).is_some(),
                ("shape", Entry::Numbers(dims)) => shape.replace(dims).is_some(),
                ("descr", _) => return Err(bad("records")),
                (key, _) => return Err(bad(format!("header entry {:?}", shortened(key)))),
            };
            if before {
                return Err(bad(format!("{key} twice")));
            }
        }
        let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
            return Err(bad("a header without descr, fortran_order or shape"));
        };
        let (dtype, swapped) = parse_descr(descr)?;
        Ok(Header { claim: Claim { dtype, shape: Shape::from(shape), swapped }, fortran_order })
    }

    /// The claim about the bytes in the order in which they are stored.
    pub fn stored_claim(self) -> Claim {
        let Claim { dtype, shape, swapped } = self.claim;
        let mut dims = shape.into_dims();
        if self.fortran_order {
            dims.reverse();
        }
        Claim { dtype, shape: dims.into(), swapped }
    }

    /// The bytes of a tensor's header: version 1, padded so that the elements begin at a multiple of 64.
    pub fn text(tensor: &Tensor) -> Result<Vec<u8>> {
        let descr = descr(tensor.dtype()).ok_or(Error::UnsupportedDTypeForOp(tensor.dtype(), "write_npy"))?;
        let dims: String = tensor.dims().iter().map(|d| format!("{d}, ")).collect();
        let dims = if tensor.rank() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
        let unpadded = MAGIC.len() + 4 + text.len() + 1;
        text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
        text.push('\n');
        // 32 dimensions of 20 digits fit.
        let len = u16::try_from(text.len()).map_err(|_| bad("a header too long to be written"))?;
        Ok([MAGIC, &[1, 0], &len.to_le_bytes(), text.as_bytes()].concat())
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// numpy's name of a dtype, lowest byte first.
fn descr(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
        DType::F8E4M3 | DType::F8E5M2 | DType::BF16 => return None,
    })
}

/// The dtype that numpy's name stands for, and whether its bytes are in the other order than this machine's.
fn parse_descr(text: &str) -> Result<(DType, bool)> {
    let refused = || match text.trim_start_matches(['<', '>', '|', '=']).chars().next() {
        Some('O') => bad("an array of objects, which would have to be unpickled"),
        _ => bad(format!("dtype {:?}", shortened(text))),
    };
    let order = text.chars().next().filter(char::is_ascii).ok_or_else(refused)?;
    let name = &text[1..];
    let dtype =
        DType::ALL.into_iter().find(|&d| descr(d).is_some_and(|known| &known[1..] == name)).ok_or_else(refused)?;
    match (order, dtype.size_in_bytes()) {
        ('<' | '>' | '|' | '=', 1) | ('=', _) => Ok((dtype, false)),
        ('<', _) => Ok((dtype, cfg!(target_endian = "big"))),
        ('>', _) => Ok((dtype, cfg!(target_endian = "little"))),
        _ => Err(refused()),
    }
}
