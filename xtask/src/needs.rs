//! What tests need beyond Rust: this installs it where that needs no confirmation, and says plainly what will not be run
//! without it. In CI that is a failure.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// Something that tests use.
struct Need {
    name: &'static str,
    /// The package that brings it.
    package: &'static str,
    /// A command that succeeds where it is there.
    probe: &'static [&'static str],
    /// What is not shown without it.
    without: &'static str,
}

const NEEDS: [Need; 6] = [
    Need {
        name: "redis-server",
        package: "redis-server",
        probe: &["redis-server", "--version"],
        without: "nothing is compared with Redis",
    },
    Need {
        name: "curl",
        package: "curl",
        probe: &["curl", "--version"],
        without: "no other program speaks HTTP to a node",
    },
    Need {
        name: "openssl",
        package: "openssl",
        probe: &["openssl", "version"],
        without: "no other program reads the certificates",
    },
    Need {
        name: "chromium",
        package: "chromium",
        probe: &["/usr/bin/chromium", "--version"],
        without: "the page is not tried in a browser",
    },
    Need {
        name: "npm",
        package: "npm",
        probe: &["npm", "--version"],
        without: "the page is not tried in a browser",
    },
    Need {
        name: "network namespaces",
        package: "iproute2",
        probe: &[
            "unshare",
            "--user",
            "--map-root-user",
            "--net",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /run && ip netns add a && ip netns exec a true",
        ],
        without: "no cluster of several machines is tried, and no network is cut",
    },
];

/// Makes sure that everything is there that tests need. What is not, and cannot be installed, is said.
pub(crate) fn provide() -> Result<()> {
    NEEDS.iter().try_for_each(Need::provide)
}

impl Need {
    fn provide(&self) -> Result<()> {
        let Need { name, package, without, .. } = self;
        if self.is_there() {
            println!("{name}: there");
            return Ok(());
        }
        println!("{name}: not there, trying apt-get install {package}");
        if install(package) && self.is_there() {
            println!("{name}: there now");
            return Ok(());
        }
        if crate::under_ci() {
            bail!("{name}: not to be had here, and CI needs it");
        }
        println!("NOT RUN: without {name}, {without}");
        Ok(())
    }

    fn is_there(&self) -> bool {
        let (program, arguments) = self.probe.split_first().expect("a probe names a program");
        quietly(Command::new(program).args(arguments))
    }
}

/// Installs a package; a fresh system needs a package list first.
fn install(package: &str) -> bool {
    let install = ["install", "-y", "-q", package];
    apt_get(&install) || apt_get(&["update", "-q"]) && apt_get(&install)
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
