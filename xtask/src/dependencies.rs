//! Every dependency has a licence that we accept, and only one version. Works offline, from cargo's metadata.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const ACCEPTED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Dependencies that are never accepted, and why.
const BANNED: &[(&str, &str)] =
    &[("openssl-sys", "TLS is rustls with ring"), ("aws-lc-rs", "TLS is rustls with ring")];

/// Dependencies with several versions, and why that is accepted.
const SEVERAL: &[(&str, &str)] = &[
    ("derive_more", "openraft 0.9 uses the first version, crossterm the second"),
    ("derive_more-impl", "the same"),
    ("getrandom", "openraft 0.9 draws election timeouts with rand 0.8"),
    (
        "rand",
        "openraft 0.9 draws election timeouts with rand 0.8; the other is named by rust_decimal, but not built",
    ),
    ("rand_chacha", "the same"),
    ("rand_core", "the same; ours is the newest"),
    ("syn", "the macros of openraft 0.9 use the second version; only compilers run it"),
    ("thiserror", "openraft 0.9 uses the first version, postcard the second"),
    ("thiserror-impl", "the same"),
    ("windows-sys", "ring names the older one; built for Windows alone"),
];

pub(crate) fn check() -> Result<()> {
    let output = Command::new("cargo").args(["metadata", "--format-version", "1", "--locked"]).output()?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut problems = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or("");
        let name = text("name");
        versions.entry(name).or_default().push(text("version"));
        if !acceptable(text("license")) {
            problems.push(format!("{name}: licence '{}' is not accepted", text("license")));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            problems.push(format!("{name} is banned: {why}"));
        }
    }
    let is_several = |name: &str| versions.get(name).is_some_and(|versions| versions.len() > 1);
    let is_excepted = |name: &str| SEVERAL.iter().any(|(excepted, _)| *excepted == name);
    for (name, versions) in versions.iter().filter(|(name, _)| is_several(name) && !is_excepted(name)) {
        problems.push(format!("{name} is there in several versions: {}", versions.join(", ")));
    }
    for (name, _) in SEVERAL.iter().filter(|(name, _)| !is_several(name)) {
        problems.push(format!("{name} is there once only: it is no exception any more"));
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    let (all, twice) = (packages.len(), SEVERAL.len());
    println!("{all} packages, all with accepted licences, none twice but {twice} for a reason");
    Ok(())
}

/// Tools that compare the dependencies with known advisories, without a network: how to see that one can, and the check.
const ADVISORIES: [(&str, &[&str], &[&str]); 2] = [
    ("cargo-deny", &["deny", "--offline", "fetch", "db"], &["deny", "--offline", "check", "advisories"]),
    ("cargo-audit", &["audit", "--version"], &["audit", "--no-fetch", "--deny", "warnings"]),
];

/// Compares the dependencies with known advisories, if a tool is there that can do that without a network.
pub(crate) fn advisories() -> Result<()> {
    let works = |arguments: &[&str]| {
        let output = Command::new("cargo").args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some((name, _, check)) = ADVISORIES.iter().find(|(_, probe, _)| works(probe)) else {
        println!("not run: neither cargo-deny nor cargo-audit is here with its list of advisories");
        return Ok(());
    };
    if !Command::new("cargo").args(*check).status()?.success() {
        bail!("{name} found advisories: update those dependencies");
    }
    Ok(())
}

/// Whether a licence expression can be satisfied: every part joined by AND has an accepted alternative.
fn acceptable(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let alternatives = |part: &str| {
        part.trim_matches(['(', ')', ' '])
            .split(" OR ")
            .any(|licence| ACCEPTED.contains(&licence.trim_matches(['(', ')', ' '])))
    };
    expression.split(" AND ").all(alternatives)
}

#[cfg(test)]
mod tests {
    use super::acceptable;

    #[test]
    fn expressions() {
        assert!(acceptable("MIT OR Apache-2.0"));
        assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(acceptable("MIT/Apache-2.0"));
        assert!(acceptable("Unlicense OR MIT"));
        assert!(!acceptable("GPL-3.0"));
        assert!(!acceptable("MIT AND GPL-3.0"));
        assert!(!acceptable(""));
    }
}
