//! Pages: shows the user the whole URL and opens it only with consent (ELI-19).

use super::dialogue::{decision, line, paragraph, server};
use crate::{
    client::ElicitUrlRequest,
    printable::printable,
    protocol::model::{ElicitAction, ElicitResult},
    runtime::Console,
};
use std::io;

/// Asks for consent, then opens the page.
pub(super) fn consent(console: &mut dyn Console, request: &ElicitUrlRequest) -> io::Result<ElicitResult> {
    console.show(&format!("\n{} asks you to open a page:\n{}", server(request), paragraph(&request.message)))?;
    let Some(host) = host(&request.url) else {
        console.show(&format!("  {}\nThat is not a URL of a web page, so it is not opened.\n", line(&request.url)))?;
        return Ok(ElicitResult::decline());
    };
    let (url, host, suspicion) = (printable(&request.url), line(host), suspicion(&request.url, host));
    console.show(&format!("  {url}\n  Host: {host}\n{suspicion}"))?;
    let action = decision(console, "Open it in the browser?", false)?.unwrap_or_default();
    if action == ElicitAction::Accept
        && let Err(error) = console.open_browser(&request.url)
    {
        console.show(&format!("Could not open a browser ({error}): visit the page yourself.\n"))?;
    }
    Ok(ElicitResult { action, ..ElicitResult::default() })
}

/// A warning if a host may imitate another one, or if the page is not encrypted (ELI-21).
fn suspicion(url: &str, host: &str) -> &'static str {
    let host = host.to_lowercase();
    let name = host.rfind(':').filter(|_| !host.ends_with(']')).map_or(&*host, |port| &host[..port]);
    if !host.is_ascii() || host.split('.').any(|label| label.starts_with("xn--")) {
        "  Careful: the host contains characters that look like others.\n"
    } else if !url.to_lowercase().starts_with("https:") && !["localhost", "127.0.0.1", "[::1]"].contains(&name) {
        "  Careful: the page is not encrypted (http).\n"
    } else {
        ""
    }
}

/// The host and port of a web page's URL. Returns `None` for other URLs and for those with user
/// information, which can make a host look like another one.
fn host(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return None;
    }
    let host = rest.split(['/', '?', '#', '\\']).next().filter(|host| !host.is_empty() && !host.contains('@'))?;
    (!url.contains(|character: char| character.is_whitespace() || character.is_control())).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eli_19_only_pages_of_the_web_have_a_host() {
        assert_eq!(host("https://a.example:8443/x?y@z"), Some("a.example:8443"));
        assert_eq!(host("HTTP://localhost"), Some("localhost"));
        for url in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https://good.example@evil.example/",
            "https://a b/",
        ] {
            assert_eq!(host(url), None, "{url}");
        }
    }
}
