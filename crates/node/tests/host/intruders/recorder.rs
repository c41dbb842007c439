//! A proxy that records what goes through it, and can change one bit of what the caller says.

use std::sync::{Arc, Mutex};

use sync::IgnorePoison;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::caller::dial;

pub(super) struct Recorder {
    pub(super) address: String,
    recording: Arc<Mutex<Recording>>,
    /// Ends the connection when it is dropped.
    _task: JoinSet<()>,
}

/// What went through, in both directions.
#[derive(Clone, Default)]
pub(super) struct Recording {
    pub(super) said: Vec<u8>,
    pub(super) heard: Vec<u8>,
}

impl Recorder {
    /// Forwards one connection to a node. The caller's bit of this number is flipped on its way.
    pub(super) async fn start(target: &str, flipped: Option<usize>) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let recording = Arc::new(Mutex::new(Recording::default()));
        let (shared, target) = (recording.clone(), target.to_owned());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let (Ok((near, _)), Ok(far)) = (listener.accept().await, dial(&target).await) else {
                return;
            };
            carry(near, far, &shared, flipped).await;
        });
        Recorder { address, recording, _task: task }
    }

    pub(super) fn recording(&self) -> Recording {
        self.recording.lock().ignore_poison().clone()
    }
}

async fn carry(mut near: TcpStream, mut far: TcpStream, shared: &Mutex<Recording>, flipped: Option<usize>) {
    let (mut there, mut back) = ([0; 4096], [0; 4096]);
    loop {
        let carried = tokio::select! {
            read = near.read(&mut there) => match read {
                Ok(count @ 1..) => {
                    let begun = shared.lock().ignore_poison().said.len();
                    let bit = flipped.and_then(|bit| bit.checked_sub(8 * begun)).filter(|bit| *bit < 8 * count);
                    bit.into_iter().for_each(|bit| there[bit / 8] ^= 1 << (bit % 8));
                    shared.lock().ignore_poison().said.extend_from_slice(&there[..count]);
                    far.write_all(&there[..count]).await
                }
                _ => return,
            },
            read = far.read(&mut back) => match read {
                Ok(count @ 1..) => {
                    shared.lock().ignore_poison().heard.extend_from_slice(&back[..count]);
                    near.write_all(&back[..count]).await
                }
                _ => return,
            },
        };
        if carried.is_err() {
            return;
        }
    }
}

impl Recording {
    /// Where each record of what was said begins.
    pub(super) fn records(&self) -> Vec<usize> {
        let (mut begins, mut at) = (Vec::new(), 0);
        while let Some(header) = self.said.get(at..at + RECORD_HEADER) {
            begins.push(at);
            at += RECORD_HEADER + usize::from(u16::from_be_bytes([header[3], header[4]]));
        }
        begins
    }

    /// Bytes of what was said, as many as that, from all parts of it. The kind and the version in the header of a record are not
    /// among them: the kind and the version that count are inside, encrypted, and rustls takes some others there.
    pub(super) fn samples(&self, most: usize) -> Vec<usize> {
        let records = self.records();
        let does_not_count = |at: usize| records.iter().any(|begin| (*begin..begin + 3).contains(&at));
        let step = self.said.len().div_ceil(most);
        let around = records.iter().flat_map(|begin| [begin + 3, begin + RECORD_HEADER]);
        let mut samples: Vec<usize> = (0..self.said.len()).step_by(step).chain(around).collect();
        samples.retain(|at| *at < self.said.len() && !does_not_count(*at));
        samples
    }
}

/// A kind, a version, and a length.
const RECORD_HEADER: usize = 5;
