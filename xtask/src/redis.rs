//! The tests of `tokenwood bench --peers` need redis-server: this installs it where that needs no
//! confirmation.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// Makes sure that redis-server is installed. If that fails, reports what will not be run; in CI that is a
/// failure.
pub(crate) fn provide() -> Result<()> {
    if is_installed() {
        println!("redis-server is installed");
        return Ok(());
    }
    println!("redis-server is not installed: trying apt-get");
    if try_install() && is_installed() {
        println!("redis-server has been installed");
        return Ok(());
    }
    if crate::under_ci() {
        bail!("redis-server cannot be installed here, and CI needs it");
    }
    println!("NOT RUN: redis-server cannot be installed here, so nothing is compared with Redis");
    Ok(())
}

fn is_installed() -> bool {
    quietly(Command::new("redis-server").arg("--version"))
}

/// Installs it; a fresh system needs a package list first.
fn try_install() -> bool {
    const INSTALL: [&str; 4] = ["install", "-y", "-q", "redis-server"];
    apt_get(&INSTALL) || apt_get(&["update", "-q"]) && apt_get(&INSTALL)
}

/// As root, or as a user who may become root without a password.
fn apt_get(arguments: &[&str]) -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut command = if is_root { Command::new("env") } else { Command::new("sudo") };
    if !is_root {
        command.arg("-n").arg("env");
    }
    quietly(command.arg("DEBIAN_FRONTEND=noninteractive").arg("apt-get").args(arguments))
}

fn quietly(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
