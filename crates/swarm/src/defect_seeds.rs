//! Every defect, with a seed that shows its effect. What a plan needs beyond the values drawn from the seed
//! (frequent changes of the leader, slow messages, long holds, …) is here, in one table.

use service::Defect;

use crate::plan::Plan;

/// How to see the effect of a defect.
#[derive(Clone, Copy, Debug)]
pub struct DefectSeed {
    /// The defect.
    pub defect: Defect,
    /// A seed that shows it.
    pub seed: u64,
    /// The values of the plan beyond those drawn from the seed.
    pub with: &'static str,
}

const fn shows(defect: Defect, seed: u64, with: &'static str) -> DefectSeed {
    DefectSeed { defect, seed, with }
}

/// One for each defect.
pub const DEFECT_SEEDS: [DefectSeed; 45] = [
    shows(
        Defect::CountedFromReceipt,
        436,
        "names=1,partitions=20,elections=12,lease=1000,section=3000,late-news=6,crashes=0,clients=15",
    ),
    shows(
        Defect::NoRound,
        17,
        "names=1,hop=300,late-news=6,elections=15,partitions=10,lease=1000,section=3000",
    ),
    shows(Defect::JoinsRunningRound, 1690, UNREST),
    shows(Defect::NewLeaderDoesNotWait, 2, ""),
    shows(Defect::QuietAfterRestart, 6329, SUCCESSIONS),
    shows(Defect::QuietestVoter, 589, SUCCESSION),
    shows(Defect::NoDrift, 27, "names=1,clients=15,partitions=20,pauses=0,lease=3000,section=3000"),
    shows(Defect::RenewsDuringExclusion, 3, "names=1,pauses=20,lease=1000,section=3000"),
    shows(
        Defect::ShorterAtOnce,
        2,
        "names=1,lease-changes=20,partitions=10,pauses=10,lease=3000,section=3000",
    ),
    shows(Defect::ExcludesOnSuspicion, 1, ""),
    shows(Defect::UnreachablePair, 2, "split=1,nodes=3,partitions=0,leaves=0,joins=0,crashes=0,pauses=0"),
    shows(Defect::MembersById, 2, "crashes=10"),
    shows(Defect::RestartReplaces, 62, "names=1,section=3000,crashes=12,clients=12"),
    shows(Defect::ReadmitsIncarnation, 0, "names=1,pauses=10,lease=1000"),
    shows(Defect::ResumesAfterExclusion, 2, ""),
    shows(Defect::QuorumOfEnds, 0, ""),
    shows(Defect::MintsEarly, 0, ""),
    shows(Defect::EndBeforeReport, 0, ""),
    shows(Defect::OldEndCounts, 8, ""),
    shows(Defect::FramesWithoutView, 1, ""),
    shows(Defect::ViewsBackwards, 19, "late-news=6"),
    shows(Defect::FenceWithoutView, 0, ""),
    shows(Defect::NoFloor, 0, ""),
    shows(Defect::OldQueuesKept, 1, ""),
    shows(Defect::UsedBeforeItsTurn, 0, "slice=1,names=4"),
    shows(Defect::LeavesWhileBusy, 5, "leaves=2"),
    shows(Defect::SlotFromTheStart, 6, "resizes=20"),
    shows(Defect::GrowsBlindly, 1, "resizes=20"),
    shows(Defect::BeyondLease, 3, "lease=1000,section=3000,partitions=10"),
    shows(Defect::NoMargin, 143, ""),
    shows(
        Defect::FreedAtLapse,
        16,
        "names=1,section=3000,partitions=15,lease=3000,groups=0,clients=15,slots=1",
    ),
    shows(Defect::FreedOnDisconnect, 1, ""),
    shows(Defect::ToldWithoutLease, 613, RECONNECTS),
    shows(Defect::ForcedAtOnce, 0, "forces=20"),
    shows(Defect::KeyNotChecked, 7, "strangers=50,names=1,section=3000"),
    shows(Defect::ClientVouches, 0, "strangers=5"),
    shows(Defect::SessionMoves, 1, ""),
    shows(Defect::ClientCountsFromReceipt, 243, SLOW),
    shows(Defect::ReplyNotMatched, 552, SLOWER),
    shows(Defect::ClientClockSleeps, 5, ""),
    shows(Defect::NodeClockSleeps, 50, "names=1,section=500,pauses=15,lease=1000"),
    shows(Defect::RoomMadeEmpty, 6, "names=1,section=3000,crashes=6,groups=2"),
    shows(Defect::OpenRoomNewFence, 46, "names=1,section=3000,crashes=12,groups=1,clients=12"),
    shows(Defect::CaptainKeepsFollowers, 5, "names=1,section=3000,groups=1"),
    shows(Defect::CompletesToCaptain, 15, "names=1,section=3000,groups=1"),
];

/// Messages of leaders are slow, and leaders change all the time.
const UNREST: &str = "names=1,nodes=3,clients=9,slots=1,groups=0,contradict=0,cuts=0,stalls=0,deaths=0,naps=0,crashes=0,pauses=0,\
    partitions=0,joins=0,leaves=0,elections=40,lease-changes=0,late-news=6,lease=3000,section=3000,lasts=60000";
/// Leaders change while nodes are partitioned.
const SUCCESSION: &str = "names=1,slots=1,groups=0,clients=15,crashes=0,pauses=0,partitions=20,joins=0,leaves=0,elections=15,\
    lease=3000,section=3000,lasts=60000";
/// The same, with more of both.
const SUCCESSIONS: &str = "names=1,slots=1,groups=0,clients=15,crashes=0,pauses=0,partitions=40,joins=0,leaves=0,elections=30,\
    lease=3000,section=3000,lasts=60000,nodes=4";
/// The only fault is that messages of clients are slow.
const SLOW: &str = "names=1,slots=1,deaths=0,crashes=0,pauses=0,partitions=0,joins=0,leaves=0,elections=0,lease-changes=0,\
    section=3000,client-hop=2500,lasts=60000";
/// The same, and connections hang and break.
const SLOWER: &str = "names=1,slots=1,deaths=0,crashes=0,pauses=0,partitions=0,joins=0,leaves=0,elections=0,lease-changes=0,\
    section=3000,client-hop=2500,lasts=60000,stalls=20,cuts=10";

/// Clients reconnect all the time, to nodes that pause for longer than a lease.
const RECONNECTS: &str = "names=12,slots=1,groups=0,contradict=0,nodes=4,clients=60,cuts=1200,stalls=0,deaths=0,naps=200,crashes=0,\
    pauses=20,partitions=0,joins=0,leaves=0,lease-changes=0,late-news=0,watchers=0,nonsense=0,lies=0,lease=3000,section=300";

impl DefectSeed {
    /// The entry of this defect.
    pub fn of(defect: Defect) -> DefectSeed {
        let found = DEFECT_SEEDS.iter().find(|entry| entry.defect == defect);
        *found.expect("there is one for each defect")
    }

    /// The plan from any seed, with or without the defect.
    pub fn plan(&self, seed: u64, defect: Option<Defect>) -> Plan {
        let mut plan = Plan { defect, resizes: 0, forces: 0, strangers: 0, ..Plan::drawn(seed) };
        plan.adjust(self.with).expect("what is written here can be planned");
        plan
    }
}
