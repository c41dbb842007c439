//! Which nodes may talk to each other, decided from the hellos alone.

use service::Identity;
use service::view::View;

use crate::wire::{Hello, HelloRefusal, Versions};

/// What a node knows of itself when it greets others.
#[derive(Clone, Debug)]
pub struct Local {
    /// The cluster it belongs to.
    pub cluster: String,
    /// This node.
    pub me: Identity,
    /// What it speaks.
    pub versions: Versions,
}

/// Whether `caller` calls `called`, rather than the other way round: of two nodes, the one with the lower id does.
pub fn calls(caller: Identity, called: Identity) -> bool {
    caller.id < called.id
}

impl Local {
    /// The hello to a peer.
    pub fn hello(&self, to: Identity, epoch: u64, received: u64) -> Hello {
        let Local { cluster, me, versions } = self.clone();
        Hello { versions, cluster, epoch, from: me, to, received }
    }

    /// Judges the hello of a caller: the version to speak, or why not to.
    pub fn judge_caller(&self, hello: &Hello, view: &View) -> Result<u8, HelloRefusal> {
        let (caller, called) = (hello.versions, self.versions);
        let version = caller.common(called).ok_or(HelloRefusal::Versions { caller, called })?;
        if hello.cluster != self.cluster {
            let (caller, called) = (hello.cluster.clone(), self.cluster.clone());
            return Err(HelloRefusal::Cluster { caller, called });
        }
        if hello.to != self.me {
            return Err(HelloRefusal::Mistaken { wanted: hello.to, called: self.me });
        }
        if !view.members.iter().any(|member| member.identity == hello.from) {
            return Err(HelloRefusal::NotAMember { caller: hello.from, epoch: view.epoch });
        }
        if !calls(hello.from, self.me) {
            return Err(HelloRefusal::WrongDirection);
        }
        Ok(version)
    }

    /// Judges the hello of a peer that was called: the version to speak, or why not to.
    pub fn judge_called(&self, hello: &Hello, wanted: Identity) -> Result<u8, HelloRefusal> {
        let (caller, called) = (self.versions, hello.versions);
        let version = caller.common(called).ok_or(HelloRefusal::Versions { caller, called })?;
        if hello.cluster != self.cluster {
            let (caller, called) = (self.cluster.clone(), hello.cluster.clone());
            return Err(HelloRefusal::Cluster { caller, called });
        }
        if hello.from != wanted || hello.to != self.me {
            return Err(HelloRefusal::Impostor { wanted, answered: hello.from });
        }
        Ok(version)
    }
}
