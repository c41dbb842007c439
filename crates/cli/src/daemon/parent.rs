//! A process that must not outlive the one that started it.

/// Has the kernel kill this process when its parent ends, however that happens. Returns false if this parent has ended already.
///
/// The kernel goes by threads: the thread that started this process must live as long as the parent does. Its main thread, which
/// starts all nodes, does.
#[cfg(target_os = "linux")]
pub(crate) fn end_with(parent: u32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    _ = set_parent_process_death_signal(Some(Signal::KILL));
    // Only now: a parent that ended before sends no signal.
    getppid().map(|parent| parent.as_raw_pid().cast_unsigned()) == Some(parent)
}

/// Other kernels cannot.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with(_parent: u32) -> bool {
    true
}
