use opforge_dist::Sockets as Ranks;

#[path = "../calls.rs"]
mod calls;
#[path = "../guard.rs"]
mod guard;
#[path = "../queued.rs"]
mod queued;
