//! Compares what a page shows with what a command prints: all but what differs from run to run.

/// Why the two differ, if they do. A line that begins with `[…` stands for anything; what follows it is printed
/// later, by this command or by one that runs beside it (`later`).
pub(crate) fn difference(shown: &str, printed: &str, later: &str) -> Option<String> {
    let lines =
        |text: &str| -> Vec<String> { text.lines().map(masked).filter(|line| !line.is_empty()).collect() };
    let (first, rest) = match shown.split_once("[…") {
        Some((first, rest)) => (first, Some(rest.split_once('\n').map_or("", |(_, rest)| rest))),
        None => (shown, None),
    };
    let (first, mut printed) = (lines(first), lines(printed));
    if rest.is_some() {
        printed.truncate(first.len());
    }
    if first != printed {
        return Some(format!("the page shows\n{}\nand not\n{}", first.join("\n"), printed.join("\n")));
    }
    let later = lines(later);
    let missing = lines(rest.unwrap_or_default()).into_iter().find(|line| !later.contains(line))?;
    Some(format!("the page shows '{missing}', which none of these is:\n{}", later.join("\n")))
}

/// The line without process ids, times, fences, sessions, addresses, users, hosts, and the widths of columns.
fn masked(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let core = word.trim_matches(|letter: char| ",;:()".contains(letter));
        let next = words.get(at + 1).map_or("", |next| next.trim_end_matches([',', ';', ')']));
        // Chance decides which slot a waiter is promised.
        let after_slot = at == 1 && words[0].eq_ignore_ascii_case("slot");
        let after_id = after_slot || at > 0 && ["(pid", "(process"].contains(&words[at - 1]);
        if core.parse::<f64>().is_ok() && ["ms", "s", "min", "h", "µs"].contains(&next) {
            kept.push(words[at + 1].replace(next, "TIME"));
            at += 2;
            continue;
        }
        let numeric = core.chars().all(|letter| letter.is_ascii_digit() || ".:/".contains(letter));
        let is_long = core.len() > 3 || core.contains('/');
        kept.push(match word {
            word if word.contains('@') => "USER@HOST".to_string(),
            word if word.chars().all(|letter| letter == '─') => "─".to_string(),
            word if !core.is_empty() && numeric && (is_long || after_id) => word.replace(core, "#"),
            word => word.to_string(),
        });
        at += 1;
    }
    kept.join(" ")
}

#[test]
fn only_what_differs_from_run_to_run_is_masked() {
    let line = "gpu   holds  0  1099511627777  1.6 s  0  ann@vm (pid 41: sleep) \"build 17\"";
    assert_eq!(masked(line), "gpu holds 0 # TIME 0 USER@HOST (pid #: sleep) \"build 17\"");
    let line = "09:39:23.726  node 0  client 2/1; by 127.0.0.1:48790, or in 2.8 s";
    assert_eq!(masked(line), "# node 0 client #; by #, or in TIME");
    assert_eq!(difference("a 1\n[…]\n", "a 1\nb\n", ""), None);
    assert_eq!(difference("a 1\n[… later]\nc\n", "a 1\n", "b\nc"), None);
    assert!(difference("a 1\n", "a 2\n", "").is_some());
    assert!(difference("a 1\n", "a 1\nb\n", "").is_some());
    assert!(difference("a 1\n[… later]\nc\n", "a 1\n", "b").is_some());
}
