//! Addresses: what a host's name means, and where to listen.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use opforge_core::Result;

use crate::Fault;

/// What an address like `"node0:29500"` stands for.
pub(super) fn resolved(address: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(address.to_socket_addrs()?.collect())
}

/// Whether an address names the machine itself, for itself alone.
pub(super) fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Listens at an address: for the machine itself, or for all who can reach it.
pub(super) fn listen(address: &str) -> Result<TcpListener> {
    let bound = resolved(address).and_then(|addresses| match addresses.first() {
        Some(first) if !is_loopback(address) => TcpListener::bind((any_of(first.ip()), first.port())),
        _ => TcpListener::bind(&addresses[..]),
    });
    bound.map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => ": another program, or an earlier run of this one, has this port",
            _ => "",
        };
        Fault::Network { message: format!("rank 0 cannot listen at {address}: {error}{help}") }.into()
    })
}

/// Listens at any port, of this address alone or of all.
pub(super) fn bind_beside(ip: IpAddr, is_alone: bool) -> io::Result<TcpListener> {
    TcpListener::bind((if is_alone { ip } else { any_of(ip) }, 0))
}

fn any_of(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// A number that nobody foresees, from the system's source of hash keys.
pub(super) fn drawn() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_machine_itself() {
        for address in ["localhost:1", "127.0.0.1:29500", "127.1.2.3:1", "[::1]:5"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in ["node0:1", "10.0.0.1:1", "[2001:db8::1]:5", "0.0.0.0:3"] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
