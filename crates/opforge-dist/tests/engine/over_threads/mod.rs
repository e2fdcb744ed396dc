use opforge_dist::Threads as Ranks;

#[path = "../calls.rs"]
mod calls;
#[path = "../guard.rs"]
mod guard;
#[path = "../queued.rs"]
mod queued;
