//! Messages between this process and a worker, as `native/worker/protocol.h` describes them.

use crate::abi::Outcome;
use crate::attribute::{Attribute, row_offsets};

const WORD: usize = size_of::<u64>();

/// Bytes of kind and length.
pub(super) const HEADER: usize = 2 * WORD;

/// `worker::Kind`
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(super) enum Kind {
    Open = 1,
    Infer,
    Prepare,
    Map,
    Run,
    Close,
}

/// A request in the making.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub fn new(kind: Kind) -> Self {
        Request(Vec::with_capacity(128)).number(kind as u64).number(0)
    }

    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_ne_bytes());
        self
    }

    pub fn text(self, bytes: &[u8]) -> Self {
        let mut request = self.number(bytes.len() as u64);
        request.0.extend_from_slice(bytes);
        let padded = request.0.len() + WORD - bytes.len() % WORD;
        request.0.resize(padded, 0);
        request
    }

    /// A list, each element written by `write`.
    pub fn list<T>(self, elements: impl ExactSizeIterator<Item = T>, write: impl Fn(Self, T) -> Self) -> Self {
        let count = elements.len() as u64;
        elements.fold(self.number(count), write)
    }

    pub fn attribute(self, name: &str, value: &Attribute) -> Self {
        let ints = |list: &[i64]| list.iter().flat_map(|i| i.to_ne_bytes()).collect::<Vec<u8>>();
        let floats = |list: &[f32]| list.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
        let (count, values, offsets) = match value {
            Attribute::Bool(value) => (1, vec![u8::from(*value)], vec![]),
            Attribute::Int(value) => (1, ints(&[*value]), vec![]),
            Attribute::Float(value) => (1, floats(&[*value]), vec![]),
            Attribute::Text(value) => (value.len(), value.as_bytes().to_vec(), vec![]),
            Attribute::Ints(list) => (list.len(), ints(list), vec![]),
            Attribute::Floats(list) => (list.len(), floats(list), vec![]),
            Attribute::IntRows(rows) => (rows.len(), ints(&rows.concat()), row_offsets(rows)),
            Attribute::FloatRows(rows) => (rows.len(), floats(&rows.concat()), row_offsets(rows)),
        };
        let request = self.text(name.as_bytes()).number(value.ty() as u64).number(count as u64).text(&values);
        request.list(offsets.into_iter(), |request, offset| request.number(offset as u64))
    }

    /// The bytes to send.
    pub fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() - HEADER) as u64;
        self.0[WORD..HEADER].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// The length of what follows the header of an answer.
pub(super) fn answer_length(header: &[u8; HEADER]) -> Option<usize> {
    let mut header = Answer::new(header.to_vec());
    let (kind, length) = (header.number()?, header.number()?);
    usize::try_from(length).ok().filter(|_| kind == 0)
}

/// An answer, read from its beginning; `None` where it ends too early.
pub(super) struct Answer {
    bytes: Vec<u8>,
    at: usize,
}

impl Answer {
    pub fn new(bytes: Vec<u8>) -> Self {
        Answer { bytes, at: 0 }
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(WORD)?.try_into().ok()?))
    }

    pub fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.take(WORD - length % WORD)?;
        Some(text)
    }

    /// A list, each element read by `read`.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.number()?).map(|_| read(self)).collect()
    }

    /// How a function ended, or why the request was refused.
    pub fn outcome(&mut self) -> Option<Result<Outcome, String>> {
        let (status, code, text) = (self.number()?, self.number()?.cast_signed(), self.text()?);
        Some(match (status, i32::try_from(code).ok()?) {
            (0, 0) => Ok(Outcome::Success),
            (0, code) => Ok(Outcome::Code { code, text }),
            (1, _) => Ok(Outcome::Exception(text)),
            _ => Err(text),
        })
    }
}
