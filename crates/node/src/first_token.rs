//! The first token of a new cluster: a caller that has it may do everything, and all others nothing, from the beginning.
//!
//! The founder writes the token to a file in its folder before it founds the cluster, and has its hash committed as soon as there
//! is a majority. So a founder that is killed at any moment loses no token: it goes on when it is started again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use security::private_files;
use service::auth::{Change, Secret};
use service::registry::Entry;
use tokio::time::sleep;

use crate::host::{Shared, StartError};

/// The name of the file, in the folder of the node.
const FILE: &str = "admin-token";
/// How long to wait before it is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// What to do with the first token, once it counts. The file has it, and stays unless this removes it.
pub type OnFirstToken = Box<dyn FnOnce(&Secret, &Path) + Send>;

/// Writes a new token to its file, unless one of an earlier try is there.
pub(crate) fn prepare(folder: &Path) -> Result<(), StartError> {
    let file = folder.join(FILE);
    if file.exists() {
        return Ok(());
    }
    let mut bytes = [0; 32];
    // A token that could be guessed would be worse than no node.
    getrandom::getrandom(&mut bytes).expect("the operating system has random bytes");
    let text = format!("{}\n", Secret::new(bytes).reveal());
    private_files::create(&file, text.as_bytes()).map_err(StartError::FirstToken)
}

/// The file with a token that does not count yet, if this node is to see to that.
pub(crate) fn pending(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(FILE)).filter(|file| file.exists())
}

/// Has the token committed, as soon as that is possible, unless it was before.
pub(crate) async fn turn_on(shared: Arc<Shared>, file: PathBuf, then: OnFirstToken) {
    let Some(secret) = read(&file) else { return };
    let (admin, mut tried) = (secret.hash(), false);
    loop {
        let registry = shared.control.registry().borrow().clone();
        if registry.rights.on {
            match (registry.rights.tokens.contains_key(&admin), tried) {
                (true, true) => then(&secret, &file),
                (true, false) => remind(&file),
                (false, _) => not_the_first(&file),
            }
            return;
        }
        tried = true;
        // Without a majority, or if the answer is lost, it is tried again. Then it is on, or refused because it is on.
        if shared.control.propose(Entry::Rights(Change::Secure { admin })).await.is_err() {
            sleep(PAUSE).await;
        }
    }
}

/// The token counts since an earlier start.
fn remind(file: &Path) {
    tracing::info!(
        target: "node",
        "the token of the first administrator is still in {}: keep it elsewhere, and remove the file",
        file.display()
    );
}

fn read(file: &Path) -> Option<Secret> {
    match fs::read_to_string(file).map(|text| text.parse::<Secret>()) {
        Ok(Ok(secret)) => Some(secret),
        Ok(Err(error)) => warn(file, &io::Error::other(error)),
        Err(error) => warn(file, &error),
    }
}

fn warn(file: &Path, error: &io::Error) -> Option<Secret> {
    tracing::warn!(
        target: "node",
        "the first token in {} cannot be read, so rights stay off: say 'tokenwood auth on' ({error})",
        file.display()
    );
    None
}

/// Rights were turned on with another token, or the token was removed since.
fn not_the_first(file: &Path) {
    _ = fs::remove_file(file);
    tracing::warn!(
        target: "node",
        "the token in {} counts for nothing and was removed: it was withdrawn, or another caller said 'tokenwood auth on' \
         before this node could. If that was a stranger, begin again with new certificates",
        file.display()
    );
}
