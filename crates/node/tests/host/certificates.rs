//! Certificates of a test, and clusters whose nodes show them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use node::{Encryption, LocalCluster};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, SanType};
use security::issue::{Authority, Issued, Period};
use security::{Credentials, Files, Holder};
use tokenwood::{Access, Options};
use tokio::net::TcpListener;

pub(crate) const CLUSTER: &str = "encrypted";
const LEASE: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3600);

/// A CA, and the files of those that it vouches for.
pub(crate) struct Certificates {
    folder: PathBuf,
    authority: Authority,
    /// The key of the CA, in PEM.
    key: String,
}

impl Certificates {
    pub(crate) fn of(cluster: &str) -> Certificates {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tokenwood-certificates-{}-{number}", std::process::id()));
        security::private_files::make_folder(&folder).unwrap();
        let (authority, issued) = Authority::create(cluster, days(10)).unwrap();
        security::private_files::create(&folder.join("ca.pem"), issued.certificate.as_bytes()).unwrap();
        Certificates { folder, authority, key: issued.key.to_string() }
    }

    fn credentials(&self, holder: &Holder) -> Credentials {
        let stem = holder.file_stem();
        let (certificate, key) =
            (self.folder.join(format!("{stem}.pem")), self.folder.join(format!("{stem}.key")));
        let issued = self.authority.issue(holder, days(1)).unwrap();
        security::private_files::replace(&certificate, issued.certificate.as_bytes()).unwrap();
        security::private_files::replace(&key, issued.key.as_bytes()).unwrap();
        let files = Files { ca: self.folder.join("ca.pem"), certificate: Some(certificate), key: Some(key) };
        Credentials::load(files, None).unwrap()
    }

    /// Of a client that trusts the CA, and shows nothing.
    pub(crate) fn without_certificate(&self) -> Credentials {
        let files = Files { ca: self.folder.join("ca.pem"), certificate: None, key: None };
        Credentials::load(files, None).unwrap()
    }

    /// A certificate that is valid, and its key.
    pub(crate) fn issue(&self, holder: &Holder) -> Issued {
        self.authority.issue(holder, days(1)).unwrap()
    }

    /// A certificate whose last hour was the one before this.
    pub(crate) fn expired(&self, holder: &Holder) -> Issued {
        let now = SystemTime::now();
        self.authority.issue(holder, Period { from: now - 2 * HOUR, until: now - HOUR }).unwrap()
    }

    /// A certificate with this URI, which no command would issue with this CA.
    pub(crate) fn sign(&self, uri: &str) -> Issued {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let signer = KeyPair::from_pem(&self.key).unwrap();
        let issuer = Issuer::from_ca_cert_pem(&self.authority.certificate(), signer).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap().pem();
        Issued { certificate, key: key.serialize_pem().into() }
    }

    pub(crate) fn node(&self, id: u32) -> Credentials {
        self.credentials(&Holder::Node(id))
    }

    pub(crate) fn client(&self, name: &str) -> Credentials {
        self.credentials(&Holder::Client(name.to_string()))
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

fn days(days: u32) -> Period {
    Period::days(SystemTime::now(), days).unwrap()
}

pub(crate) async fn cluster(encryption: impl Fn(u32) -> Encryption + Send + 'static) -> LocalCluster {
    let mut for_clients = Vec::new();
    for _ in 0..3 {
        for_clients.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    LocalCluster::start_encrypted(CLUSTER, for_clients, LEASE, |_| {}, encryption).await.unwrap()
}

pub(crate) async fn encrypted(certificates: &Certificates) -> LocalCluster {
    let all: Vec<Credentials> = (0..3).map(|id| certificates.node(id)).collect();
    cluster(move |id| Encryption::Required(all[id as usize].clone())).await
}

pub(crate) fn access(credentials: Credentials) -> Access {
    Access { encryption: Encryption::Required(credentials), token: None }
}

pub(crate) fn options(access: Access) -> Options {
    Options { access, ..Options::default() }
}
