//! Every algorithm has a page that covers all its options and defects, and tests of its claims.

use std::fs;
use std::path::Path;

use algorithms::registry;

#[test]
fn every_algorithm_has_its_page() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for info in registry::ALL {
        let page = here.join(format!("../../docs/algorithms/{}.md", info.name));
        let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{} is missing", page.display()));
        let defects = info.defects.iter().map(|defect| ("defect", defect.name));
        let options = info.options.iter().map(|option| ("option", option.name));
        for (what, name) in defects.chain(options) {
            assert!(text.contains(name), "{} does not speak of {what} {name}", page.display());
        }
    }
}

/// The claims of a paper are tested in `paper.rs`, those of an algorithm that no text describes in `tests.rs`.
#[test]
fn every_algorithm_has_tests_of_its_claims() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for info in registry::ALL {
        let file = if info.is_published() { "paper.rs" } else { "tests.rs" };
        let claims = sources.join(info.name.replace('-', "_")).join(file);
        let text = fs::read_to_string(&claims).unwrap_or_else(|_| panic!("{} is missing", claims.display()));
        assert!(text.contains("#[test]"), "{} has no test", claims.display());
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = registry::ALL.iter().map(|info| info.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), registry::ALL.len());
    for info in registry::ALL {
        let mut defects: Vec<&str> = info.defects.iter().map(|defect| defect.name).collect();
        defects.sort_unstable();
        defects.dedup();
        assert_eq!(defects.len(), info.defects.len(), "{}", info.name);
    }
}
