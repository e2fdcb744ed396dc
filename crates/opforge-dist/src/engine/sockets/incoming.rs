//! The connection by which pieces come from another rank: a thread reads them into the inbox.

use std::io::{ErrorKind, Read, Result};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::frame::{HEADER, Header};
use crate::Buffer;
use crate::engine::messages::{Inbox, Key, Piece};

/// How much is read at a time, as long as it is not known what comes: a small message with its header.
const STAGE: usize = 4 << 10;

/// A connection from another rank, which is only read.
pub(super) struct Incoming {
    stream: TcpStream,
    reader: Option<JoinHandle<()>>,
}

impl Incoming {
    /// Reads from now on.
    ///
    /// # Errors
    /// Of the system: the stream cannot be set up, or the thread not started.
    pub fn new(stream: TcpStream, from: usize, inbox: Arc<Inbox>) -> Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(None)?;
        let mut reader = Reader { stream: stream.try_clone()?, stage: [0; STAGE], start: 0, end: 0 };
        let read = move || inbox.leave(from, &reader.read_all(&inbox));
        let reader = std::thread::Builder::new().name(format!("opforge-from-{from}")).spawn(read)?;
        Ok(Incoming { stream, reader: Some(reader) })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // Ends what the thread waits for; an error says that there is no connection any more.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            // A panic was reported where it happened.
            let _ = reader.join();
        }
    }
}

/// What reads a connection.
struct Reader {
    stream: TcpStream,
    /// What has been read ahead lies between `start` and `end`.
    stage: [u8; STAGE],
    start: usize,
    end: usize,
}

impl Reader {
    /// Reads all pieces; how the rank has left.
    fn read_all(&mut self, inbox: &Inbox) -> String {
        loop {
            match self.next() {
                Ok(Some((key, piece))) => inbox.put(key, piece),
                Ok(None) => return "has left".into(),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return "has left without a goodbye: its process has ended".into();
                }
                Err(error) => return format!("has left without a goodbye: {error}"),
            }
        }
    }

    /// The next piece; none at the end.
    fn next(&mut self) -> Result<Option<(Key, Piece)>> {
        let mut header = [0; HEADER];
        self.stage_at_least(HEADER)?;
        self.take_staged(&mut header);
        let Header::Piece { key, len, total } = Header::of(&header)? else { return Ok(None) };
        let out_of_memory = |error: opforge_core::Error| std::io::Error::other(error.to_string());
        // SAFETY: all its bytes are written below before the piece is given to others; on an error it is dropped unread.
        let mut buffer = unsafe { Buffer::unwritten(len) }.map_err(out_of_memory)?;
        let bytes = buffer.bytes_mut().map_err(out_of_memory)?;
        let staged = self.take_staged(bytes);
        self.stream.read_exact(&mut bytes[staged..])?;
        Ok(Some((key, Piece { bytes: buffer.into(), total })))
    }

    fn stage_at_least(&mut self, len: usize) -> Result<()> {
        if self.end - self.start < len {
            self.stage.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end < len {
            match self.stream.read(&mut self.stage[self.end..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves what has been read ahead to the beginning of `to`; how much that was.
    fn take_staged(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.end - self.start);
        to[..count].copy_from_slice(&self.stage[self.start..][..count]);
        self.start += count;
        count
    }
}
