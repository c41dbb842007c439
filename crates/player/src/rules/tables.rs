//! Which rule handles which input of which algorithm. The first row that fits counts. A test takes every input of every
//! algorithm and asks for its rule.

use super::On::{Cancel, Exit, Message, Request, Restart, Timer};
use super::When::{Enters, Idle, Inside, NoToken, Pointer, Sends, Silent, Token, Waits};
use super::{Row, Table, Then};

/// The table of the algorithm of this name.
pub(super) fn of(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|(known, _)| *known == name).map(|(_, table)| table)
}

/// Mutexes with one token, then permissions and quorums, then several tokens, then what the lock service runs.
const TABLES: &[(&str, Table)] = &[
    (
        "naimi-trehel",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Pointer("father")], 2, 0),
                Row(Message("REQUEST"), &[], 3, 0),
                Row(Message("TOKEN"), &[], 4, 0),
                Row(Exit, &[], 5, 0),
            ],
            then: &[],
        },
    ),
    (
        "neilsen-mizuno",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("PRIVILEGE"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "raymond-tree",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Exit, &[], 1, 0),
                Row(Message("REQUEST"), &[], 1, 0),
                Row(Message("PRIVILEGE"), &[], 1, 0),
            ],
            then: &[Then(&[Enters], 2), Then(&[Sends("PRIVILEGE")], 2), Then(&[Sends("REQUEST")], 3)],
        },
    ),
    (
        "suzuki-kasami",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("TOKEN"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "singhal-heuristic",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Sends("HINT")], 3, 0),
                Row(Message("REQUEST"), &[Sends("TOKEN")], 2, 3),
                Row(Message("REQUEST"), &[Waits], 2, 2),
                Row(Message("REQUEST"), &[Token, Idle], 3, 0),
                Row(Message("REQUEST"), &[], 2, 1),
                Row(Message("HINT"), &[], 4, 0),
                Row(Message("TOKEN"), &[], 5, 0),
                Row(Exit, &[], 6, 0),
            ],
            then: &[],
        },
    ),
    (
        "banerjee-chrysanthis",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Pointer("collector"), Sends("REQUEST")], 2, 3),
                Row(Message("REQUEST"), &[Pointer("collector")], 2, 2),
                Row(Message("REQUEST"), &[], 2, 1),
                Row(Timer(0), &[], 4, 0),
                Row(Message("NEW"), &[], 5, 0),
                Row(Message("TOKEN"), &[], 5, 0),
                Row(Exit, &[], 6, 0),
            ],
            then: &[Then(&[Sends("NEW")], 4)],
        },
    ),
    (
        "helary",
        Table {
            rows: &[
                Row(Request, &[Enters], 2, 0),
                Row(Request, &[Sends("REQUEST")], 2, 0),
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Silent], 1, 0),
                Row(Message("REQUEST"), &[], 3, 0),
                Row(Message("TOKEN"), &[Enters], 5, 2),
                Row(Message("TOKEN"), &[Sends("TOKEN")], 5, 3),
                Row(Message("TOKEN"), &[], 5, 1),
                Row(Exit, &[], 6, 0),
            ],
            then: &[],
        },
    ),
    (
        "lacbt",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 1, 0),
                Row(Message("TOKEN"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
                Row(Message("RETURN"), &[], 4, 0),
                Row(Message("ROOT"), &[], 6, 0),
                Row(Message("PARENT"), &[], 7, 0),
            ],
            then: &[Then(&[Sends("TOKEN")], 2), Then(&[Sends("ROOT")], 5)],
        },
    ),
    (
        "drs-gme",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Token], 2, 0),
                Row(Message("REQUEST"), &[NoToken], 3, 0),
                Row(Exit, &[Token], 4, 0),
                Row(Exit, &[NoToken], 7, 0),
                Row(Message("TOKEN"), &[], 5, 0),
                Row(Message("START"), &[], 7, 0),
                Row(Message("IS_COMPLETE"), &[], 7, 0),
                Row(Message("COMPLETE"), &[], 4, 0),
                Row(Message("HINT"), &[], 8, 0),
                Row(Message("GEN_TOKEN"), &[Token], 2, 0),
                Row(Message("GEN_TOKEN"), &[], 9, 0),
                Row(Timer(0), &[], 9, 0),
                Row(Timer(1), &[], 10, 0),
                Row(Restart, &[], 11, 0),
            ],
            then: &[Then(&[Sends("TOKEN")], 4), Then(&[Sends("START")], 6)],
        },
    ),
    (
        "lamport",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Message("RELEASE"), &[], 4, 0),
                Row(Exit, &[], 6, 0),
            ],
            then: &[Then(&[Enters], 5)],
        },
    ),
    (
        "ricart-agrawala",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "ra1",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "carvalho-roucairol",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Silent], 2, 1),
                Row(Message("REQUEST"), &[], 2, 2),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "singhal-dynamic",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Silent], 2, 1),
                Row(Message("REQUEST"), &[Idle], 2, 2),
                Row(Message("REQUEST"), &[], 2, 3),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[],
        },
    ),
    (
        "lodha-kshemkalyani",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[Idle], 2, 1),
                Row(Message("REQUEST"), &[Inside], 2, 2),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Message("FLUSH"), &[], 4, 0),
                Row(Exit, &[], 7, 0),
            ],
            then: &[Then(&[Enters], 6)],
        },
    ),
    (
        "raymond-k",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("REPLY"), &[], 3, 0),
                Row(Exit, &[], 5, 0),
            ],
            then: &[Then(&[Enters], 4)],
        },
    ),
    (
        "maekawa",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("LOCKED"), &[], 2, 0),
                Row(Message("FAILED"), &[], 3, 0),
                Row(Message("INQUIRE"), &[], 4, 0),
                Row(Exit, &[], 6, 0),
                Row(Message("REQUEST"), &[Sends("INQUIRE")], 7, 1),
                Row(Message("REQUEST"), &[Sends("FAILED")], 7, 2),
                Row(Message("REQUEST"), &[], 7, 0),
                Row(Message("RELINQUISH"), &[], 8, 0),
                Row(Message("RELEASE"), &[], 9, 0),
            ],
            then: &[Then(&[Sends("RELINQUISH")], 5)],
        },
    ),
    (
        "k-majority",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("LOCKED"), &[], 2, 0),
                Row(Message("FAILED"), &[], 3, 0),
                Row(Message("INQUIRE"), &[], 4, 0),
                Row(Exit, &[], 6, 0),
                Row(Message("REQUEST"), &[], 7, 0),
                Row(Message("RELINQUISH"), &[], 8, 0),
                Row(Message("RELEASE"), &[], 9, 0),
            ],
            then: &[Then(&[Sends("RELINQUISH")], 5)],
        },
    ),
    (
        "bulgannawar-vaidya",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Exit, &[], 2, 0),
                Row(Message("REQUEST"), &[Token], 3, 0),
                Row(Message("REQUEST"), &[NoToken], 4, 0),
                Row(Message("TOKEN"), &[], 5, 0),
                Row(Message("INFORM"), &[], 6, 0),
            ],
            then: &[],
        },
    ),
    (
        "srimani-reddy",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQUEST"), &[], 2, 0),
                Row(Message("PRIVILEGE"), &[], 3, 0),
                Row(Exit, &[], 4, 0),
            ],
            then: &[Then(&[Inside, Sends("PRIVILEGE")], 5), Then(&[Sends("PRIVILEGE")], 6)],
        },
    ),
    (
        "makki",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("TOKEN"), &[], 2, 0),
                Row(Exit, &[], 4, 0),
                Row(Message("RELEASE"), &[], 5, 0),
                Row(Timer(0), &[], 6, 0),
                Row(Message("REQUEST"), &[], 7, 0),
                Row(Message("UPDATE"), &[], 8, 0),
            ],
            then: &[Then(&[Enters], 3), Then(&[Sends("UPDATE")], 6)],
        },
    ),
    // The same state machine, whose global collector never moves.
    (
        "chaudhuri-edward",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQ"), &[], 2, 0),
                Row(Message("GREQ"), &[], 3, 0),
                Row(Message("RET"), &[], 4, 0),
                Row(Timer(0), &[], 5, 0),
                Row(Message("GRANT"), &[], 6, 0),
                Row(Message("TOKEN"), &[], 7, 0),
                Row(Exit, &[], 7, 0),
                Row(Message("HOME"), &[], 7, 0),
            ],
            then: &[Then(&[Sends("GREQ")], 2), Then(&[Sends("GRANT")], 4)],
        },
    ),
    (
        "collectors",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Message("REQ"), &[], 2, 0),
                Row(Message("GREQ"), &[Pointer("global collector")], 10, 0),
                Row(Message("GREQ"), &[], 3, 0),
                Row(Message("RET"), &[Pointer("global collector")], 10, 0),
                Row(Message("RET"), &[], 4, 0),
                Row(Timer(0), &[], 5, 0),
                Row(Message("GRANT"), &[], 6, 0),
                Row(Message("TOKEN"), &[], 7, 0),
                Row(Exit, &[], 7, 0),
                Row(Message("HOME"), &[], 7, 0),
                Row(Message("OVER"), &[], 9, 0),
                Row(Message("NEW"), &[], 9, 0),
            ],
            then: &[Then(&[Sends("GREQ")], 2), Then(&[Sends("GRANT")], 4), Then(&[Sends("OVER")], 9)],
        },
    ),
    (
        "forest",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Cancel, &[], 1, 0),
                Row(Exit, &[], 1, 0),
                Row(Message("REQUEST"), &[], 4, 0),
                Row(Message("TOKEN"), &[], 5, 0),
                Row(Timer(0), &[], 6, 0),
                Row(Timer(1), &[], 6, 0),
                Row(Message("HUNGRY"), &[], 7, 0),
                Row(Message("IDLE"), &[], 7, 0),
                Row(Message("OFFER"), &[], 8, 0),
                Row(Message("MOVE"), &[], 9, 0),
                Row(Timer(2), &[], 10, 0),
                Row(Timer(3), &[], 11, 0),
                Row(Message("FORGET"), &[], 11, 0),
                Row(Message("INFORM"), &[], 12, 0),
                Row(Timer(4), &[], 2, 0),
                Row(Message("INVITE"), &[], 2, 0),
            ],
            then: &[Then(&[Enters], 2), Then(&[Idle, Sends("REQUEST")], 2), Then(&[Sends("TOKEN")], 3)],
        },
    ),
    (
        "rooms",
        Table {
            rows: &[
                Row(Request, &[], 1, 0),
                Row(Cancel, &[], 2, 0),
                Row(Exit, &[], 3, 0),
                Row(Message("REQUEST"), &[], 6, 0),
                Row(Message("TOKEN"), &[], 7, 0),
                Row(Message("START"), &[], 8, 0),
                Row(Message("COMPLETE"), &[], 9, 0),
                Row(Message("CLOSE"), &[], 9, 0),
                Row(Timer(0), &[], 10, 0),
                Row(Timer(1), &[], 11, 0),
                Row(Message("IDLE"), &[], 11, 0),
                Row(Message("FORGET"), &[], 11, 0),
                Row(Message("INFORM"), &[], 12, 0),
            ],
            then: &[Then(&[Token, Sends("TOKEN")], 4), Then(&[Sends("START")], 5)],
        },
    ),
];
