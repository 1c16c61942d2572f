//! The content security policy of an app, from the domains that it declares.

use crate::commands::inspect::state::beginning;
use serde::Serialize;
use serde_json::Value;

/// Maximum number of domains of a kind.
const MAX_DOMAINS: usize = 100;
/// Maximum length of a domain.
const MAX_DOMAIN: usize = 200;
const SCHEMES: [&str; 4] = ["https", "http", "wss", "ws"];

/// The flags of the frame of an app. Without `allow-same-origin`, its origin is that of nothing
/// else, so that it has neither cookies nor storage of this machine.
pub(super) const SANDBOX: &str = "allow-scripts allow-forms";

/// Permissions of interfaces, and the features of the browser that they are.
const PERMISSIONS: [(&str, &str); 4] = [
    ("camera", "camera"),
    ("microphone", "microphone"),
    ("geolocation", "geolocation"),
    ("clipboardWrite", "clipboard-write"),
];

/// The limits that an app has declared for itself.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Policy {
    /// The header `Content-Security-Policy`.
    #[serde(rename = "policy")]
    pub(super) header: String,
    /// The attribute `allow` of its frames.
    pub(super) allow: String,
    /// Declared domains that are none.
    refused: Vec<String>,
}

impl Policy {
    /// The policy for the metadata of an interface; `ancestors` may frame it.
    pub(super) fn of(ui: &Value, ancestors: &str) -> Self {
        let mut refused = Vec::new();
        let mut sources = |member: &str| {
            let declared = ui["csp"][member].as_array().map(Vec::as_slice).unwrap_or_default();
            let mut sources = String::new();
            for (index, domain) in declared.iter().enumerate() {
                let text = domain.as_str().map_or_else(|| domain.to_string(), str::to_owned);
                match is_source(&text) && index < MAX_DOMAINS {
                    true => sources += &format!(" {text}"),
                    false if refused.len() < MAX_DOMAINS => refused.push(beginning(&text, MAX_DOMAIN).to_owned()),
                    false => {}
                }
            }
            sources
        };
        let [resources, connect, frame, base] =
            ["resourceDomains", "connectDomains", "frameDomains", "baseUriDomains"].map(&mut sources);
        let or_none = |sources: String| if sources.is_empty() { " 'none'".to_owned() } else { sources };
        let (connect, frame, base) = (or_none(connect), or_none(frame), or_none(base));
        let header = format!(
            "default-src 'none'; script-src 'unsafe-inline'{resources}; style-src 'unsafe-inline'{resources}; \
             img-src data:{resources}; media-src data:{resources}; font-src data:{resources}; \
             connect-src{connect}; frame-src{frame}; object-src 'none'; base-uri{base}; form-action 'none'; \
             frame-ancestors {ancestors}; sandbox {SANDBOX}"
        );
        let is_wanted = |(name, _): &&(&str, &str)| ui["permissions"][*name].is_object();
        let allow: Vec<_> = PERMISSIONS.iter().filter(is_wanted).map(|(_, feature)| *feature).collect();
        Self { header, allow: allow.join("; "), refused }
    }
}

/// Returns whether a text is an origin, such as `https://*.example.com:8443`, and cannot end its
/// directive.
fn is_source(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    text.len() <= MAX_DOMAIN
        && SCHEMES.contains(&scheme)
        && host.strip_prefix("*.").unwrap_or(host).split('.').all(is_label)
        && port.is_none_or(|port| port == "*" || port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_origins_are_sources() {
        for good in [
            "https://a.example",
            "https://a.example/",
            "https://*.a.example:8443",
            "http://localhost:*",
            "wss://a_b-c.example",
            "http://127.0.0.1:3000",
        ] {
            assert!(is_source(good), "{good}");
        }
        for bad in [
            "*",
            "a.example",
            "https:",
            "https://",
            "https://*",
            "https://a.*.example",
            "data:",
            "'unsafe-eval'",
            "https://a.example; script-src *",
            "https://a.example, default-src *",
            "https://a.example\r\nx: y",
            "https://a.example https://b.example",
            "https://a.example:port",
            "https://é.example",
            "javascript://a",
            &format!("https://{}", "a".repeat(MAX_DOMAIN)),
        ] {
            assert!(!is_source(bad), "{bad}");
        }
    }

    #[test]
    fn an_app_that_declares_nothing_reaches_nothing() {
        let policy = Policy::of(&json!({}), "http://127.0.0.1:1");
        assert_eq!(
            policy.header,
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
             media-src data:; font-src data:; connect-src 'none'; frame-src 'none'; object-src 'none'; \
             base-uri 'none'; form-action 'none'; frame-ancestors http://127.0.0.1:1; \
             sandbox allow-scripts allow-forms"
        );
        assert_eq!((policy.allow.as_str(), policy.refused.len()), ("", 0));
    }

    #[test]
    fn declared_domains_and_permissions_are_directives() {
        let many: Vec<_> = (0..=MAX_DOMAINS).map(|number| format!("https://{number}.example")).collect();
        let ui = json!({
            "csp": {
                "connectDomains": ["https://api.example", "*; script-src *", 5],
                "resourceDomains": ["https://cdn.example"],
                "frameDomains": many,
                "baseUriDomains": "https://no-list.example",
            },
            "permissions": {"camera": {}, "clipboardWrite": {}, "geolocation": true, "usb": {}},
        });
        let Policy { header, allow, refused } = Policy::of(&ui, "x");
        for directive in [
            "script-src 'unsafe-inline' https://cdn.example;",
            "img-src data: https://cdn.example;",
            "connect-src https://api.example;",
            "frame-src https://0.example ",
            "base-uri 'none';",
        ] {
            assert!(header.contains(directive), "{directive} in {header}");
        }
        assert_eq!(allow, "camera; clipboard-write");
        assert_eq!(refused, ["*; script-src *", "5", &format!("https://{MAX_DOMAINS}.example")]);
    }
}
