//! Whether calls of this thread are recorded for backward.

use std::cell::Cell;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Whether operators called on this thread are recorded.
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// Sets whether operators are recorded on this thread, until dropped.
#[must_use = "the mode lasts as long as this value"]
pub struct GradMode(bool);

impl GradMode {
    /// Recording on or off from here on.
    pub fn set(enabled: bool) -> Self {
        GradMode(ENABLED.replace(enabled))
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        ENABLED.set(self.0);
    }
}

/// Runs `f` without recording.
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    let _mode = GradMode::set(false);
    f()
}

/// Runs `f` with recording, also inside of [`no_grad`].
pub fn enable_grad<T>(f: impl FnOnce() -> T) -> T {
    let _mode = GradMode::set(true);
    f()
}
