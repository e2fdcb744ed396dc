//! The first words on a connection, by which ranks of one program know each other: strangers are refused, whatever they send.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::patience::Patience;
use crate::engine::messages::PIECE;

/// Changes with what ranks send each other.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"opforge\n";
/// Bytes of a greeting, and of the head of an answer.
const HELLO: usize = 40;
const HEAD: usize = 20;
/// The most bytes of an answer: the addresses of many ranks.
const LONGEST: usize = 16 << 20;
/// How long a connection may stay silent, and how many silent ones are held.
const SILENCE: Duration = Duration::from_secs(5);
const MOST: usize = 1024;

/// Why a rank connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To find the others, by rank 0.
    Meet = 1,
    /// To send messages.
    Send = 2,
}

/// What a rank says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub purpose: Purpose,
    /// What rank 0 has drawn for this world; 0 as long as it is not known.
    pub token: u64,
    pub rank: usize,
    /// How many ranks the world has.
    pub ranks: usize,
    /// Where the rank listens.
    pub port: u16,
}

impl Hello {
    pub fn to_bytes(self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(PIECE as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.token.to_le_bytes());
        bytes[24..28].copy_from_slice(&(self.rank as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&(self.ranks as u32).to_le_bytes());
        bytes[32..34].copy_from_slice(&self.port.to_le_bytes());
        bytes[34] = self.purpose as u8;
        bytes
    }

    /// The greeting; none of a stranger's or another version's.
    pub fn of(bytes: &[u8; HELLO]) -> Option<Self> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let purpose = [Purpose::Meet, Purpose::Send].into_iter().find(|&purpose| purpose as u8 == bytes[34])?;
        let is_ours = bytes[..8] == MAGIC && number(8) == VERSION && number(12) as usize == PIECE;
        is_ours.then_some(Hello {
            purpose,
            token: u64::from(number(16)) | u64::from(number(20)) << 32,
            rank: number(24) as usize,
            ranks: number(28) as usize,
            port: u16::from_le_bytes([bytes[32], bytes[33]]),
        })
    }
}

/// Takes connections, and hears who they are.
pub(super) struct Reception {
    listener: TcpListener,
    silent: Vec<Silent>,
}

/// A connection that has not said all of its greeting.
struct Silent {
    stream: TcpStream,
    bytes: [u8; HELLO],
    heard: usize,
    until: Instant,
}

impl Reception {
    pub fn new(listener: TcpListener) -> Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Reception { listener, silent: Vec::new() })
    }

    /// The next rank that has greeted, without waiting for one.
    pub fn next(&mut self) -> Option<(TcpStream, Hello)> {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.silent.len() < MOST && stream.set_nonblocking(true).is_ok() {
                self.silent.push(Silent { stream, bytes: [0; HELLO], heard: 0, until: Instant::now() + SILENCE });
            }
        }
        let mut place = 0;
        while place < self.silent.len() {
            match self.silent[place].hear() {
                Some(false) => place += 1,
                Some(true) => {
                    let Silent { stream, bytes, .. } = self.silent.swap_remove(place);
                    match Hello::of(&bytes) {
                        Some(hello) => return Some((stream, hello)),
                        None => refuse(stream, "it is of another version, or no rank of opforge's"),
                    }
                }
                None => drop(self.silent.swap_remove(place)),
            }
        }
        None
    }
}

impl Silent {
    /// Whether all has been said; none if nothing is to be expected any more.
    fn hear(&mut self) -> Option<bool> {
        match self.stream.read(&mut self.bytes[self.heard..]) {
            Ok(0) => return None,
            Ok(count) => self.heard += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < self.until => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        Some(self.heard == HELLO)
    }
}

/// What rank 0 answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// All have come: what tells this world from others, and where each rank listens. An unspecified address is that of rank 0's machine.
    Met { token: u64, addresses: Vec<SocketAddr> },
    /// Why there is no such world.
    Refused(String),
}

impl Answer {
    fn to_bytes(&self) -> Vec<u8> {
        let (kind, content) = match self {
            Answer::Met { token, addresses } => {
                let lines: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
                (1u32, [token.to_le_bytes().as_slice(), lines.join("\n").as_bytes()].concat())
            }
            Answer::Refused(why) => (2, why.clone().into_bytes()),
        };
        let head = [&MAGIC[..], &VERSION.to_le_bytes(), &kind.to_le_bytes(), &(content.len() as u32).to_le_bytes()];
        [head.concat(), content].concat()
    }

    pub fn send(&self, mut stream: &TcpStream) -> Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.write_all(&self.to_bytes())
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// `InvalidData` where it is no answer, or of another version; others of the connection; `TimedOut` when patience is at its end.
    pub fn receive(stream: &TcpStream, patience: &Patience<'_>) -> Result<Self> {
        let mut head = [0; HEAD];
        patience.read(stream, &mut head)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let len = number(16) as usize;
        if head[..8] != MAGIC || number(8) != VERSION || len > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut content = vec![0; len];
        patience.read(stream, &mut content)?;
        Self::of(number(12), &content).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn of(kind: u32, content: &[u8]) -> Option<Self> {
        match kind {
            1 => {
                let (token, lines) = content.split_first_chunk::<8>()?;
                let lines = std::str::from_utf8(lines).ok()?;
                let addresses = lines.lines().map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
                Some(Answer::Met { token: u64::from_le_bytes(*token), addresses })
            }
            2 => Some(Answer::Refused(String::from_utf8_lossy(content).into_owned())),
            _ => None,
        }
    }
}

/// Tells a connection why it is not taken. One that does not listen is dropped.
fn refuse(stream: TcpStream, why: &str) {
    let _ = Answer::Refused(why.into()).send(&stream);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_and_answers_say_what_was_written() {
        let hello = Hello { purpose: Purpose::Send, token: u64::MAX - 5, rank: 3, ranks: 70_000, port: 65_535 };
        assert_eq!(Hello::of(&hello.to_bytes()), Some(hello));
        let addresses = ["127.0.0.1:5", "[::1]:65535"].map(|text| text.parse().unwrap()).to_vec();
        for answer in [Answer::Met { token: 1 << 63, addresses }, Answer::Refused("ranks differ: ü".into())] {
            let bytes = answer.to_bytes();
            let kind = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
            assert_eq!(Answer::of(kind, &bytes[HEAD..]), Some(answer));
        }
    }

    #[test]
    fn strangers_have_no_greeting() {
        let hello = Hello { purpose: Purpose::Meet, token: 0, rank: 0, ranks: 1, port: 0 }.to_bytes();
        for place in [0, 8, 12, 34] {
            let mut other = hello;
            other[place] ^= 64;
            assert_eq!(Hello::of(&other), None);
        }
    }
}
