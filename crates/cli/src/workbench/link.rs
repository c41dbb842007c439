//! The links that the player shares: what they show, without asking the server that made them.

use anyhow::{Context, Result, bail};
use player::Shared;

/// A link to a page of the player, on whichever server.
#[derive(Debug)]
pub(crate) struct Link {
    /// What follows the server: the path, the query and the run.
    pub(crate) place: String,
}

/// What the player's pages are below.
const PAGES: &[&str] = &["play", "story", "gallery", "compare", "open"];

impl Link {
    /// Whether this is a link rather than a name or a file.
    pub(crate) fn is_meant(text: &str) -> bool {
        ["http://", "https://", "/ui/"].iter().any(|start| text.starts_with(start))
    }

    /// Reads a link; refuses those that lead to no page of the player, and runs that lost a part.
    pub(crate) fn parse(text: &str) -> Result<Link> {
        let text = text.trim();
        let place = match text.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |slash| &rest[slash..]),
            None => text,
        };
        let page = place.strip_prefix("/ui/").unwrap_or_default();
        let page = page.split(['/', '?', '#']).next().unwrap_or_default();
        if !PAGES.contains(&page) || place.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
            bail!(
                "this is no link of the player, whose pages are below /ui/play/, /ui/story/, /ui/gallery and /ui/compare/; \
                 'tokenwood ui' shows the pages of a cluster"
            );
        }
        let link = Link { place: place.to_string() };
        if link.is_opened() && link.packed().is_none() {
            bail!("this link has no run, which was too long for it: share the run as a file");
        }
        if let Some(packed) = link.packed() {
            player::open_steps(packed).context("the link")?;
        }
        Ok(link)
    }

    /// The run, which is all in the link.
    pub(crate) fn run(&self) -> Result<Shared> {
        let Some(packed) = self.packed() else {
            bail!(
                "this link has no run: 'tokenwood play LINK' opens what it shows. A link of a run ends with #r=…; put it \
                 in quotes, because a shell takes & for itself"
            );
        };
        player::open(packed).context("the link")
    }

    fn packed(&self) -> Option<&str> {
        let (_, fragment) = self.place.split_once('#')?;
        fragment.split('&').find_map(|part| part.strip_prefix("r="))
    }

    /// Whether it shows what its server was started with.
    fn is_opened(&self) -> bool {
        let query = self.place.split('#').next().unwrap_or_default().split_once('?');
        query.is_some_and(|(_, query)| query.split('&').any(|part| part == "opened=1"))
    }
}

#[cfg(test)]
mod tests {
    use player::Setting;

    use super::*;

    fn refusal(text: &str) -> String {
        format!("{:#}", Link::parse(text).and_then(|link| link.run()).unwrap_err())
    }

    #[test]
    fn a_link_of_any_server_has_its_run() {
        let steps = vec!["req1/0".to_string(), "1>0".to_string()];
        let shared = Shared { setting: Setting { seed: 7, ..Setting::of("naimi-trehel") }, steps };
        let run = player::share(&shared).unwrap().run;
        let place = format!("/ui/play/naimi-trehel?n=6&at=1#r={run}");
        for server in ["http://127.0.0.1:7931", "https://[::1]:8443", ""] {
            let link = format!("{server}{place}");
            assert!(Link::is_meant(&link));
            let link = Link::parse(&link).unwrap();
            assert_eq!((link.place.as_str(), link.run().unwrap()), (place.as_str(), shared.clone()));
        }
        let cut = &place[..place.len() - 5];
        assert!(refusal(cut).contains("a link may have lost its end"), "{}", refusal(cut));
    }

    #[test]
    fn other_links_are_refused_with_what_to_do() {
        assert!(!Link::is_meant("naimi-trehel") && !Link::is_meant("run.trace.json"));
        for text in [
            "http://127.0.0.1:7931",
            "http://h/ui/names/gpu",
            "https://h/elsewhere#r=AA",
            "http://h/ui/play x",
        ] {
            assert!(refusal(text).contains("this is no link of the player"), "{text}: {}", refusal(text));
        }
        for text in
            ["http://h/ui/play/naimi-trehel?n=6", "/ui/story/thesis-fig-3", "http://h/ui/compare/a/b#x"]
        {
            assert!(refusal(text).contains("'tokenwood play LINK' opens"), "{text}: {}", refusal(text));
        }
        let opened = "http://h/ui/play/naimi-trehel?n=6&at=0&opened=1";
        assert!(refusal(opened).contains("share the run as a file"), "{}", refusal(opened));
    }
}
