//! `tokenwood dev --secure`: a CA, certificates and a token, for as long as the cluster lives.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use security::issue::{Folder, LEAF_DAYS, Written};
use security::{Credentials, Files, Holder, private_files};
use serde_json::{Value, json};
use tokenwood::auth::{Change, Secret};
use tokenwood::{Access, Admin, Encryption};

use crate::locks::auth::new_secret;

/// Whose certificate clients can show.
const CLIENT: &str = "dev";

/// The files and the token of a cluster. The files go when this does.
pub(super) struct Keyring {
    folder: PrivateFolder,
    ca: PathBuf,
    client: Written,
    nodes: Vec<Files>,
    token: Secret,
    token_file: PathBuf,
}

/// A folder for this user alone.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn make() -> Result<PrivateFolder> {
        let mut random = [0; 8];
        getrandom::getrandom(&mut random).context("the operating system has no random bytes")?;
        let name = format!("tokenwood-dev-{}-{:016x}", std::process::id(), u64::from_ne_bytes(random));
        let folder = std::env::temp_dir().join(name);
        // It fails if something has the name: that would belong to another user.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(PrivateFolder(folder))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

impl Keyring {
    /// Makes everything that a cluster of this name with so many nodes needs.
    pub(super) fn make(cluster: &str, nodes: u32) -> Result<Keyring> {
        let folder = PrivateFolder::make()?;
        let authority = Folder::new(&folder.0);
        let ca = authority.init(cluster)?.certificate;
        let files = |Written { certificate, key }| Files {
            ca: ca.clone(),
            certificate: Some(certificate),
            key: Some(key),
        };
        let hosts = ["localhost", "127.0.0.1"].map(str::to_string);
        let nodes = (0..nodes)
            .map(|id| Ok(files(authority.issue_for_hosts(&Holder::Node(id), &hosts, LEAF_DAYS)?)))
            .collect::<Result<Vec<_>>>()?;
        let client = authority.issue(&Holder::Client(CLIENT.to_string()), LEAF_DAYS)?;
        let (token, token_file) = (new_secret()?, folder.0.join("token"));
        private_files::create(&token_file, token.reveal().as_bytes())?;
        Ok(Keyring { folder, ca, client, nodes, token, token_file })
    }

    /// Where everything is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The files of each node.
    pub(super) fn nodes(&self) -> &[Files] {
        &self.nodes
    }

    /// How each node encrypts.
    pub(super) fn encryption(&self, cluster: &str) -> Result<Vec<Encryption>> {
        let load = |files: &Files| Credentials::load(files.clone(), Some(cluster)).map(Encryption::Required);
        Ok(self.nodes.iter().map(load).collect::<Result<_, _>>()?)
    }

    /// How a client gets in that has the CA, and the token too once that counts.
    pub(super) fn access(&self, token: Option<&Secret>) -> Result<Access> {
        let files = Files { ca: self.ca.clone(), certificate: None, key: None };
        let encryption = Encryption::Required(Credentials::load(files, None)?);
        Ok(Access { encryption, token: token.cloned() })
    }

    /// Turns security on, and waits until every node goes by it.
    pub(super) async fn turn_on(&self, endpoints: &[&str]) -> Result<()> {
        let named: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
        let mut admin = Admin::connect_first(&named, &self.access(None)?).await?;
        admin.change_rights(Change::Secure { admin: self.token.hash() }).await?;
        let access = self.access(Some(&self.token))?;
        for endpoint in endpoints {
            until_on(endpoint, &access).await?;
        }
        Ok(())
    }

    /// What to type so that curl gets in at this address, up to the path.
    pub(super) fn curl(&self, http: &str) -> String {
        format!(
            "curl --cacert \"$TOKENWOOD_CA\" -H \"Authorization: Bearer $TOKENWOOD_TOKEN\" https://{http}"
        )
    }

    /// What to type so that commands get in.
    pub(super) fn export(&self) -> String {
        format!("export TOKENWOOD_CA={} TOKENWOOD_TOKEN={}", quoted(&self.ca), self.token.reveal())
    }

    /// Where a program finds what it needs. The token itself is not in it: the file may be one that others can read.
    pub(super) fn paths(keyring: Option<&Keyring>) -> [(&'static str, Value); 4] {
        let path =
            |of: fn(&Keyring) -> &Path| json!(keyring.map(|keyring| of(keyring).display().to_string()));
        [
            ("ca", path(|keyring| &keyring.ca)),
            ("certificate", path(|keyring| &keyring.client.certificate)),
            ("key", path(|keyring| &keyring.client.key)),
            ("token_file", path(|keyring| &keyring.token_file)),
        ]
    }
}

/// Waits until the node at this endpoint knows the token.
async fn until_on(endpoint: &str, access: &Access) -> Result<()> {
    for _ in 0..1000 {
        let is_on = async { Admin::connect_with(endpoint, access).await?.rights().await };
        if is_on.await.is_ok_and(|rights| rights.on) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("the node at {endpoint} does not hear that security is on")
}

/// For a shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
