//! Every algorithm has a page that covers all its options and defects, paper tests and transcripts.

use std::fs;
use std::path::Path;

use algorithms::registry;

#[test]
fn every_algorithm_has_its_page() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for info in registry::ALL {
        let page = here.join(format!("../../docs/algorithms/{}.md", info.name));
        let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{} is missing", page.display()));
        for defect in info.defects {
            assert!(
                text.contains(defect.name),
                "{} does not speak of defect {}",
                page.display(),
                defect.name
            );
        }
        for option in info.options {
            assert!(
                text.contains(option.name),
                "{} does not speak of option {}",
                page.display(),
                option.name
            );
        }
        let paper = here.join(format!("src/{}/paper.rs", info.name.replace('-', "_")));
        assert!(fs::read_to_string(&paper).is_ok_and(|text| text.contains("#[test]")), "{}", paper.display());
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
