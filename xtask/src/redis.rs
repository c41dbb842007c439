//! The tests of `tokenwood bench --peers` need redis-server: it is installed where that may be done without asking.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// Sees to it that redis-server is there. Where it cannot be had, says what will not be run; in CI that is a failure.
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
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        bail!("redis-server cannot be installed here, and CI needs it");
    }
    println!("NOT RUN: redis-server cannot be installed here, so nothing is compared with Redis");
    Ok(())
}

fn is_installed() -> bool {
    quietly(Command::new("redis-server").arg("--version"))
}

/// As root, or as a user who may become root without a password.
fn try_install() -> bool {
    const INSTALL: [&str; 5] = ["apt-get", "install", "-y", "-q", "redis-server"];
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut command = if is_root { Command::new("env") } else { Command::new("sudo") };
    if !is_root {
        command.arg("-n").arg("env");
    }
    command.arg("DEBIAN_FRONTEND=noninteractive").args(INSTALL);
    quietly(&mut command)
}

fn quietly(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
