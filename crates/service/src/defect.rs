//! What looks like a simplification of the protocol and is none. Each rule that can be left out is here by name, so that
//! whoever doubts it can leave it out and see what comes of it: `tokenwood swarm --defect NAME`.

macro_rules! defects {
    ($($variant:ident: $name:literal, $about:literal;)*) => {
        /// A rule that can be left out, to see that it is needed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Defect {
            $(#[doc = $about] $variant,)*
        }

        impl Defect {
            /// All of them.
            pub const ALL: &[Defect] = &[$(Defect::$variant,)*];

            /// Its name, as it is typed.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Defect::$variant => $name,)*
                }
            }

            /// What is done without the rule.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Defect::$variant => $about,)*
                }
            }
        }
    };
}

defects! {
    // What leaders decide, and what nodes make of it.
    CountedFromReceipt: "counted-from-receipt", "A node counts its lease from when the confirmation came.";
    NoRound: "no-round", "The leader confirms without asking whether it still leads.";
    JoinsRunningRound: "joins-running-round", "A renewal that comes while a round runs is confirmed by it.";
    NewLeaderDoesNotWait: "new-leader-does-not-wait", "A new leader counts every member as lost that has not renewed under it.";
    QuietAfterRestart: "quiet-after-restart", "A voter that has started again says that it has long helped nobody to lead.";
    QuietestVoter: "quietest-voter", "A new leader goes by the voter that has been quiet for longest.";
    NoDrift: "no-drift", "The leader waits as long as a lease lasts on its own clock.";
    RenewsDuringExclusion: "renews-during-exclusion", "A member that is about to be left out can still renew.";
    ShorterAtOnce: "shorter-at-once", "A shorter lease is agreed on while a node may still count on a longer one.";
    ExcludesOnSuspicion: "excludes-on-suspicion", "The leader excludes every member that has missed two renewals.";
    UnreachablePair: "unreachable-pair", "Two members that do not reach each other both stay.";
    MembersById: "members-by-id", "A node that has started again is taken for the member that it was.";
    RestartReplaces: "restart-replaces", "A node that has started again replaces the member that it was at once.";
    ReadmitsIncarnation: "readmits-incarnation", "A node that was excluded joins again in the same incarnation.";
    ResumesAfterExclusion: "resumes-after-exclusion", "A node that was left out goes on with what it has in its next life.";
    // Views and tokens.
    QuorumOfEnds: "quorum-of-ends", "A home waits for the end marks of a majority.";
    MintsEarly: "mints-early", "A home makes what it does not have without waiting for anybody.";
    EndBeforeReport: "end-before-report", "A node says that it has reported everything, and then reports.";
    OldEndCounts: "old-end-counts", "An end mark of an earlier view counts in this one.";
    FramesWithoutView: "frames-without-view", "Messages of an earlier view are taken for messages of this one.";
    ViewsBackwards: "views-backwards", "A node enters whatever view it hears of, earlier ones too.";
    FenceWithoutView: "fence-without-view", "Fences are counters and do not begin with the number of the view.";
    NoFloor: "no-floor", "Nothing is kept of the counters of what is forgotten.";
    OldQueuesKept: "old-queues-kept", "A token keeps its queue from one view to the next.";
    UsedBeforeItsTurn: "used-before-its-turn", "A name that has not been brought into the view yet is used as in the view before.";
    LeavesWhileBusy: "leaves-while-busy", "A node says goodbye while clients believe that they hold something there.";
    // Names that get more slots or fewer.
    SlotFromTheStart: "slot-from-the-start", "A slot that is made again starts as if it had never been there.";
    GrowsBlindly: "grows-blindly", "All new slots are made, also those that another node still has from before.";
    // Sessions and clients.
    BeyondLease: "beyond-lease", "A node promises what its clients ask for, however short its own lease is.";
    NoMargin: "no-margin", "A node waits for the end of a promise on its own clock, without an allowance for others.";
    FreedAtLapse: "freed-at-lapse", "A node whose lease has run out ends its sessions at once.";
    FreedOnDisconnect: "freed-on-disconnect", "A connection that breaks ends the session.";
    ToldWithoutLease: "told-without-lease", "A node whose lease has run out tells clients again what they were granted.";
    ForcedAtOnce: "forced-at-once", "What is taken away by force is given away before its holder has heard of it.";
    SessionMoves: "session-moves", "Clients go on at any node, where sessions are known by their numbers alone.";
    ClientCountsFromReceipt: "client-counts-from-receipt", "A client counts a promise from when it came.";
    ReplyNotMatched: "reply-not-matched", "A client takes any promise for the answer to its last keep-alive.";
    ClientClockSleeps: "client-clock-sleeps", "The clock of a client does not count time asleep.";
    NodeClockSleeps: "node-clock-sleeps", "The clock of a node does not count time asleep.";
    // Rooms.
    RoomMadeEmpty: "room-made-empty", "A room's token is made anew without those who are inside.";
    OpenRoomNewFence: "open-room-new-fence", "A room's token that is made anew while the room is open has a new fence.";
    CaptainKeepsFollowers: "captain-keeps-followers", "A captain waits for its followers of the view before.";
    CompletesToCaptain: "completes-to-captain", "Who is inside by an opening of a view before tells its captain of then.";
}

impl Defect {
    /// The defect of this name.
    pub fn named(name: &str) -> Option<Defect> {
        Defect::ALL.iter().copied().find(|defect| defect.name() == name)
    }
}
