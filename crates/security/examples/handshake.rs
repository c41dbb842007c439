//! What a handshake costs, in processor time of both sides together: full, resumed, and the checks of ours in it.
//!
//! `cargo run --release -p tokenwood-security --example handshake`

use std::env;
use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, ServerConfig, ServerConnection, SideData,
};
use security::issue::{Folder, LEAF_DAYS};
use security::{CLIENTS, Callers, Credentials, Files, Holder, caller};

const HANDSHAKES: u32 = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::temp_dir().join(format!("tokenwood-handshake-{}", process::id()));
    let folder = Folder::new(&path);
    let measured = measure(&folder, &path.join("ca.pem"));
    fs::remove_dir_all(&path)?;
    measured
}

fn measure(folder: &Folder, ca: &std::path::Path) -> Result<(), Box<dyn Error>> {
    folder.init("prod")?;
    let load = |holder: &Holder| {
        let own = folder.issue(holder, LEAF_DAYS)?;
        let files = Files { ca: ca.to_owned(), certificate: Some(own.certificate), key: Some(own.key) };
        Credentials::load(files, None)
    };
    let node = load(&Holder::Node(1))?;
    let client = load(&Holder::Client("ci".to_string()))?;
    let answering = node.accept_config(&[CLIENTS], Callers::Clients);
    let remembering = client.call_config(&[CLIENTS], None);
    let mut forgetting = (*remembering).clone();
    forgetting.resumption = rustls::client::Resumption::disabled();
    let forgetting = Arc::new(forgetting);

    connect(&remembering, &answering)?;
    for (name, calling, kind) in
        [("full", &forgetting, HandshakeKind::Full), ("resumed", &remembering, HandshakeKind::Resumed)]
    {
        let before = processor_time();
        for _ in 0..HANDSHAKES {
            let made = connect(calling, &answering)?;
            assert_eq!(made, kind);
        }
        let each = (processor_time() - before) / HANDSHAKES;
        println!("{name:<8} {:>6.0} µs of processor time, both sides", each.as_secs_f64() * 1e6);
    }
    Ok(())
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn connect(
    calling: &Arc<ClientConfig>,
    answering: &Arc<ServerConfig>,
) -> Result<HandshakeKind, Box<dyn Error>> {
    let mut calling = ClientConnection::new(calling.clone(), ServerName::try_from("127.0.0.1")?)?;
    let mut answering = ServerConnection::new(answering.clone())?;
    while calling.wants_write() || answering.wants_write() {
        carry(&mut calling, &mut answering)?;
        carry(&mut answering, &mut calling)?;
    }
    caller(&answering)?.ok_or("the client showed its certificate")?;
    Ok(answering.handshake_kind().ok_or("the handshake is complete")?)
}

fn carry<From: SideData, To: SideData>(
    from: &mut ConnectionCommon<From>,
    to: &mut ConnectionCommon<To>,
) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes)?;
    }
    let mut bytes = Cursor::new(bytes);
    while to.read_tls(&mut bytes)? > 0 {
        to.process_new_packets()?;
    }
    Ok(())
}
