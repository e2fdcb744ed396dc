//! The connection by which pieces go to another rank. Who posts one never waits: what the system does not take at once is written by a thread.

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::frame::{HEADER, Header};
use crate::engine::messages::Slice;

/// A connection to another rank, which is only written.
pub(super) struct Outgoing {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    stream: TcpStream,
    queue: Mutex<Queue>,
    news: Condvar,
}

/// What is to be written.
#[derive(Default)]
struct Queue {
    frames: VecDeque<Frame>,
    /// Whether the thread writes, and the stream waits until the system takes what is written; else it does not wait.
    is_writing: bool,
    /// Whether nothing is added any more.
    is_closed: bool,
}

/// A piece that is being written.
struct Frame {
    header: [u8; HEADER],
    bytes: Slice,
    written: usize,
}

impl Outgoing {
    /// # Errors
    /// Of the system: the stream cannot be set up, or the thread not started.
    pub fn new(stream: TcpStream, to: usize) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let shared = Arc::new(Shared { stream, queue: Mutex::default(), news: Condvar::new() });
        let of_thread = shared.clone();
        let writer = std::thread::Builder::new().name(format!("opforge-to-{to}")).spawn(move || of_thread.write())?;
        Ok(Outgoing { shared, writer: Some(writer) })
    }

    /// Sends a piece, sooner or later. To a rank that has gone nothing is sent; that it has, its own connection tells.
    pub fn post(&self, header: Header, bytes: Slice) {
        let mut frame = Frame { header: header.to_bytes(), bytes, written: 0 };
        let mut queue = self.shared.lock();
        if queue.is_closed {
            return;
        }
        let is_free = queue.frames.is_empty() && !queue.is_writing;
        let written = if is_free { frame.write(&self.shared.stream) } else { Ok(false) };
        match written {
            Ok(true) => {}
            Ok(false) => {
                queue.frames.push_back(frame);
                self.shared.news.notify_all();
            }
            Err(_) => queue.is_closed = true,
        }
    }

    /// Says goodbye and waits until all is sent, at most until `until`; then the connection ends.
    pub fn close(&mut self, until: Instant) {
        self.post(Header::Goodbye, crate::Buffer::empty().into());
        let mut queue = self.shared.lock();
        queue.is_closed = true;
        self.shared.news.notify_all();
        while !queue.frames.is_empty() || queue.is_writing {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                break;
            }
            queue = self.shared.news.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.frames.clear();
        drop(queue);
        // Ends what the thread may be writing; an error says that there is no connection any more.
        let _ = self.shared.stream.shutdown(Shutdown::Both);
        if let Some(writer) = self.writer.take() {
            // A panic was reported where it happened.
            let _ = writer.join();
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.close(Instant::now());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does: writes what has been left to it, until the queue is closed.
    fn write(&self) {
        let mut queue = self.lock();
        while !(queue.is_closed && queue.frames.is_empty()) {
            if queue.frames.is_empty() {
                queue = self.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.is_writing = true;
            let _ = self.stream.set_nonblocking(false);
            while let Some(mut frame) = queue.frames.pop_front() {
                drop(queue);
                let written = frame.write(&self.stream);
                queue = self.lock();
                // A stream that would not wait has lost its place, too.
                if !matches!(written, Ok(true)) {
                    queue.is_closed = true;
                    queue.frames.clear();
                }
            }
            let _ = self.stream.set_nonblocking(true);
            queue.is_writing = false;
            self.news.notify_all();
        }
    }
}

impl Frame {
    /// Writes as much as the stream takes; whether that is all.
    fn write(&mut self, mut stream: &TcpStream) -> Result<bool> {
        let bytes = self.bytes.bytes().map_err(|error| std::io::Error::other(error.to_string()))?;
        let len = HEADER + bytes.len();
        while self.written < len {
            let rest = &bytes[self.written.saturating_sub(HEADER)..];
            let parts = [IoSlice::new(&self.header[self.written.min(HEADER)..]), IoSlice::new(rest)];
            match stream.write_vectored(&parts) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
