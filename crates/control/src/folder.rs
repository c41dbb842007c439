//! The data folder: its owner, and the lock that keeps other processes out.
//!
//! A small text file says which cluster and node the folder belongs to. It is written before anything else,
//! and compared before anything else is touched: a folder that belongs to another node, was written by a
//! newer program, or is malformed stays unchanged.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The format of the folder that this program reads and writes.
pub const FORMAT: u32 = 1;

/// Only this user has access to the folder.
const FOLDER_RIGHTS: u32 = 0o700;
/// Only this user reads and writes the files in it.
const FILE_RIGHTS: u32 = 0o600;
/// What others may have been given.
const OTHERS_RIGHTS: u32 = 0o077;

const TITLE: &str = "tokenwood control data";
const IDENTITY: &str = "identity";
const LOCK: &str = "lock";
const DATABASE: &str = "control.redb";

/// The owner of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the cluster.
    pub cluster: String,
    /// The number that the cluster was given when it was founded; `None` until this node has heard of it.
    pub cluster_id: Option<u64>,
    /// The node.
    pub node: u32,
}

/// Why a folder cannot be used. It was not changed.
#[derive(Debug)]
pub enum FolderError {
    /// The operating system reports an error.
    Io {
        /// What was to be done, as a verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Another process has the folder open.
    InUse(PathBuf),
    /// The folder belongs to another cluster.
    OtherCluster {
        /// The folder.
        path: PathBuf,
        /// The cluster that the folder belongs to.
        found: String,
        /// The cluster of the configuration.
        wanted: String,
    },
    /// The folder belongs to another node.
    OtherNode {
        /// The folder.
        path: PathBuf,
        /// The node that the folder belongs to.
        found: u32,
        /// The node of the configuration.
        wanted: u32,
    },
    /// A newer program wrote the folder.
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// The format of the folder.
        found: u32,
    },
    /// The folder has files, but none that names its owner.
    NotOurs(PathBuf),
    /// A file in the folder is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        what: String,
    },
    /// The folder was removed or replaced while a node used it.
    Lost {
        /// The folder.
        path: PathBuf,
        /// What is missing, or is another's.
        what: &'static str,
    },
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FolderError::Io { doing, path, error } => write!(f, "cannot {doing} {}: {error}", path.display()),
            FolderError::InUse(path) => {
                write!(f, "{} is in use by another process: stop it, or name another folder", path.display())
            }
            FolderError::OtherCluster { path, found, wanted } => write!(
                f,
                "{} belongs to cluster '{found}', not to '{wanted}': name another folder, or start the node with \
                 --cluster {found}",
                path.display()
            ),
            FolderError::OtherNode { path, found, wanted } => {
                write!(
                    f,
                    "{} belongs to node {found}, not to {wanted}: name the folder of node {wanted}, or start this \
                     one without --id",
                    path.display()
                )
            }
            FolderError::NewerFormat { path, found } => write!(
                f,
                "{} has format {found}, and this program supports at most {FORMAT}: start a newer one",
                path.display()
            ),
            FolderError::NotOurs(path) => write!(
                f,
                "{} is not empty and has no file '{IDENTITY}': name an empty folder, or restore that file",
                path.display()
            ),
            FolderError::Damaged { path, what } => write!(
                f,
                "{} is damaged ({what}): move the folder away and let the node join again, under a new id \
                 ('tokenwood members invite')",
                path.display()
            ),
            FolderError::Lost { path, what } => write!(
                f,
                "the data folder {} was removed or replaced while the node ran ({what}), and what the node promised \
                 with it: put the folder back and start the node again, or remove it ('tokenwood members remove ID') \
                 and invite a new one ('tokenwood members invite')",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FolderError {}

/// A data folder that is ours, and locked.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) identity: Identity,
    /// Drawn when the folder was made, and also in its database, so that no database is taken for another.
    pub(crate) mark: u64,
    /// Whether a database has been made in it. Before that, none can be missing.
    has_database: bool,
    /// Locked as long as it is open.
    _lock: File,
}

impl Folder {
    /// Opens a folder, or makes it ours if it is empty or not there. If others have rights to it, that is said.
    pub(crate) fn open(path: &Path, cluster: &str, node: u32) -> Result<Folder, FolderError> {
        let folder = Folder::take(path, cluster, node)?;
        match others_rights(path) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => tracing::warn!(
                target: "control",
                "other users have access to {}, where secrets are kept: run chmod -R go-rwx {}",
                found.join(", "),
                quoted(path)
            ),
            Err(error) => tracing::warn!(
                target: "control",
                "cannot check the permissions of {}: {error}",
                path.display()
            ),
        }
        Ok(folder)
    }

    fn take(path: &Path, cluster: &str, node: u32) -> Result<Folder, FolderError> {
        let io = |doing| move |error| FolderError::Io { doing, path: path.to_owned(), error };
        make(path).map_err(io("create the folder"))?;
        let text = match fs::read(path.join(IDENTITY)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("read the identity in")(error)),
        };
        if text.is_none() && has_foreign_files(path).map_err(io("list"))? {
            return Err(FolderError::NotOurs(path.to_owned()));
        }
        let lock = lock(path)?;
        // Read again: until the lock was ours, another process may have written it.
        let text = fs::read(path.join(IDENTITY)).ok().or(text);
        let Some(text) = text else {
            let identity = Identity { cluster: cluster.to_owned(), cluster_id: None, node };
            let mark = drawn().map_err(io("draw a random number for"))?;
            let path = path.to_owned();
            let folder = Folder { path, identity, mark, has_database: false, _lock: lock };
            folder.write()?;
            return Ok(folder);
        };
        let (identity, mark, has_database) = parse(path, &text)?;
        if identity.cluster != cluster {
            let (found, wanted) = (identity.cluster, cluster.to_owned());
            return Err(FolderError::OtherCluster { path: path.to_owned(), found, wanted });
        }
        if identity.node != node {
            let (found, wanted) = (identity.node, node);
            return Err(FolderError::OtherNode { path: path.to_owned(), found, wanted });
        }
        let folder = Folder { path: path.to_owned(), identity, mark, has_database, _lock: lock };
        if has_database && !folder.database().exists() {
            return Err(folder.damaged("it is missing"));
        }
        Ok(folder)
    }

    /// Where the database is.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Whether the database was created. If not, any database file in the folder was never used.
    pub(crate) fn has_database(&self) -> bool {
        self.has_database
    }

    /// From now on the database may not be missing.
    pub(crate) fn database_was_made(&mut self) -> Result<(), FolderError> {
        self.has_database = true;
        self.write()
    }

    /// The cluster has this number.
    pub(crate) fn belongs_to(&mut self, cluster_id: u64) -> Result<(), FolderError> {
        self.identity.cluster_id = Some(cluster_id);
        self.write()
    }

    /// The database is damaged.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> FolderError {
        FolderError::Damaged { path: self.database(), what: what.into() }
    }

    /// Begins a file that only this user reads: secrets of invitations are in it.
    pub(crate) fn new_file(&self, path: &Path) -> io::Result<File> {
        File::options().read(true).write(true).create(true).truncate(true).mode(FILE_RIGHTS).open(path)
    }

    /// Writes a new file beside the old one and puts it in its place, so that there is always a whole one.
    fn write(&self) -> Result<(), FolderError> {
        let (file, new) = (self.path.join(IDENTITY), self.path.join("identity.new"));
        let write = || {
            let mut writing = self.new_file(&new)?;
            writing.write_all(text(&self.identity, self.mark, self.has_database).as_bytes())?;
            writing.sync_all()?;
            fs::rename(&new, &file)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| FolderError::Io { doing: "write", path: file.clone(), error })
    }
}

/// Notices that a folder in use was removed or replaced: what was written since is not where it will be looked for.
#[derive(Clone, Debug)]
pub(crate) struct FolderGuard {
    path: PathBuf,
    mark: u64,
    lock: FileNumber,
    database: FileNumber,
}

/// The device and the number of a file, which stay as long as it exists.
type FileNumber = (u64, u64);

fn file_number(path: &Path) -> io::Result<FileNumber> {
    fs::metadata(path).map(|about| (about.dev(), about.ino()))
}

impl FolderGuard {
    /// For a folder that was opened, with this mark.
    pub(crate) fn new(path: &Path, mark: u64) -> Result<FolderGuard, FolderError> {
        let io = |error| FolderError::Io { doing: "look at the files in", path: path.to_owned(), error };
        let number = |name| file_number(&path.join(name)).map_err(io);
        let (lock, database) = (number(LOCK)?, number(DATABASE)?);
        // The program may change its working directory.
        let path = path.canonicalize().map_err(io)?;
        Ok(FolderGuard { path, mark, lock, database })
    }

    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// What is wrong, if the folder is not the one that was opened. An error that may pass says nothing.
    pub(crate) fn lost(&self) -> Option<FolderError> {
        let is_another = |name, number| match file_number(&self.path.join(name)) {
            Ok(found) => found != number,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let identity = match fs::read(self.path.join(IDENTITY)) {
            Ok(text) => parse(&self.path, &text).is_ok_and(|(_, mark, _)| mark == self.mark),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        let what = if !self.path.exists() {
            "it is gone"
        } else if !identity {
            "its file 'identity' is gone or another's"
        } else if is_another(DATABASE, self.database) {
            "its file 'control.redb' is gone or another's"
        } else if is_another(LOCK, self.lock) {
            "its file 'lock' is gone or another's"
        } else {
            return None;
        };
        Some(FolderError::Lost { path: self.path.clone(), what })
    }
}

/// Whose a folder is; `None` if it is empty or not there. Nothing is changed, and nothing is locked.
pub fn whose(path: &Path) -> Result<Option<Identity>, FolderError> {
    match fs::read(path.join(IDENTITY)) {
        Ok(text) => parse(path, &text).map(|(identity, ..)| Some(identity)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FolderError::Io { doing: "read the identity in", path: path.to_owned(), error }),
    }
}

/// The file that says whose a folder is.
fn text(Identity { cluster, cluster_id, node }: &Identity, mark: u64, has_database: bool) -> String {
    let id = cluster_id.map_or("none".to_owned(), |id| format!("{id:016x}"));
    let text = format!(
        "{TITLE}\nformat {FORMAT}\ncluster {cluster}\ncluster-id {id}\nnode {node}\nmark {mark:016x}\ndatabase {has_database}\n"
    );
    format!("{text}check {:016x}\n", service::name::number(&text))
}

/// An unpredictable random number: invitations are secret.
pub(crate) fn drawn() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::getrandom(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Creates a folder that only this user has access to. An existing folder stays as it is.
fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(FOLDER_RIGHTS).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// The folder and what is in it, as far as other users have rights to it; not more than a line of them.
fn others_rights(path: &Path) -> io::Result<Vec<String>> {
    const MOST: usize = 5;
    let exposed = |path: &Path, rights: fs::Permissions| {
        let rights = rights.mode() & 0o777;
        (rights & OTHERS_RIGHTS != 0).then(|| format!("{} (mode {rights:o})", path.display()))
    };
    let mut found = Vec::from_iter(exposed(path, fs::metadata(path)?.permissions()));
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let about = entry.metadata()?;
        // A link has all rights, and they say nothing.
        if !about.is_symlink() {
            found.extend(exposed(Path::new(&entry.file_name()), about.permissions()));
        }
    }
    if found.len() > MOST {
        let more = found.len() - MOST;
        found.truncate(MOST);
        found.push(format!("{more} more"));
    }
    Ok(found)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%,:=".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn lock(path: &Path) -> Result<File, FolderError> {
    let path_of_lock = path.join(LOCK);
    let io = |error| FolderError::Io { doing: "lock", path: path_of_lock.clone(), error };
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(FILE_RIGHTS)
        .open(&path_of_lock)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FolderError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Whether there is anything in a folder but what an interrupted first start leaves behind.
fn has_foreign_files(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != LOCK && name != "identity.new" {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parse(path: &Path, text: &[u8]) -> Result<(Identity, u64, bool), FolderError> {
    let damaged = |what: &str| FolderError::Damaged { path: path.join(IDENTITY), what: what.to_owned() };
    let text = std::str::from_utf8(text).map_err(|_| damaged("it is not text"))?;
    let mut lines = text.lines();
    let mut field = |name: &str| {
        let line = lines.next().and_then(|line| line.strip_prefix(name));
        line.ok_or_else(|| damaged(&format!("no line '{}'", name.trim_end())))
    };
    field(TITLE)?;
    let format: u32 = field("format ")?.parse().map_err(|_| damaged("the format is not a number"))?;
    if format > FORMAT {
        return Err(FolderError::NewerFormat { path: path.to_owned(), found: format });
    }
    let cluster = field("cluster ")?.to_owned();
    let id = field("cluster-id ")?;
    let node = field("node ")?.parse();
    let mark = u64::from_str_radix(field("mark ")?, 16);
    let has_database = field("database ")?.parse();
    let cluster_id = match id {
        "none" => None,
        id => Some(u64::from_str_radix(id, 16).map_err(|_| damaged("the cluster id is not a number"))?),
    };
    let (Ok(node), Ok(mark), Ok(has_database)) = (node, mark, has_database) else {
        return Err(damaged("a value is not of its type"));
    };
    let identity = Identity { cluster, cluster_id, node };
    if text != self::text(&identity, mark, has_database) {
        return Err(damaged("its checksum is wrong"));
    }
    Ok((identity, mark, has_database))
}
