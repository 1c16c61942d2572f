//! Parses the `WWW-Authenticate` header (RFC 9110 section 11.6.1, RFC 6750 section 3, RFC 9728
//! section 5.1).

use super::{AuthExchange, AuthRepeat, observer::bare, sanitized};
use crate::protocol::model::AuthorizationDemand;

/// Longer headers are ignored; a challenge is a few hundred bytes.
const MAX_HEADER: usize = 16 * 1024;

/// The demands of a refusal, combined from all of its challenges.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) resource_metadata: Option<String>,
    /// The scopes that the operation needs (AUC-41).
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
    /// True if bearer tokens are accepted.
    pub(super) bearer: bool,
    pub(super) dpop: bool,
}

impl Demands {
    /// Parses the values of all headers. Skips schemes other than Bearer and DPoP.
    pub(super) fn read(values: &[String]) -> Self {
        let mut demand = Self::default();
        for (scheme, parameters) in values.iter().flat_map(|value| challenges(value)) {
            let (bearer, dpop) = (scheme.eq_ignore_ascii_case("bearer"), scheme.eq_ignore_ascii_case("dpop"));
            if !bearer && !dpop {
                continue;
            }
            demand.bearer |= bearer;
            demand.dpop |= dpop;
            for (name, value) in parameters {
                match name.to_ascii_lowercase().as_str() {
                    "resource_metadata" if demand.resource_metadata.is_none() => demand.resource_metadata = Some(value),
                    "scope" if demand.scopes.is_empty() => demand.scopes = super::requested_scopes::split(&value),
                    "error" if demand.error.is_none() => demand.error = Some(value),
                    "error_description" if demand.description.is_none() => demand.description = Some(value),
                    _ => {}
                }
            }
        }
        demand
    }

    /// The step in which the server asks for a login.
    pub(super) fn step(&self, url: &str, status: u16) -> AuthExchange {
        let members = [
            ("resource_metadata", self.resource_metadata.clone()),
            ("scope", Some(self.scopes.join(" ")).filter(|scopes| !scopes.is_empty())),
            ("error", self.error.clone()),
        ];
        let shown = members.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", sanitized(&value?))));
        AuthExchange {
            method: "POST".to_owned(),
            url: bare(url),
            status: Some(status),
            members: shown.collect(),
            clause: "RFC 9728 section 5.1",
            repeat: AuthRepeat::BY_SERVER,
        }
    }

    /// Why the server refused, or nothing if it does not say.
    pub(super) fn reason(&self) -> String {
        self.description.as_deref().or(self.error.as_deref()).map(sanitized).unwrap_or_default()
    }
}

/// Returns the demand of a refusal, or `None` if it is not about authorization. A host or origin
/// that is not allowed is also refused with 403, but without a challenge.
pub(crate) fn demanded(status: u16, challenges: &[String]) -> Option<AuthorizationDemand> {
    let demands = Demands::read(challenges);
    let is_demand = status == 401 || (status == 403 && (demands.bearer || demands.dpop));
    is_demand.then(|| AuthorizationDemand {
        http_status: Some(status),
        error: demands.error,
        error_description: demands.description,
        scopes: Some(demands.scopes).filter(|scopes| !scopes.is_empty()),
        resource_metadata: demands.resource_metadata,
        challenges: Some(challenges.to_vec()).filter(|challenges| !challenges.is_empty()),
        ..AuthorizationDemand::default()
    })
}

type Challenge = (String, Vec<(String, String)>);

/// The challenges of one header. Parsing stops at a syntax error and keeps what came before.
fn challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = Vec::new();
    let mut rest = header.get(..MAX_HEADER).unwrap_or(header);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let Some((word, after)) = token(rest) else { return found };
        let value = after.trim_start().strip_prefix('=');
        let Some(value) = value.filter(|_| !found.is_empty()) else {
            // A scheme. Our schemes have no token68.
            found.push((word.to_owned(), Vec::new()));
            rest = after;
            continue;
        };
        let Some((value, after)) = parameter(value.trim_start()) else { return found };
        if let Some((_, parameters)) = found.last_mut() {
            parameters.push((word.to_owned(), value));
        }
        rest = after;
    }
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    let end = text.find(|it| !is_token(it)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Parses a token or a quoted string.
fn parameter(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        // Some servers omit the quotes around URLs and lists.
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, it) in quoted.char_indices() {
        match it {
            _ if escaped => {
                value.push(it);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, &quoted[at + 1..])),
            _ => value.push(it),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(values: &[&str]) -> Demands {
        Demands::read(&values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn auc_04_challenges_of_real_servers_are_read() {
        let url = "https://mcp.example/.well-known/oauth-protected-resource";
        let demand = read(&[&format!(
            r#"Basic realm="a, b=c", Bearer error="insufficient_scope", scope="read write", RESOURCE_METADATA="{url}", error_description="say \"please\"""#
        )]);
        assert_eq!(demand.resource_metadata.as_deref(), Some(url));
        assert_eq!(demand.scopes, ["read", "write"]);
        assert_eq!(demand.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(demand.description.as_deref(), Some("say \"please\""));
        assert!(demand.bearer && !demand.dpop);
        let demand = read(&["DPoP algs=\"ES256\"", &format!("bearer resource_metadata={url},scope=a")]);
        assert_eq!(demand.resource_metadata.as_deref(), Some(url));
        assert!(demand.bearer && demand.dpop);
        assert_eq!(read(&["Bearer"]), Demands { bearer: true, ..Demands::default() });
        assert_eq!(read(&["Negotiate abc==", "", "=\"", "Bearer scope=\"open"]).scopes, Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_reader(text in ".{0,200}") {
            Demands::read(&[text]);
        }
    }
}
