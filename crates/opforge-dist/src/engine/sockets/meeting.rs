//! How the ranks of a world find each other: all come to rank 0, which tells each where the others listen; then each connects to each.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use opforge_core::{Error, Result};

use super::address::{bind_beside, drawn, is_loopback, resolved};
use super::greeting::{Answer, Hello, Purpose, Reception};
use super::patience::Patience;
use super::{Connections, Incoming, Outgoing};
use crate::Fault;
use crate::engine::Engine;
use crate::engine::messages::{Inbox, MessageEngine};

/// How long to wait between looks for who has come, and between attempts to reach rank 0.
const LOOK: Duration = Duration::from_millis(1);
const RETRY: Duration = Duration::from_millis(20);
/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(1);

/// A rank on its way into a world of [`Sockets`](super::Sockets).
pub struct Meeting<'a> {
    /// This rank.
    pub rank: usize,
    /// How many ranks the world has.
    pub ranks: usize,
    /// How long to wait for the others.
    pub limit: Duration,
    /// Asked several times a second whether to go on.
    pub go_on: &'a dyn Fn() -> bool,
}

/// A rank that has come to rank 0.
struct Guest {
    stream: TcpStream,
    /// Where it listens.
    address: SocketAddr,
}

impl Meeting<'_> {
    /// Rank 0's engine: waits for the others at a listener whose address they know.
    ///
    /// # Errors
    /// [`Fault::Missing`] with the ranks that do not come; [`Fault::Diverged`] where a rank expects another number of ranks, or there are two of a number;
    /// [`Fault::Network`] where a connection fails.
    pub fn host(&self, listener: TcpListener) -> Result<Arc<dyn Engine>> {
        let patience = Patience::new(self.limit, self.go_on);
        let own = SocketAddr::from(([0, 0, 0, 0], listener.local_addr()?.port()));
        let mut reception = Reception::new(listener)?;
        let mut guests: Vec<Option<Guest>> = (0..self.ranks).map(|_| None).collect();
        if let Err(error) = self.receive(&mut reception, &mut guests, &patience) {
            answer(guests.iter().flatten(), &Answer::Refused(error.to_string()));
            return Err(error);
        }
        let (token, guests) = (drawn(), guests.into_iter().flatten().collect::<Vec<_>>());
        let known: Vec<_> = [own].into_iter().chain(guests.iter().map(|guest| guest.address)).collect();
        answer(&guests, &Answer::Met { token, addresses: known.iter().map(as_others_see).collect() });
        self.connect(reception, token, &known, &patience)
    }

    /// Waits until all other ranks have come.
    fn receive(&self, reception: &mut Reception, guests: &mut [Option<Guest>], patience: &Patience<'_>) -> Result<()> {
        loop {
            let missing: Vec<_> = (1..self.ranks).filter(|&rank| guests[rank].is_none()).collect();
            if missing.is_empty() {
                return Ok(());
            }
            match reception.next() {
                Some((stream, hello)) if hello.purpose == Purpose::Meet => self.admit(guests, stream, hello)?,
                // Of an earlier world.
                Some(_) => {}
                None if patience.pause(LOOK) => {}
                None => return self.missing(missing),
            }
        }
    }

    /// Takes in a rank that has come.
    fn admit(&self, guests: &mut [Option<Guest>], stream: TcpStream, hello: Hello) -> Result<()> {
        let is_there = |guest: &Guest| {
            let peeked = guest.stream.peek(&mut [0]);
            matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock)
        };
        let is_possible = hello.ranks == self.ranks && (1..self.ranks).contains(&hello.rank);
        if !is_possible || guests[hello.rank].as_ref().is_some_and(is_there) {
            let other_call = format!("rank {} of {}", hello.rank, world(hello.ranks));
            let call = if is_possible { format!("{other_call} too") } else { world(self.ranks) };
            let rank = if is_possible { hello.rank } else { self.rank };
            let error = Error::from(Fault::Diverged { rank, call, other: hello.rank, other_call });
            answer([&Guest { stream, address: ([0, 0, 0, 0], 0).into() }], &Answer::Refused(error.to_string()));
            return Err(error);
        }
        let address = SocketAddr::new(stream.peer_addr()?.ip().to_canonical(), hello.port);
        guests[hello.rank] = Some(Guest { stream, address });
        Ok(())
    }

    /// Another rank's engine. `find` tells where rank 0 listens, as `"127.0.0.1:29500"`; it is asked before each attempt to reach it.
    ///
    /// # Errors
    /// [`Fault::Network`] where rank 0 is not found, or a connection fails; [`Fault::Left`] with rank 0's error; [`Fault::Missing`]; what `find` says.
    pub fn join(&self, find: &dyn Fn() -> Result<Option<String>>) -> Result<Arc<dyn Engine>> {
        let patience = Patience::new(self.limit, self.go_on);
        let mut reason = "nobody said where".to_owned();
        loop {
            if let Some(address) = find()? {
                match self.attempt(&address, &patience)? {
                    Ok(engine) => return Ok(engine),
                    Err(why) => reason = format!("{address}: {why}"),
                }
            }
            if !patience.pause(RETRY) {
                let (rank, limit) = (self.rank, self.limit);
                let message = format!("rank {rank} has not found rank 0 within {limit:?}: {reason}");
                return Err(Fault::Network { message }.into());
            }
        }
    }

    /// The engine, or why rank 0 cannot be reached yet.
    fn attempt(&self, address: &str, patience: &Patience<'_>) -> Result<std::result::Result<Arc<dyn Engine>, String>> {
        let reached = resolved(address).and_then(|addresses| reach(&addresses, patience));
        let stream = match reached {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (here, there) = (stream.local_addr()?, stream.peer_addr()?);
        let listener = bind_beside(here.ip(), is_loopback(address))?;
        let port = listener.local_addr()?.port();
        let hello = Hello { purpose: Purpose::Meet, token: 0, rank: self.rank, ranks: self.ranks, port };
        // Rank 0 says who is missing, at its own limit, which has begun when it can be reached.
        let of_host = Patience::new(self.limit.saturating_add(ATTEMPT), self.go_on);
        let answer = (&stream).write_all(&hello.to_bytes()).and_then(|()| Answer::receive(&stream, &of_host));
        let (token, addresses) = match answer {
            Ok(Answer::Met { token, addresses }) if addresses.len() == self.ranks => (token, addresses),
            Ok(Answer::Refused(why)) => {
                let (call, how) = (world(self.ranks), format!("refuses: {why}"));
                return Err(Fault::Left { rank: self.rank, call, other: 0, how }.into());
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Err("it does not answer".into())),
            Err(error) if error.kind() != ErrorKind::InvalidData => return Ok(Err(error.to_string())),
            _ => return Ok(Err("what listens there is no rank of this version of opforge".into())),
        };
        let known = addresses.iter().enumerate();
        let of_all: Vec<_> = known.map(|(rank, address)| as_seen_from(address, rank, here.ip(), there.ip())).collect();
        self.connect(Reception::new(listener)?, token, &of_all, patience).map(Ok)
    }

    /// Connects this rank to all others, and all others to it.
    fn connect(
        &self,
        mut reception: Reception,
        token: u64,
        addresses: &[SocketAddr],
        patience: &Patience<'_>,
    ) -> Result<Arc<dyn Engine>> {
        let inbox = Arc::new(Inbox::new(self.ranks));
        let mut made = Connections::new(self.rank, self.ranks, inbox.clone());
        loop {
            while let Some((stream, hello)) = reception.next() {
                let is_ours = hello.purpose == Purpose::Send && hello.token == token && hello.rank < self.ranks;
                if is_ours && hello.rank != self.rank && made.incoming[hello.rank].is_none() {
                    made.incoming[hello.rank] = Some(Incoming::new(stream, hello.rank, inbox.clone())?);
                }
            }
            let others = (0..self.ranks).filter(|&rank| rank != self.rank);
            let missing: Vec<_> = others.filter(|&rank| made.lacks(rank)).collect();
            if missing.is_empty() {
                break;
            }
            match missing.iter().find(|&&rank| made.outgoing[rank].is_none()) {
                Some(&to) if self.greet(&mut made, token, to, addresses[to], patience) => {}
                _ if patience.pause(LOOK) => {}
                _ => return self.missing(missing),
            }
        }
        Ok(Arc::new(MessageEngine::world(Arc::new(made), self.ranks)))
    }

    /// Connects this rank to another; whether that went well.
    fn greet(
        &self,
        made: &mut Connections,
        token: u64,
        to: usize,
        address: SocketAddr,
        patience: &Patience<'_>,
    ) -> bool {
        let hello = Hello { purpose: Purpose::Send, token, rank: self.rank, ranks: self.ranks, port: 0 };
        let connected = reach(&[address], patience).and_then(|mut stream| {
            stream.write_all(&hello.to_bytes())?;
            Outgoing::new(stream, to)
        });
        made.outgoing[to] = connected.ok();
        made.outgoing[to].is_some()
    }

    fn missing<T>(&self, ranks: Vec<usize>) -> Result<T> {
        let (rank, call, waited) = (self.rank, world(self.ranks), self.limit);
        Err(Fault::Missing { rank, call, ranks, waited }.into())
    }
}

/// What ranks call, in errors.
fn world(ranks: usize) -> String {
    format!("a world of {ranks} ranks")
}

/// Tells ranks what has become of the meeting. One that has gone meanwhile is missed when it is to be connected.
fn answer<'a>(guests: impl IntoIterator<Item = &'a Guest>, answer: &Answer) {
    for guest in guests {
        let _ = answer.send(&guest.stream);
    }
}

/// A connection to the first of these addresses that takes one.
fn reach(addresses: &[SocketAddr], patience: &Patience<'_>) -> std::io::Result<TcpStream> {
    let mut result = Err(ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        let step = patience.step(ATTEMPT).ok_or(ErrorKind::TimedOut)?;
        result = TcpStream::connect_timeout(address, step).and_then(not_itself);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Refuses a connection to itself, which the system makes where it happens to give it the port that it looks for and nobody listens there.
fn not_itself(stream: TcpStream) -> std::io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? { Err(ErrorKind::ConnectionRefused.into()) } else { Ok(stream) }
}

/// What reached rank 0 from its own machine is, for others, at rank 0's address.
fn as_others_see(address: &SocketAddr) -> SocketAddr {
    match address.ip().is_loopback() {
        true => SocketAddr::from(([0, 0, 0, 0], address.port())),
        false => *address,
    }
}

/// Where a rank is for one at `here` that reaches rank 0 at `there`.
fn as_seen_from(address: &SocketAddr, rank: usize, here: IpAddr, there: IpAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true if rank > 0 && there.is_loopback() => SocketAddr::new(here, address.port()),
        true => SocketAddr::new(there, address.port()),
        false => *address,
    }
}
