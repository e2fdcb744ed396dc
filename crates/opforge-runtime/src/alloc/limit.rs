//! How much memory this process may use.

use std::fs;

/// The machine's memory or the process's control group's limit, whichever is less, in bytes.
pub(super) fn physical_memory() -> usize {
    let limits = [machine(), control_group_v2(), control_group_v1()];
    limits.into_iter().flatten().min().unwrap_or(isize::MAX as usize)
}

#[cfg(unix)]
fn machine() -> Option<usize> {
    // SAFETY: `sysconf` only looks up a value.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).ok()?.checked_mul(usize::try_from(page).ok()?).filter(|&bytes| bytes > 0)
}

#[cfg(not(unix))]
fn machine() -> Option<usize> {
    None
}

/// The least limit of the process's group and the groups around it.
fn control_group_v2() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut group = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_end_matches('/').to_owned();
    let mut least = None;
    loop {
        let limit = read_bytes(&format!("/sys/fs/cgroup{group}/memory.max"));
        least = [least, limit].into_iter().flatten().min();
        match group.rfind('/') {
            Some(parent) => group.truncate(parent),
            None => return least,
        }
    }
}

fn control_group_v1() -> Option<usize> {
    read_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes")
}

/// The number in a file; `None` also for "max".
fn read_bytes(path: &str) -> Option<usize> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
