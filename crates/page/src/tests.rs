//! The files are all there, within their budget, and ask for nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let found = answer.headers.iter().find(|(header, _)| *header == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

fn get(path: &str) -> Answer {
    answer(&Asked { path, ..Asked::default() })
}

/// What browsers are sent is packed, so that counts; what people read is bounded, too.
#[test]
fn the_page_is_within_its_budget() {
    let sent: usize = FILES.iter().map(|file| packed(file.path).body.len()).sum();
    assert!(sent < 200_000, "the page is sent in {sent} bytes");
    let written: usize = FILES.iter().map(|file| file.bytes.len()).sum();
    assert!(written < 520_000, "the page has {written} bytes");
}

fn packed(path: &str) -> Answer {
    answer(&Asked { path, accept_encoding: Some("gzip, deflate, br"), ..Asked::default() })
}

#[test]
fn a_browser_gets_files_packed_if_it_takes_them_so() {
    let (plain, packed) = (get("/app.js"), packed("/app.js"));
    assert_eq!((header(&plain, "content-encoding"), header(&packed, "content-encoding")), ("", "deflate"));
    assert_eq!(header(&packed, "vary"), "accept-encoding");
    assert_ne!(header(&plain, "etag"), header(&packed, "etag"));
    assert_eq!(miniz_oxide::inflate::decompress_to_vec_zlib(packed.body).unwrap(), plain.body);
    for (accepted, takes) in
        [("deflate", true), ("gzip,deflate;q=0.5", true), ("deflate;q=0", false), ("br", false)]
    {
        assert_eq!(takes_deflate(accepted), takes, "{accepted}");
    }
}

#[test]
fn every_file_of_the_folder_is_served_with_its_type() {
    fn walk(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{name}/"), found),
                false => assert!(found.insert(name)),
            }
        }
    }
    let mut there = BTreeSet::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("files"), "", &mut there);
    let served: BTreeSet<String> = FILES.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(there, served);
    for path in &served {
        let answer = get(&format!("/{path}"));
        assert!(!answer.body.is_empty(), "{path}");
        assert_ne!(header(&answer, "content-type"), "application/octet-stream", "{path}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
    }
}

#[test]
fn what_a_script_imports_is_served() {
    let mut imports = 0;
    for file in FILES.iter().filter(|file| file.path.ends_with(".js")) {
        let text = str::from_utf8(file.bytes).unwrap();
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in text.lines().filter(|line| line.starts_with("import ") || line.starts_with("} from ")) {
            let Some(target) = line.split('"').nth(1) else { continue };
            let path = match (target.strip_prefix("./"), target.strip_prefix("../")) {
                (Some(name), _) if folder.is_empty() => name.to_string(),
                (Some(name), _) => format!("{folder}/{name}"),
                (_, Some(name)) => name.to_string(),
                _ => panic!("{}: imports {target}", file.path),
            };
            assert!(super::file(&path).is_some(), "{}: there is no {path}", file.path);
            imports += 1;
        }
    }
    assert!(imports > 30, "only {imports} imports were found");
}

#[test]
fn addresses_of_views_give_the_page() {
    let page = get("/index.html");
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    for path in
        ["", "/", "/live", "/name/deploy%2Fapi", "/name/app.js", "/node/3", "/../secret", "/no/such.js"]
    {
        assert_eq!(get(path), page, "{path}");
    }
}

#[test]
fn a_browser_that_has_a_file_does_not_get_it_again() {
    let (first, other) = (get("/app.js"), get("/style.css"));
    let tag = header(&first, "etag");
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag} is not strong");
    assert_ne!(tag, header(&other, "etag"));
    for tags in [tag.to_string(), format!("\"other\", {tag}"), format!("W/{tag}"), "*".into()] {
        let again = answer(&Asked { path: "/app.js", if_none_match: Some(&tags), ..Asked::default() });
        assert_eq!((again.status, again.body.len()), (304, 0), "{tags}");
        assert_eq!(header(&again, "etag"), tag);
    }
    let changed = answer(&Asked { path: "/app.js", if_none_match: Some("\"other\""), ..Asked::default() });
    assert_eq!(changed, first);
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_only_an_embedded_page_may_be_framed() {
    let policy_of = |query| {
        let answer = answer(&Asked { query, ..Asked::default() });
        header(&answer, "content-security-policy").to_string()
    };
    let policy = policy_of("");
    for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(policy_of("theme=dark&embed=1").ends_with("frame-ancestors *"));
    assert!(policy_of("embed=10").ends_with("frame-ancestors 'none'"));
    for file in FILES {
        let text = str::from_utf8(file.bytes).unwrap().replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{}: names another place",
            file.path
        );
        assert!(!text.contains("innerHTML"), "{}: names of the cluster are text, never HTML", file.path);
    }
}
