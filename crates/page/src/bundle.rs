//! One HTML file with everything in it: styles, modules and the run that it shows. It asks no server for anything.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{File, INDEX, file};

/// The module that begins.
const ENTRY: &str = "play/offline.js";

/// What the file may do: run what is in it, and ask for nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; \
     base-uri 'none'; form-action 'none'";

/// What names of modules begin with, in place of a folder of a server.
const PREFIX: &str = "tw/";

/// The file that shows a run: `run` is JSON, which the module that begins finds in the element `run`.
pub fn bundle(title: &str, run: &str) -> Result<String, String> {
    bundle_of(ENTRY, title, run)
}

pub(crate) fn bundle_of(entry: &str, title: &str, run: &str) -> Result<String, String> {
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Nothing in a text can end the element that it is in.
    let run = run.replace('<', "\\u003c");
    let (styles, theme, icon) =
        (styles()?, text_of("theme.js")?, address("image/svg+xml", text_of("icon.svg")?));
    let imports = imports(entry)?;
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"content-security-policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"{icon}\">\n<style>\n{styles}</style>\n\
         <script>\n{theme}</script>\n<script type=\"importmap\">{imports}</script>\n\
         <script type=\"application/json\" id=\"run\">{run}</script>\n\
         <script type=\"module\">import \"{PREFIX}{entry}\";</script>\n</head>\n<body>\n\
         <main id=\"main\" tabindex=\"-1\"></main>\n\
         <p id=\"said\" class=\"hidden-text\" role=\"status\" aria-live=\"polite\"></p>\n\
         <noscript><p class=\"noscript\">This file draws a run with JavaScript.</p></noscript>\n</body>\n</html>\n"
    ))
}

fn text_of(path: &str) -> Result<&'static str, String> {
    let (File { bytes, .. }, _) = file(path).ok_or_else(|| format!("the page has no {path}"))?;
    str::from_utf8(bytes).map_err(|_| format!("{path} is no text"))
}

/// All styles of the page, in its order.
fn styles() -> Result<String, String> {
    let mut all = String::new();
    for part in text_of(INDEX)?.split("href=\"/ui/").skip(1) {
        let path = part.split('"').next().unwrap_or_default();
        if path.ends_with(".css") {
            all += text_of(path)?;
        }
    }
    Ok(all)
}

/// The map from the names of modules to what they are.
fn imports(entry: &str) -> Result<String, String> {
    let (mut modules, mut missing) = (BTreeMap::new(), vec![entry.to_string()]);
    while let Some(path) = missing.pop() {
        let (text, imported) = renamed(&path, text_of(&path)?);
        modules.insert(path, text);
        missing.extend(imported.into_iter().filter(|path| !modules.contains_key(path)));
    }
    let mut map = "{\"imports\":{".to_string();
    for (index, (path, text)) in modules.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a text cannot fail.
        _ = write!(map, "{comma}\n\"{PREFIX}{path}\":\"{}\"", address("text/javascript", text));
    }
    Ok(map + "\n}}")
}

/// An address that is its own content.
fn address(kind: &str, text: &str) -> String {
    format!("data:{kind};base64,{}", STANDARD.encode(text))
}

/// A module whose imports have names without a place, and the paths of what it imports.
fn renamed(path: &str, text: &str) -> (String, Vec<String>) {
    let (mut out, mut imported, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, quoted)) = rest.split_once('"') {
        let Some((target, after)) = quoted.split_once('"') else { break };
        let is_import = ["from ", "import ", "import("].iter().any(|word| before.ends_with(word));
        out += before;
        if is_import && target.starts_with('.') {
            let target = resolved(path, target);
            _ = write!(out, "\"{PREFIX}{target}\"");
            imported.push(target);
            rest = after;
        } else {
            // The next quotation mark may begin a text as well as end one.
            out.push('"');
            rest = quoted;
        }
    }
    (out + rest, imported)
}

/// The path that a module at this path means by a relative one.
fn resolved(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_renamed_and_nothing_else() {
        let text = "import { a } from \"./a.js\";\nimport \"../b/c.js\";\nimport {\n  d,\n} from \"../d.js\";\n\
                    const e = await import(\"./e.js\");\nconst no = [\"./f.js\", 'from \"', `\"./g.js\"`];\n";
        let (renamed, imported) = renamed("play/x.js", text);
        assert_eq!(imported, ["play/a.js", "b/c.js", "d.js", "play/e.js"]);
        assert!(renamed.contains("from \"tw/play/a.js\";\nimport \"tw/b/c.js\";"), "{renamed}");
        assert!(renamed.ends_with("[\"./f.js\", 'from \"', `\"./g.js\"`];\n"), "{renamed}");
    }

    #[test]
    fn a_file_has_all_that_it_needs_and_asks_for_nothing() {
        for entry in [ENTRY, "app.js"] {
            let file = bundle_of(entry, "a <b> & c", r#"{"note": "</script><!-- <script>"}"#).unwrap();
            assert!(file.contains("<title>a &lt;b&gt; &amp; c</title>"));
            assert!(file.contains(r#"id="run">{"note": "\u003c/script>\u003c!-- \u003cscript>"}</script>"#));
            for (opens, closes) in [("<script", "</script>"), ("<style", "</style>")] {
                assert_eq!(file.matches(opens).count(), file.matches(closes).count(), "{entry}: {opens}");
            }
            let (map, _) =
                file.split_once("<script type=\"importmap\">").unwrap().1.split_once("</script>").unwrap();
            let mut modules = 0;
            for line in map.lines().filter(|line| line.starts_with('"')) {
                let (_, code) = line.split_once(";base64,").unwrap();
                let code = STANDARD.decode(code.trim_end_matches([',', '"'])).unwrap();
                let code = String::from_utf8(code).unwrap();
                assert!(!code.contains("from \"./") && !code.contains("from \"../"), "{code}");
                for part in code.split("from \"tw/").skip(1) {
                    let path = part.split('"').next().unwrap();
                    assert!(
                        map.contains(&format!("\n\"tw/{path}\":\"data:text/javascript;base64,")),
                        "{path}"
                    );
                }
                modules += 1;
            }
            assert!(modules > 8, "{entry}: only {modules} modules");
            // What is left beside the modules names no other place.
            let rest = file.replace(map, "").replace("url(#", "");
            for place in ["src=", "http:", "https:", "/ui/", "url(", "@import"] {
                assert!(!rest.contains(place), "{entry}: {place}");
            }
        }
    }
}
