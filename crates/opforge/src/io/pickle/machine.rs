//! The machine that carries out a pickle: a stack of objects, and a memo of those that are named again.

use std::collections::HashMap;

use super::object::{Id, Map, Object, Pickle, unexpected};
use super::{FORMAT, globals};
use crate::{Error, Result};

/// What has been built so far.
pub(super) struct Machine<'a> {
    input: Input<'a>,
    pub pickle: Pickle,
    stack: Vec<Id>,
    /// Lengths that the stack had when marks were set.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

/// The bytes of pickles, as far as they have not been read.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.bytes.split_at_checked(len).ok_or_else(|| Error::format(FORMAT, "it ends in the middle"))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many bytes"))
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A length in `N` bytes, lowest first.
    fn length<const N: usize>(&mut self) -> Result<usize> {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&self.array::<N>()?);
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| Error::format(FORMAT, "an impossible length"))
    }

    /// What stands before the end of the line.
    fn line(&mut self) -> Result<&'a str> {
        let end = self.bytes.iter().position(|&b| b == b'\n');
        let line = self.take(end.ok_or_else(|| Error::format(FORMAT, "a line without an end"))? + 1)?;
        text(&line[..line.len() - 1])
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::format(FORMAT, "a text that is not in UTF-8"))
}

/// Reads one pickle; gives the bytes behind it.
pub(super) fn read(bytes: &[u8]) -> Result<(Pickle, &[u8])> {
    let pickle = Pickle { objects: Vec::new(), root: 0 };
    let mut machine =
        Machine { input: Input { bytes }, pickle, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
    while machine.step()? {}
    machine.pickle.root = machine.pop()?;
    Ok((machine.pickle, machine.input.bytes))
}

impl Machine<'_> {
    /// Carries out one instruction; gives whether there are more. The letters are those of Python's `pickletools`.
    fn step(&mut self) -> Result<bool> {
        let input = &mut self.input;
        match input.byte()? {
            b'.' => return Ok(false),
            0x80 => self.protocol()?,
            0x95 => drop(input.take(8)?),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'1' => drop(self.marked()?),
            b'2' => self.stack.push(self.top()?),
            b'N' => self.push(Object::None),
            0x88 => self.push(Object::Bool(true)),
            0x89 => self.push(Object::Bool(false)),
            b'I' => self.decimal()?,
            b'L' => self.decimal()?,
            b'J' => self.number::<4>(|bytes| i32::from_le_bytes(bytes).into())?,
            b'K' => self.number::<1>(|[byte]| byte.into())?,
            b'M' => self.number::<2>(|bytes| u16::from_le_bytes(bytes).into())?,
            0x8a => self.sized::<1>(|bytes| Ok(long(bytes)))?,
            0x8b => self.sized::<4>(|bytes| Ok(long(bytes)))?,
            b'F' => self.decimal_float()?,
            b'G' => {
                let bytes = input.array()?;
                self.push(Object::Float(f64::from_be_bytes(bytes)));
            }
            b'X' => self.sized::<4>(|bytes| Ok(Object::Text(text(bytes)?.to_owned())))?,
            0x8c => self.sized::<1>(|bytes| Ok(Object::Text(text(bytes)?.to_owned())))?,
            0x8d => self.sized::<8>(|bytes| Ok(Object::Text(text(bytes)?.to_owned())))?,
            // Texts of Python 2, which are ASCII in checkpoints.
            b'T' => self.sized::<4>(|bytes| Ok(Object::Text(text(bytes)?.to_owned())))?,
            b'U' => self.sized::<1>(|bytes| Ok(Object::Text(text(bytes)?.to_owned())))?,
            b'B' => self.sized::<4>(|bytes| Ok(Object::Bytes(bytes.to_owned())))?,
            b'C' => self.sized::<1>(|bytes| Ok(Object::Bytes(bytes.to_owned())))?,
            0x8e | 0x96 => self.sized::<8>(|bytes| Ok(Object::Bytes(bytes.to_owned())))?,
            b']' => self.push(Object::List(Vec::new())),
            b')' => self.push(Object::Tuple(Vec::new())),
            b'}' => self.push_map(Vec::new()),
            0x8f => self.push(Object::Set(Vec::new())),
            b'l' => self.gather(Object::List)?,
            b't' => self.gather(Object::Tuple)?,
            0x91 => self.gather(Object::FrozenSet)?,
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b'd' => {
                let entries = pairs(self.marked()?)?;
                self.push_map(entries);
            }
            b'a' => self.append(1)?,
            b'e' | 0x90 => self.append_marked()?,
            b's' => self.set_items(2)?,
            b'u' => self.set_marked()?,
            code @ (b'p' | b'q' | b'r') => {
                let place = self.place(code)?;
                self.remember(place)?;
            }
            0x94 => self.remember(self.memo.len() as u64)?,
            code @ (b'g' | b'h' | b'j') => {
                let place = self.place(code)?;
                self.recall(place)?;
            }
            b'c' => {
                let (module, name) = (input.line()?.to_owned(), input.line()?.to_owned());
                self.push(globals::named(module, name));
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let named = globals::named(self.pickle.text(module)?.to_owned(), self.pickle.text(name)?.to_owned());
                self.push(named);
            }
            b'R' | 0x81 => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                self.call(function, arguments)?;
            }
            b'Q' => {
                let name = self.pop()?;
                let storage = globals::storage(&self.pickle, name)?;
                self.push(Object::Storage(storage));
            }
            b'b' => {
                let (state, object) = (self.pop()?, self.top()?);
                globals::set_state(&mut self.pickle, object, state)?;
            }
            other => {
                let name = char::from(other);
                return Err(Error::format(
                    FORMAT,
                    format!("the instruction {other:#04x} ({name:?}), which is not carried out"),
                ));
            }
        }
        Ok(true)
    }

    fn protocol(&mut self) -> Result<()> {
        match self.input.byte()? {
            0..=5 => Ok(()),
            other => Err(Error::format(FORMAT, format!("protocol {other}, accepted: 0 to 5"))),
        }
    }

    fn push(&mut self, object: Object) {
        self.stack.push(self.pickle.objects.len());
        self.pickle.objects.push(object);
    }

    fn push_map(&mut self, entries: Vec<(Id, Id)>) {
        self.push(Object::Map { map: Map::Dict, entries, attributes: None });
    }

    /// The stack's end, which is not below the last mark.
    fn top(&self) -> Result<Id> {
        let bottom = self.marks.last().copied().unwrap_or(0);
        self.stack[bottom..].last().copied().ok_or_else(|| Error::format(FORMAT, "an object that is not there"))
    }

    fn pop(&mut self) -> Result<Id> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// The objects since the last mark.
    fn marked(&mut self) -> Result<Vec<Id>> {
        let mark = self.marks.pop().ok_or_else(|| Error::format(FORMAT, "a mark that is not there"))?;
        Ok(self.stack.split_off(mark))
    }

    fn number<const N: usize>(&mut self, read: impl Fn([u8; N]) -> i64) -> Result<()> {
        let bytes = self.input.array()?;
        self.push(Object::Int(read(bytes)));
        Ok(())
    }

    /// An object of as many bytes as the `N` before them say.
    fn sized<const N: usize>(&mut self, read: impl Fn(&[u8]) -> Result<Object>) -> Result<()> {
        let len = self.input.length::<N>()?;
        let object = read(self.input.take(len)?)?;
        self.push(object);
        Ok(())
    }

    fn decimal(&mut self) -> Result<()> {
        let object = match self.input.line()? {
            "00" => Object::Bool(false),
            "01" => Object::Bool(true),
            line => {
                let digits = line.strip_suffix('L').unwrap_or(line);
                Object::Int(digits.parse().map_err(|_| Error::format(FORMAT, format!("{line:?} as a whole number")))?)
            }
        };
        self.push(object);
        Ok(())
    }

    fn decimal_float(&mut self) -> Result<()> {
        let line = self.input.line()?;
        let number = line.parse().map_err(|_| Error::format(FORMAT, format!("{line:?} as a number")))?;
        self.push(Object::Float(number));
        Ok(())
    }

    /// A place in the memo, as an instruction gives it: a line of digits, one byte, or four.
    fn place(&mut self, code: u8) -> Result<u64> {
        match code {
            b'p' | b'g' => {
                let line = self.input.line()?;
                line.parse().map_err(|_| Error::format(FORMAT, format!("{line:?} as a place in the memo")))
            }
            b'q' | b'h' => Ok(self.input.length::<1>()? as u64),
            _ => Ok(self.input.length::<4>()? as u64),
        }
    }

    fn gather(&mut self, container: fn(Vec<Id>) -> Object) -> Result<()> {
        let items = self.marked()?;
        self.push(container(items));
        Ok(())
    }

    fn tuple(&mut self, len: usize) -> Result<()> {
        let mut items = (0..len).map(|_| self.pop()).collect::<Result<Vec<Id>>>()?;
        items.reverse();
        self.push(Object::Tuple(items));
        Ok(())
    }

    fn append(&mut self, count: usize) -> Result<()> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Id>>>()?;
        items.reverse();
        self.extend(items)
    }

    fn append_marked(&mut self) -> Result<()> {
        let items = self.marked()?;
        self.extend(items)
    }

    fn extend(&mut self, items: Vec<Id>) -> Result<()> {
        let top = self.top()?;
        match &mut self.pickle.objects[top] {
            Object::List(list) | Object::Set(list) => list.extend(items),
            other => return Err(unexpected(other, "a list or a set")),
        }
        Ok(())
    }

    fn set_items(&mut self, count: usize) -> Result<()> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Id>>>()?;
        items.reverse();
        self.set(items)
    }

    fn set_marked(&mut self) -> Result<()> {
        let items = self.marked()?;
        self.set(items)
    }

    fn set(&mut self, items: Vec<Id>) -> Result<()> {
        let (top, items) = (self.top()?, pairs(items)?);
        match &mut self.pickle.objects[top] {
            Object::Map { entries, .. } => entries.extend(items),
            other => return Err(unexpected(other, "a mapping")),
        }
        Ok(())
    }

    fn remember(&mut self, place: u64) -> Result<()> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Result<()> {
        let id = self.memo.get(&place).copied();
        self.stack.push(id.ok_or_else(|| Error::format(FORMAT, format!("place {place} of the memo, which is empty")))?);
        Ok(())
    }

    fn call(&mut self, function: Id, arguments: Id) -> Result<()> {
        let made = globals::call(&self.pickle, function, arguments)?;
        self.push(made);
        Ok(())
    }
}

/// Keys and values that stand in turns.
fn pairs(items: Vec<Id>) -> Result<Vec<(Id, Id)>> {
    match items.as_chunks() {
        (pairs, []) => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
        _ => Err(Error::format(FORMAT, "a key without a value")),
    }
}

/// A whole number in two's complement, lowest byte first.
fn long(bytes: &[u8]) -> Object {
    let Some(rest) = 8usize.checked_sub(bytes.len()) else { return Object::Long(bytes.to_owned()) };
    let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut wide = [sign; 8];
    wide[..8 - rest].copy_from_slice(bytes);
    Object::Int(i64::from_le_bytes(wide))
}
