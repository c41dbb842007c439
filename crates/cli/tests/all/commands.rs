//! The program as a user meets it: exit codes, messages, JSON.

use std::fs;
use std::path::Path;

use crate::folder::{Folder, code, text};
use crate::json_schema::document;
use serde_json::Value;

impl Folder {
    fn prints_json(&self, arguments: &str) -> Value {
        document(&self.run(arguments).stdout)
    }
}

#[test]
fn alone_it_says_what_one_can_do() {
    let output = Folder::new("guide").run("");
    assert_eq!(code(&output), 0);
    assert!(text(&output.stdout).contains("tokenwood check"));
}

/// The commands that `--help` lists.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn the_page_of_commands_has_every_command_and_no_other() {
    let help = text(&Folder::new("help").run("--help").stdout);
    let commands = commands(&help);
    assert!(commands.len() > 20, "{help}");
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `tokenwood "));
    let described: Vec<&str> = rows.filter_map(|row| row.split([' ', '`']).next()).collect();
    for command in &commands {
        assert!(described.contains(command), "docs/commands.md lacks '{command}'");
    }
    for command in described {
        assert!(commands.contains(&command), "docs/commands.md has '{command}', which does not exist");
    }
}

#[test]
fn the_help_of_swarm_names_every_part_of_a_plan() {
    let folder = Folder::new("plans");
    let refused = text(&folder.run("swarm --with no-such=1").stderr);
    let parts = refused.trim_end().split_once(": use ").expect("it says what there is").1;
    let help = text(&folder.run("swarm --help").stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts.split(", ") {
        assert!([",", ";"].iter().any(|end| help.contains(&format!(" {part}{end}"))), "{part}: {help}");
    }
}

/// It keeps every property, and yet serves hardly any but the nodes near the root.
#[test]
fn options_that_are_not_fair_come_with_a_warning() {
    let folder = Folder::new("warned");
    let warned = |options: &str| {
        let output =
            folder.run(&format!("simulate helary --nodes 8 --tokens 1 --rate 10 --entries 300 {options}"));
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stderr).contains("warning: behaviour=proxy on tree=chain is not fair under load")
    };
    assert!(warned("--set behaviour=proxy --set tree=chain"));
    assert!(!warned("--set behaviour=proxy") && !warned("--set tree=chain"));
}

#[test]
fn algorithms_are_listed_for_people_and_scripts() {
    let folder = Folder::new("algorithms");
    let one = folder.run("algorithms helary");
    assert!(
        text(&one.stdout).contains("proxy on tree=chain is not fair under load"),
        "{}",
        text(&one.stdout)
    );
    assert!(!text(&one.stdout).contains("lamport"));
    assert_eq!(folder.prints_json("algorithms helary --format json")["algorithms"][0]["name"], "helary");
    assert_eq!(code(&folder.run("algorithms nonsense")), 2);
    let table = text(&folder.run("algorithms").stdout);
    let all = folder.prints_json("algorithms --format json");
    let names: Vec<&str> =
        all["algorithms"].as_array().unwrap().iter().map(|info| info["name"].as_str().unwrap()).collect();
    let wanted = "bulgannawar-vaidya raymond-k srimani-reddy makki naimi-trehel chaudhuri-edward collectors lacbt \
                  drs-gme lamport ricart-agrawala carvalho-roucairol suzuki-kasami maekawa raymond-tree neilsen-mizuno \
                  k-majority ra1 rooms singhal-dynamic singhal-heuristic \
                  lodha-kshemkalyani banerjee-chrysanthis helary";
    for name in wanted.split_whitespace() {
        assert!(names.contains(&name), "{name}");
        assert!(table.contains(name), "{name}");
    }
}

#[test]
fn what_holds_ends_with_0_and_says_so() {
    let folder = Folder::new("holds");
    let output = folder.run("check naimi-trehel --nodes 3 --requests 2");
    assert_eq!(code(&output), 0);
    assert!(text(&output.stdout).contains("Exhausted"));
    let found = folder.prints_json("check naimi-trehel --nodes 3 --tokens 1 --requests 2 --format json");
    assert_eq!(found["algorithm"], "naimi-trehel");
    assert_eq!((&found["nodes"], &found["tokens"], &found["requests"]), (&3.into(), &1.into(), &2.into()));
    assert_eq!(found["exhausted"], true);
    assert_eq!(found["verdict"], "holds");
    assert_eq!(found["violated"], Value::Null);
    assert_eq!(found["trace"], Value::Array(Vec::new()));
    assert!(found["states"].as_u64().unwrap() > 500);
    assert!(found["seconds"].as_f64().unwrap() >= 0.0);
}

#[test]
fn symmetry_finds_the_same_from_fewer_states() {
    let folder = Folder::new("symmetry");
    let explore = |symmetry: &str| {
        let scope = "check naimi-trehel --nodes 4 --requests 1 --format json";
        folder.prints_json(&format!("{scope} --symmetry {symmetry}"))
    };
    let (plain, symmetric) = (explore("off"), explore("on"));
    assert_eq!((&plain["symmetry"], &plain["renamings"]), (&"off".into(), &1.into()));
    assert_eq!((&symmetric["symmetry"], &symmetric["renamings"]), (&"on".into(), &6.into()));
    assert_eq!(symmetric["represented"], plain["states"]);
    assert!(symmetric["states"].as_u64().unwrap() * 4 < plain["states"].as_u64().unwrap());
    assert_eq!((&symmetric["verdict"], &symmetric["depth"]), (&plain["verdict"], &plain["depth"]));
    let shown = text(&folder.run("check naimi-trehel --nodes 4 --symmetry on").stdout);
    assert!(shown.contains("by 6 renamings of the nodes."), "{shown}");
    let violated = folder.run("check rooms --defect parked-kept --symmetry on --trace it.json");
    assert_eq!(code(&violated), 1);
    assert_eq!(code(&folder.run("trace it.json")), 0);
    let clients = "check forest --nodes 3 --requests 2 --clients 2 --cancels";
    let both = folder.prints_json(&format!("{clients} --symmetry on --format json"));
    assert_eq!((&both["renamings"], &both["client_renamings"]), (&2.into(), &2.into()));
    for (kind, renamings) in [
        ("on", "by 2 renamings of the nodes and 2 of the clients of each."),
        ("clients", "by 2 renamings of the clients of each node."),
        ("nodes", "by 2 renamings of the nodes."),
    ] {
        let shown = text(&folder.run(&format!("{clients} --symmetry {kind}")).stdout);
        assert!(shown.contains(renamings) && shown.contains("Exhausted"), "{shown}");
    }
    let violated = folder.run("check rooms --defect complete-unnumbered --symmetry clients --trace it.json");
    assert_eq!(code(&violated), 1);
    assert_eq!(code(&folder.run("trace it.json")), 0);
    for (command, hint) in [
        ("check lamport --symmetry on", "leave out --symmetry"),
        ("check lamport --symmetry clients", "one client per node"),
        ("check forest --symmetry clients", "try --clients 2"),
        ("check forest --clients 2 --symmetry clients --random 10", "--symmetry is for exploring"),
        ("check naimi-trehel --nodes 7 --symmetry on", "at most 6 nodes"),
        ("check naimi-trehel --symmetry on --random 10", "--symmetry is for exploring"),
    ] {
        let refused = folder.run(command);
        assert_eq!(code(&refused), 2, "{command}");
        assert!(text(&refused.stderr).contains(hint), "{command}: {}", text(&refused.stderr));
    }
}

#[test]
fn what_the_search_does_not_look_at_is_not_said_to_hold() {
    let folder = Folder::new("not-checked");
    let shown = text(&folder.run("check forest --nodes 2 --clients 2").stdout);
    assert!(shown.contains("not-checked") && shown.contains("all other properties hold"), "{shown}");
    let refused = folder.run("check forest --nodes 2 --clients 2 --property fences-rise");
    assert_eq!(code(&refused), 2);
    assert!(text(&refused.stderr).contains("--random"), "{}", text(&refused.stderr));
    let random = folder.run("check forest --nodes 2 --clients 2 --property fences-rise --random 20");
    assert_eq!(code(&random), 0, "{}", text(&random.stderr));
}

#[test]
fn a_violation_ends_with_1_and_can_be_replayed() {
    let folder = Folder::new("violated");
    let output = folder.run("check bulgannawar-vaidya --nodes 2 --defect holding-not-set --trace it.json");
    assert_eq!(code(&output), 1);
    let report = text(&output.stdout);
    assert!(report.contains("Violated after 4 steps: at-most-k-inside"), "{report}");
    let replay = folder.run("trace it.json");
    assert_eq!(code(&replay), 0);
    let replayed = text(&replay.stdout);
    assert!(
        replayed.contains("req0  0 enters") && replayed.contains("violated: at-most-k-inside"),
        "{replayed}"
    );
    let found =
        folder.prints_json("check bulgannawar-vaidya --nodes 2 --defect holding-not-set --format json");
    assert_eq!(found["verdict"], "violated");
    assert_eq!(found["violated"], "at-most-k-inside");
    assert_eq!(found["trace"][0]["step"], "req0");
}

#[test]
fn a_defect_alone_is_looked_for_where_it_shows() {
    let folder = Folder::new("defect");
    let cases = [
        ("bulgannawar-vaidya --defect holding-not-cleared", "at-most-k-inside"),
        ("collectors --defect grant-counts-one", "tokens-conserved"),
        ("drs-gme --defect is-complete-unnumbered", "one-group-at-a-time"),
        ("bulgannawar-vaidya --defect inform-by-version", "nothing-impossible"),
    ];
    for (arguments, property) in cases {
        let found = folder.prints_json(&format!("check {arguments} --property {property} --format json"));
        assert_eq!(found["violated"], property, "{arguments}");
    }
}

#[test]
fn a_limit_ends_with_3_and_is_not_called_exhausted() {
    let folder = Folder::new("limit");
    let output = folder.run("check bulgannawar-vaidya --nodes 4 --tokens 2 --requests 2 --max-states 1000");
    assert_eq!(code(&output), 3);
    assert!(text(&output.stdout).contains("Not exhausted"));
    let found = folder.prints_json("check bulgannawar-vaidya -n 4 -k 2 -r 2 --max-states 1000 --format json");
    assert_eq!((&found["verdict"], &found["exhausted"]), (&"unknown".into(), &false.into()));
}

#[test]
fn faults_that_are_not_tolerated_show_their_damage() {
    let folder = Folder::new("damage");
    let found = folder.prints_json("check naimi-trehel --nodes 2 --loss 1 --format json");
    assert_eq!(found["violated"], "nobody-left-waiting");
}

#[test]
fn random_runs_repeat() {
    let folder = Folder::new("random");
    let run = |seed: u32| {
        let mut found = folder.prints_json(&format!(
            "check bulgannawar-vaidya --nodes 6 --tokens 3 --requests 5 --random 20 --seed {seed} --format json"
        ));
        found["seconds"] = Value::Null;
        found
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(run(1)["entries"], 600);
}

#[test]
fn bad_input_gets_one_clear_line_and_2() {
    let folder = Folder::new("bad");
    let cases = [
        ("check naimi-trehel --nodes 0", "at least one node"),
        ("check bulgannawar-vaidya --nodes 2 --tokens 3", "between 1 and the number of nodes"),
        ("check bulgannawar-vaidya --tokens 0", "between 1 and the number of nodes"),
        ("check naimi-trehel --nodes 3 --tokens 2", "tokens must be 1"),
        ("check naimi-trehel --groups 2", "has no groups"),
        ("check naimi-trehel --requests 0", "nobody asks"),
        ("check naimi-trehel --requests 1000", "200 or less"),
        ("check naimi-trehel --nodes 4000000000 --random 1", "at most 1000000 nodes"),
        ("check naimi-trehel --nodes 9 --requests 4000000000 --random 1", "at most 10 million requests"),
        ("check naimi-trehel --random 1 --pause 18446744073709551615", "a pause of 10 million"),
        ("check makki --delay 0", "at least 1 tick"),
        ("check bulgannawar-vaidya --defect inform-always --inform 0", "say --inform 1"),
        ("check naimi-trehel --nodes 65", "at most 64 nodes"),
        ("check nobody-knows", "there is no algorithm 'nobody-knows'"),
        ("simulate drs-gme --tokens 2", "any number of its clients: leave --tokens out"),
        ("check raymond", "did you mean raymond-k or raymond-tree?"),
        ("check partitioned(drs-gme) --nodes 4 --tokens 2", "cannot be partitioned"),
        ("check naimi-trehel --defect none", "has no defect 'none'"),
        ("check naimi-trehel --set inform=1", "has no option 'inform'"),
        ("check bulgannawar-vaidya --set inform=many", "takes a number"),
        ("check bulgannawar-vaidya --set choose", "is not NAME=VALUE"),
        ("check naimi-trehel --property luck", "there is no property 'luck'"),
        ("check naimi-trehel --threads 0", "expected a whole number from 1 to 256"),
        ("check naimi-trehel --threads 100000", "expected a whole number from 1 to 256"),
        ("trace missing.json", "cannot read missing.json"),
    ];
    for (arguments, wanted) in cases {
        let output = folder.run(arguments);
        let error = text(&output.stderr);
        assert_eq!(code(&output), 2, "{arguments}: {error}");
        assert!(error.contains(wanted), "{arguments}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments}: {error}");
    }
}

#[test]
fn damaged_traces_are_refused() {
    let folder = Folder::new("traces");
    folder.run("check bulgannawar-vaidya --nodes 2 --defect holding-not-set --trace good.json");
    let good = fs::read_to_string(folder.0.join("good.json")).unwrap();
    let cases = [
        ("not json".to_string(), "none of the files that this command reads"),
        (good[..good.len() / 2].to_string(), "not a trace"),
        ("{}".to_string(), "none of the files that this command reads"),
        (good.replace("\"version\": 1", "\"version\": 99"), "version 99"),
        (good.replace("\"req0\"", "\"jump0\""), "is not a step"),
        (good.replace("\"req0\"", "\"exit0\""), "is not inside"),
        (good.replace("\"nodes\": 2", "\"nodes\": 0"), "at least one node"),
        (good.replace("\"nodes\": 2", "\"nodes\": 4000000000"), "at most 1000000 nodes"),
        (good.replace("\"bulgannawar-vaidya\"", "\"nobody-knows\""), "there is no algorithm"),
        (good.replace("0 enters", "0 dances"), "no longer does what the trace says"),
        (good.replace("\"at-most-k-inside\"", "\"no-double-entry\""), "do not violate no-double-entry"),
        (good.replace("\"at-most-k-inside\"", "\"luck\""), "do not violate luck"),
    ];
    for (index, (damaged, wanted)) in cases.iter().enumerate() {
        let file = format!("bad{index}.json");
        fs::write(folder.0.join(&file), damaged).unwrap();
        let output = folder.run(&format!("trace {file}"));
        let error = text(&output.stderr);
        assert_eq!(code(&output), 2, "{wanted}: {error}");
        assert!(error.contains(wanted), "{wanted}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
    assert!(Path::new(&folder.0).exists());
}
