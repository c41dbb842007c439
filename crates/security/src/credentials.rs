//! The files of this process, checked and ready for handshakes, and read again when they change.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use rustls::{ClientConfig, ServerConfig};
use sync::IgnorePoison;

use crate::error::SecurityError;
use crate::identity::{Holder, Identity};
use crate::load::{Expiry, Loaded};
use crate::private_files::Stamp;
use crate::verify::Callers;

/// The files of a process, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The CAs that it trusts: one, or several during a rotation.
    pub ca: PathBuf,
    /// Its own certificate, and the CAs between it and one that the others trust, if there are any. A client that
    /// shows a token has none.
    pub certificate: Option<PathBuf>,
    /// The key of its own certificate.
    pub key: Option<PathBuf>,
}

impl Files {
    fn stamps(&self) -> Vec<Stamp> {
        let files = [Some(&self.ca), self.certificate.as_ref(), self.key.as_ref()];
        files.into_iter().flatten().map(|file| Stamp::of(file)).collect()
    }
}

/// The certificate, key and trusted CAs of this process. Clones share them: a reload of one is a reload of all.
#[derive(Clone)]
pub struct Credentials {
    shared: Arc<Shared>,
}

struct Shared {
    files: Files,
    current: RwLock<Current>,
    /// One reload at a time, so that an older reading never replaces a newer one.
    reloading: Mutex<()>,
}

struct Current {
    stamps: Vec<Stamp>,
    loaded: Arc<Loaded>,
}

impl Credentials {
    /// Reads and checks the files: the key is private and belongs to the certificate, a CA of the bundle has signed
    /// it, it has not expired, and its holder is in `cluster`.
    ///
    /// If `cluster` is not given, the certificate says which it is; without a certificate, the CA.
    pub fn load(files: Files, cluster: Option<&str>) -> Result<Credentials, SecurityError> {
        // Before they are read: a file that is written meanwhile then has another stamp.
        let stamps = files.stamps();
        let loaded = Arc::new(Loaded::read(&files, cluster, SystemTime::now())?);
        let current = RwLock::new(Current { stamps, loaded });
        let shared = Shared { files, current, reloading: Mutex::new(()) };
        Ok(Credentials { shared: Arc::new(shared) })
    }

    /// Reads the files again and says whether anything has changed. Handshakes from then on use the new ones;
    /// connections stay, and sessions from before are not resumed. On an error all stays as it was.
    pub fn reload(&self) -> Result<bool, SecurityError> {
        let _one_at_a_time = self.shared.reloading.lock().ignore_poison();
        let before = self.loaded();
        let stamps = self.shared.files.stamps();
        let now = Loaded::read(&self.shared.files, Some(&before.cluster), SystemTime::now())?;
        if now.identity != before.identity {
            let before = before.identity.clone();
            return Err(SecurityError::IdentityChanged { before, now: now.identity });
        }
        let has_changed = !now.is_of_same_bytes(&before);
        let loaded = if has_changed { Arc::new(now) } else { before };
        *self.shared.current.write().ignore_poison() = Current { stamps, loaded };
        Ok(has_changed)
    }

    /// Whether a file has been written or replaced since it was last read with success. It reads no file.
    pub fn changed_on_disk(&self) -> bool {
        self.shared.files.stamps() != self.current().stamps
    }

    /// The holder of our own certificate, if there is one.
    pub fn identity(&self) -> Option<Identity> {
        self.loaded().identity.clone()
    }

    /// The cluster whose nodes we call and accept.
    pub fn cluster(&self) -> String {
        self.loaded().cluster.clone()
    }

    /// What expires first: our own certificate or a CA of the bundle.
    pub fn expires(&self) -> Expiry {
        self.loaded().expiry.clone()
    }

    /// The SHA-256 of each CA of the bundle, in hexadecimal digits.
    pub fn fingerprints(&self) -> Vec<String> {
        self.loaded().fingerprints.clone()
    }

    /// How to accept connections. Without a certificate of our own, every handshake fails.
    ///
    /// A caller that names no protocol gets a connection without one (`alpn_protocol` is `None`): refuse it if the
    /// port serves several.
    pub fn accept_config(&self, protocols: &[&'static [u8]], callers: Callers) -> Arc<ServerConfig> {
        self.loaded().configs.accepting(protocols, callers)
    }

    /// How to call a node of our cluster: any, or exactly the one that is expected.
    ///
    /// Give rustls the address that is called as the name of the server. It is neither sent nor checked; sessions
    /// are remembered by it.
    pub fn call_config(&self, protocols: &[&'static [u8]], expect: Option<Holder>) -> Arc<ClientConfig> {
        self.loaded().configs.calling(protocols, expect)
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.current().loaded.clone()
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.shared.current.read().ignore_poison()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, identity) = (&self.shared.files, self.identity());
        f.debug_struct("Credentials")
            .field("files", files)
            .field("identity", &identity)
            .finish_non_exhaustive()
    }
}
