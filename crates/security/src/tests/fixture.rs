//! A CA, certificates with one thing wrong, and a handshake without sockets.

use std::env;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, SanType};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData};
use zeroize::Zeroizing;

use crate::configs::Configs;
use crate::issue::{Authority, Issued, Period};
use crate::trust::Trust;
use crate::{Credentials, Files, Holder, SecurityError, private_files};

pub(super) const CLUSTER: &str = "prod";
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// A folder that is removed with the test.
pub(super) struct TestFolder(pub(super) PathBuf);

impl TestFolder {
    pub(super) fn new() -> TestFolder {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tokenwood-credentials-{}-{number}", process::id()));
        private_files::make_folder(&path).unwrap();
        TestFolder(path)
    }

    pub(super) fn files(&self) -> Files {
        let file = |name: &str| self.0.join(name);
        Files { ca: file("ca.pem"), certificate: Some(file("own.pem")), key: Some(file("own.key")) }
    }

    /// Writes the bundle and the own files of a process.
    pub(super) fn write(&self, bundle: &str, own: &Issued) -> Files {
        let write =
            |name: &str, text: &str| private_files::replace(&self.0.join(name), text.as_bytes()).unwrap();
        write("ca.pem", bundle);
        write("own.key", &own.key);
        write("own.pem", &own.certificate);
        self.files()
    }

    pub(super) fn load(&self, bundle: &str, own: &Issued) -> Result<Credentials, SecurityError> {
        Credentials::load(self.write(bundle, own), Some(CLUSTER))
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn period() -> Period {
    Period::starting(SystemTime::now(), HOUR).unwrap()
}

pub(super) fn authority() -> Authority {
    Authority::create(CLUSTER, period()).unwrap().0
}

pub(super) fn node(authority: &Authority, id: u32) -> Issued {
    authority.issue(&Holder::Node(id), period()).unwrap()
}

pub(super) fn client(authority: &Authority, name: &str) -> Issued {
    authority.issue(&Holder::Client(name.to_string()), period()).unwrap()
}

/// What no command would issue.
pub(super) fn unusual_params(uris: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.subject_alt_names = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    (params.not_before, params.not_after) = (period().from.into(), period().until.into());
    params
}

pub(super) fn self_signed(params: &CertificateParams) -> Issued {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    Issued { certificate, key: Zeroizing::new(key.serialize_pem()) }
}

/// The configurations of a process that does not check its own certificate before it shows it.
pub(super) fn unchecked(bundle: &str, own: Option<&Issued>) -> Configs {
    let trust = Trust::read(Path::new("ca.pem"), bundle.as_bytes(), SystemTime::now()).unwrap();
    let certified = |own: &Issued| {
        let chain = CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
        Arc::new(CertifiedKey::new(vec![chain], any_supported_type(&key).unwrap()))
    };
    Configs::new(Arc::new(trust), CLUSTER.to_string(), own.map(certified))
}

/// Both ends of a connection, connected by memory.
pub(super) struct Pair {
    pub(super) calling: ClientConnection,
    pub(super) answering: ServerConnection,
}

impl Pair {
    /// Makes the handshake. On an error, the one of the side that refused: the other only hears of it.
    pub(super) fn connect(
        calling: &Arc<ClientConfig>,
        answering: &Arc<ServerConfig>,
    ) -> Result<Pair, rustls::Error> {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let calling = ClientConnection::new(calling.clone(), name).unwrap();
        let mut pair = Pair { calling, answering: ServerConnection::new(answering.clone()).unwrap() };
        pair.exchange()?;
        assert!(!pair.calling.is_handshaking() && !pair.answering.is_handshaking());
        Ok(pair)
    }

    /// Carries bytes both ways until neither side has any.
    pub(super) fn exchange(&mut self) -> Result<(), rustls::Error> {
        while self.calling.wants_write() || self.answering.wants_write() {
            carry(&mut self.calling, &mut self.answering)?;
            carry(&mut self.answering, &mut self.calling)?;
        }
        Ok(())
    }
}

fn carry<From: SideData, To: SideData>(
    from: &mut ConnectionCommon<From>,
    to: &mut ConnectionCommon<To>,
) -> Result<(), rustls::Error> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut bytes = Cursor::new(bytes);
    while to.read_tls(&mut bytes).unwrap() > 0 {
        to.process_new_packets()?;
    }
    Ok(())
}
