//! The configurations of rustls for one load of the files: each is built once, when it is first asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::ring::Ticketer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig, SignatureScheme};
use sync::IgnorePoison;

use crate::identity::Holder;
use crate::trust::{PROVIDER, Trust};
use crate::verify::{Callers, Verifier};

/// How many addresses a caller remembers sessions of.
const REMEMBERED_SESSIONS: usize = 64;

type Protocols = Vec<&'static [u8]>;
type Made<Peers, Config> = Mutex<BTreeMap<(Protocols, Peers), Arc<Config>>>;

/// What configurations are made of, and those that have been made.
///
/// Tickets and remembered sessions belong to one configuration. So they end with the load of the files that they
/// were made under, and none of a port for clients is worth anything at a port for nodes.
#[derive(Debug)]
pub(crate) struct Configs {
    trust: Arc<Trust>,
    cluster: String,
    own: Arc<OwnCertificate>,
    accepting: Made<Callers, ServerConfig>,
    calling: Made<Option<Holder>, ClientConfig>,
}

impl Configs {
    pub(crate) fn new(trust: Arc<Trust>, cluster: String, own: Option<Arc<CertifiedKey>>) -> Configs {
        Configs {
            trust,
            cluster,
            own: Arc::new(OwnCertificate(own)),
            accepting: Mutex::default(),
            calling: Mutex::default(),
        }
    }

    pub(crate) fn accepting(&self, protocols: &[&'static [u8]], callers: Callers) -> Arc<ServerConfig> {
        let mut made = self.accepting.lock().ignore_poison();
        let make = || Arc::new(self.make_accepting(protocols, callers));
        made.entry((protocols.to_vec(), callers)).or_insert_with(make).clone()
    }

    pub(crate) fn calling(&self, protocols: &[&'static [u8]], expect: Option<Holder>) -> Arc<ClientConfig> {
        let mut made = self.calling.lock().ignore_poison();
        let key = (protocols.to_vec(), expect);
        if let Some(config) = made.get(&key) {
            return config.clone();
        }
        let config = Arc::new(self.make_calling(protocols, key.1.clone()));
        made.insert(key, config.clone());
        config
    }

    fn make_accepting(&self, protocols: &[&'static [u8]], callers: Callers) -> ServerConfig {
        let verifier = Verifier::of_callers(self.trust.clone(), self.cluster.clone(), callers);
        let mut config = ServerConfig::builder_with_provider(PROVIDER.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites of TLS 1.3")
            .with_client_cert_verifier(Arc::new(verifier))
            .with_cert_resolver(self.own.clone());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        // Without randomness for its keys there are no tickets, and every handshake is a full one.
        if let Ok(ticketer) = Ticketer::new() {
            config.ticketer = ticketer;
        }
        config
    }

    fn make_calling(&self, protocols: &[&'static [u8]], expect: Option<Holder>) -> ClientConfig {
        let verifier = Verifier::of_called(self.trust.clone(), self.cluster.clone(), expect);
        let mut config = ClientConfig::builder_with_provider(PROVIDER.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites of TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(self.own.clone());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config.resumption = Resumption::in_memory_sessions(REMEMBERED_SESSIONS);
        config.enable_sni = false;
        config
    }
}

/// The certificate that this process shows, to callers as to those that it calls. It may have none.
#[derive(Debug)]
struct OwnCertificate(Option<Arc<CertifiedKey>>);

impl ResolvesServerCert for OwnCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }
}

impl ResolvesClientCert for OwnCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}
