//! The rules in words: the section "Rules" of each algorithm's page, read from the page itself.

/// The page of each algorithm.
const PAGES: &[(&str, &str)] = &[
    ("banerjee-chrysanthis", include_str!("../../../../docs/algorithms/banerjee-chrysanthis.md")),
    ("bulgannawar-vaidya", include_str!("../../../../docs/algorithms/bulgannawar-vaidya.md")),
    ("carvalho-roucairol", include_str!("../../../../docs/algorithms/carvalho-roucairol.md")),
    ("chaudhuri-edward", include_str!("../../../../docs/algorithms/chaudhuri-edward.md")),
    ("collectors", include_str!("../../../../docs/algorithms/collectors.md")),
    ("drs-gme", include_str!("../../../../docs/algorithms/drs-gme.md")),
    ("forest", include_str!("../../../../docs/algorithms/forest.md")),
    ("helary", include_str!("../../../../docs/algorithms/helary.md")),
    ("k-majority", include_str!("../../../../docs/algorithms/k-majority.md")),
    ("lacbt", include_str!("../../../../docs/algorithms/lacbt.md")),
    ("lamport", include_str!("../../../../docs/algorithms/lamport.md")),
    ("lodha-kshemkalyani", include_str!("../../../../docs/algorithms/lodha-kshemkalyani.md")),
    ("maekawa", include_str!("../../../../docs/algorithms/maekawa.md")),
    ("makki", include_str!("../../../../docs/algorithms/makki.md")),
    ("naimi-trehel", include_str!("../../../../docs/algorithms/naimi-trehel.md")),
    ("neilsen-mizuno", include_str!("../../../../docs/algorithms/neilsen-mizuno.md")),
    ("ra1", include_str!("../../../../docs/algorithms/ra1.md")),
    ("raymond-k", include_str!("../../../../docs/algorithms/raymond-k.md")),
    ("raymond-tree", include_str!("../../../../docs/algorithms/raymond-tree.md")),
    ("ricart-agrawala", include_str!("../../../../docs/algorithms/ricart-agrawala.md")),
    ("rooms", include_str!("../../../../docs/algorithms/rooms.md")),
    ("singhal-dynamic", include_str!("../../../../docs/algorithms/singhal-dynamic.md")),
    ("singhal-heuristic", include_str!("../../../../docs/algorithms/singhal-heuristic.md")),
    ("srimani-reddy", include_str!("../../../../docs/algorithms/srimani-reddy.md")),
    ("suzuki-kasami", include_str!("../../../../docs/algorithms/suzuki-kasami.md")),
];

/// A rule as its page has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) number: u32,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) parts: Vec<String>,
}

/// The rules of the algorithm of this name, in the order of their numbers; none if it has no page.
pub(super) fn rules(name: &str) -> Vec<Written> {
    let page = |name: &str| PAGES.iter().find(|(known, _)| *known == name).map(|(_, page)| read(page));
    let mut rules = page(name).unwrap_or_default();
    if name == "chaudhuri-edward" {
        // Its page has only the rules that differ from those of the same state machine.
        let known: Vec<u32> = rules.iter().map(|rule| rule.number).collect();
        let shared = page("collectors").unwrap_or_default().into_iter();
        rules.extend(shared.filter(|rule| rule.number <= 7 && !known.contains(&rule.number)));
        rules.sort_by_key(|rule| rule.number);
    }
    rules
}

/// Reads the numbered list of the section. Paragraphs between its items belong to no rule.
fn read(page: &str) -> Vec<Written> {
    let section = page.split("\n## ").find(|section| section.starts_with("Rules\n")).unwrap_or("");
    let mut rules: Vec<Written> = Vec::new();
    let mut in_rule = false;
    for line in section.lines().skip(1) {
        let trimmed = line.trim_start();
        if let Some((number, rest)) = item(line) {
            rules.push(Written { number, text: rest.to_string(), ..Written::default() });
            in_rule = true;
        } else if !line.starts_with(' ') && !line.is_empty() {
            in_rule = false;
        } else if let (true, Some(rule)) = (in_rule && !trimmed.is_empty(), rules.last_mut()) {
            // The lines of a part are indented further than those of the rule.
            let part = item(trimmed).map(|(_, rest)| rest).or_else(|| trimmed.strip_prefix("- "));
            let deep = line.len() - trimmed.len() > 4;
            match (part, rule.parts.last_mut()) {
                (Some(part), _) => rule.parts.push(part.to_string()),
                (None, Some(last)) if deep => *last += &format!(" {trimmed}"),
                _ => rule.text += &format!(" {trimmed}"),
            }
        }
    }
    rules.iter().map(titled).collect()
}

/// The number and the rest of a line that begins an item.
fn item(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.split_once(". ")?;
    Some((number.parse().ok()?, rest))
}

/// Splits off what is bold at the beginning: the title.
fn titled(rule: &Written) -> Written {
    let split = rule.text.strip_prefix("**").and_then(|text| text.split_once("**"));
    let (title, text) = match split {
        Some((title, text)) => (title.to_string(), text.to_string()),
        None => (String::new(), rule.text.clone()),
    };
    let title = title.trim_end_matches(['.', ':']).to_string();
    let text = text.trim_start_matches([':', '.', ',', ' ']).to_string();
    Written {
        title: plain(&title),
        text: plain(&text),
        parts: rule.parts.iter().map(|part| plain(part)).collect(),
        number: rule.number,
    }
}

/// Text without the marks of Markdown: the page shows it as text.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    // A link is its words.
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(words, to)| Some((words, to.split_once(')')?.1)));
        plain += before;
        match link {
            Some((words, after)) if !words.contains(']') => {
                plain += words;
                rest = after;
            }
            _ => {
                plain.push('[');
                rest = after;
            }
        }
    }
    (plain + rest).replace("**", "").replace(['*', '`'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_rules_with_titles() {
        for info in algorithms::registry::ALL {
            let rules = rules(info.name);
            assert!(rules.len() > 2, "{}", info.name);
            let numbers: Vec<u32> = rules.iter().map(|rule| rule.number).collect();
            assert_eq!(numbers, (1..=rules.len() as u32).collect::<Vec<_>>(), "{}", info.name);
            for rule in rules {
                let said = !rule.text.is_empty() || !rule.parts.is_empty();
                assert!(said && !rule.text.contains(['*', '`']), "{} {rule:?}", info.name);
            }
        }
    }

    #[test]
    fn a_rule_is_read_with_its_parts() {
        let page = "# x\n\n## Rules\n\nState.\n\n1. **Request.** Ask [all](x.md).\n   Wait.\n2. **REPLY**:\n   1. First\n      part.\n   2. Second.\n\n   Then enter.\n\nProse.\n\n3. Exit `now`.\n\n## Cost\n\n1. no\n";
        let rules = read(page);
        let said: Vec<_> = rules.iter().map(|rule| (rule.title.as_str(), rule.text.as_str())).collect();
        assert_eq!(said, [("Request", "Ask all. Wait."), ("REPLY", "Then enter."), ("", "Exit now.")]);
        assert_eq!(rules[1].parts, ["First part.", "Second."]);
    }
}
