//! Defects: rules of the protocol that look optional and are not. Each can be left out by name, to see the
//! consequence: `tokenwood swarm --defect NAME`.

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
    CountedFromReceipt: "counted-from-receipt", "A node counts its lease from when it received the confirmation.";
    NoRound: "no-round", "The leader confirms renewals without proving that it still leads.";
    JoinsRunningRound: "joins-running-round", "A renewal that comes while a round runs is confirmed by that round.";
    NewLeaderDoesNotWait: "new-leader-does-not-wait", "A new leader counts every member as lost that has not renewed under it.";
    QuietAfterRestart: "quiet-after-restart", "A voter that has restarted says that it has helped no leader for long.";
    QuietestVoter: "quietest-voter", "A new leader counts from the voter that has been quiet for longest.";
    NoDrift: "no-drift", "The leader waits only as long as a lease lasts on its own clock.";
    RenewsDuringExclusion: "renews-during-exclusion", "A member that is about to be excluded can still renew.";
    ShorterAtOnce: "shorter-at-once", "A shorter lease is committed while a node may still count on a longer one.";
    ExcludesOnSuspicion: "excludes-on-suspicion", "The leader excludes every member that has missed two renewals.";
    UnreachablePair: "unreachable-pair", "Two members that do not reach each other both stay.";
    MembersById: "members-by-id", "A restarted node is taken for the member that it was.";
    RestartReplaces: "restart-replaces", "A restarted node replaces the member that it was at once.";
    ReadmitsIncarnation: "readmits-incarnation", "An excluded node joins again in the same incarnation.";
    ResumesAfterExclusion: "resumes-after-exclusion", "An excluded node keeps what it has in its next incarnation.";
    // Views and tokens.
    QuorumOfEnds: "quorum-of-ends", "A home waits for the end marks of a majority only.";
    MintsEarly: "mints-early", "A home mints what it does not have without waiting for end marks.";
    EndBeforeReport: "end-before-report", "A node sends its end marks before its reports.";
    OldEndCounts: "old-end-counts", "An end mark of an earlier view counts in this one.";
    FramesWithoutView: "frames-without-view", "Messages of an earlier view are taken for messages of this one.";
    ViewsBackwards: "views-backwards", "A node enters any view it hears of, also earlier ones.";
    FenceWithoutView: "fence-without-view", "Fences are counters and do not begin with the epoch.";
    NoFloor: "no-floor", "Nothing is kept of the counters of forgotten names.";
    OldQueuesKept: "old-queues-kept", "A token keeps its queue from one view to the next.";
    UsedBeforeItsTurn: "used-before-its-turn", "A name that has not been brought into the view yet is used as in the view before.";
    LeavesWhileBusy: "leaves-while-busy", "A node says goodbye while its clients hold something.";
    // Names that get more slots or fewer.
    SlotFromTheStart: "slot-from-the-start", "A slot that is minted again starts as if it had never existed.";
    GrowsBlindly: "grows-blindly", "All new slots are minted, also those that another node still has from before.";
    // Sessions and clients.
    BeyondLease: "beyond-lease", "A node promises the full ttl, however short its own lease is.";
    NoMargin: "no-margin", "A node waits for the end of a promise on its own clock, without an allowance for others.";
    FreedAtLapse: "freed-at-lapse", "A node whose lease has run out ends its sessions at once.";
    FreedOnDisconnect: "freed-on-disconnect", "A broken connection ends the session.";
    ToldWithoutLease: "told-without-lease", "A node whose lease has run out repeats grants to its clients.";
    ForcedAtOnce: "forced-at-once", "A revoked slot is granted again before its holder has heard of it.";
    KeyNotChecked: "key-not-checked", "A node does not check the key of a session: its number is enough to name it.";
    ClientVouches: "client-vouches", "A node believes any client that says for whom it speaks, as if it were a node.";
    SessionMoves: "session-moves", "Clients continue at any node, where sessions are known by their numbers alone.";
    ClientCountsFromReceipt: "client-counts-from-receipt", "A client counts a promise from when it received it.";
    ReplyNotMatched: "reply-not-matched", "A client takes any promise for the answer to its last keep-alive.";
    ClientClockSleeps: "client-clock-sleeps", "The clock of a client does not count time asleep.";
    NodeClockSleeps: "node-clock-sleeps", "The clock of a node does not count time asleep.";
    // Rooms.
    RoomMadeEmpty: "room-made-empty", "A room's token is minted without its holders.";
    OpenRoomNewFence: "open-room-new-fence", "A room's token that is minted while the room is open gets a new fence.";
    CaptainKeepsFollowers: "captain-keeps-followers", "A captain waits for its followers of the view before.";
    CompletesToCaptain: "completes-to-captain", "A node whose clients hold a room from an earlier view completes to the captain of that view.";
}

impl Defect {
    /// The defect of this name.
    pub fn named(name: &str) -> Option<Defect> {
        Defect::ALL.iter().copied().find(|defect| defect.name() == name)
    }
}
