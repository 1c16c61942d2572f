//! The method table: who may send what in which revision. A method is a row here and nothing else.

use super::revision::Revision;
use Revision::*;

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that connects.
    Client,
    /// The side that offers.
    Server,
}

/// A row of the method table.
#[derive(Debug, PartialEq, Eq)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// Whether it expects a response.
    pub kind: Kind,
    /// The roles that may send it.
    pub senders: &'static [Role],
    /// The first and last revision that has it.
    pub span: (Revision, Revision),
    /// The parameter that HTTP mirrors in `Mcp-Name` (H26-03).
    pub name_parameter: Option<&'static str>,
}

/// Request or notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Carries an id and is answered.
    Request,
    /// Is never answered.
    Notification,
}

impl Method {
    /// The row of a method that `sender` may send under `revision`.
    pub fn find(name: &str, kind: Kind, sender: Role, revision: Revision) -> Option<&'static Method> {
        METHODS.iter().find(|method| {
            method.name == name
                && method.kind == kind
                && method.senders.contains(&sender)
                && method.span.0 <= revision
                && revision <= method.span.1
        })
    }

    /// The parameter that `Mcp-Name` mirrors for a method, if any.
    pub fn name_parameter(name: &str) -> Option<&'static str> {
        METHODS.iter().find(|method| method.name == name).and_then(|method| method.name_parameter)
    }
}

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const INITIALIZED: &str = "notifications/initialized";
pub(crate) const DISCOVER: &str = "server/discover";
pub(crate) const PING: &str = "ping";
pub(crate) const TOOLS_LIST: &str = "tools/list";
pub(crate) const TOOLS_CALL: &str = "tools/call";
pub(crate) const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
pub(crate) const SUBSCRIPTIONS_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub(crate) const CANCELLED: &str = "notifications/cancelled";
pub(crate) const PROGRESS: &str = "notifications/progress";
pub(crate) const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";

const CLIENT: &[Role] = &[Role::Client];
const SERVER: &[Role] = &[Role::Server];
const BOTH: &[Role] = &[Role::Client, Role::Server];
const LEGACY: (Revision, Revision) = (V2024_11_05, Revision::LATEST_LEGACY);
const ALL: (Revision, Revision) = (V2024_11_05, Revision::LATEST);
const MODERN: (Revision, Revision) = (V2026_07_28, Revision::LATEST);

const fn request(name: &'static str, senders: &'static [Role], span: (Revision, Revision)) -> Method {
    Method { name, kind: Kind::Request, senders, span, name_parameter: None }
}
const fn notification(name: &'static str, senders: &'static [Role], span: (Revision, Revision)) -> Method {
    Method { name, kind: Kind::Notification, senders, span, name_parameter: None }
}
const fn named(method: Method, parameter: &'static str) -> Method {
    Method { name_parameter: Some(parameter), ..method }
}

static METHODS: &[Method] = &[
    named(request(TOOLS_CALL, CLIENT, ALL), "name"),
    request(TOOLS_LIST, CLIENT, ALL),
    notification(PROGRESS, BOTH, LEGACY),
    notification(PROGRESS, SERVER, MODERN),
    notification(CANCELLED, BOTH, ALL),
    request(PING, BOTH, LEGACY),
    request(DISCOVER, CLIENT, MODERN),
    request(INITIALIZE, CLIENT, LEGACY),
    notification(INITIALIZED, CLIENT, LEGACY),
    request(SUBSCRIPTIONS_LISTEN, CLIENT, MODERN),
    notification(SUBSCRIPTIONS_ACKNOWLEDGED, SERVER, MODERN),
    notification(TOOLS_LIST_CHANGED, SERVER, ALL),
    request("resources/list", CLIENT, ALL),
    request("resources/templates/list", CLIENT, ALL),
    named(request("resources/read", CLIENT, ALL), "uri"),
    request("resources/subscribe", CLIENT, LEGACY),
    request("resources/unsubscribe", CLIENT, LEGACY),
    request("prompts/list", CLIENT, ALL),
    named(request("prompts/get", CLIENT, ALL), "name"),
    request("completion/complete", CLIENT, ALL),
    request("logging/setLevel", CLIENT, LEGACY),
    notification("notifications/message", SERVER, ALL),
    notification("notifications/resources/list_changed", SERVER, ALL),
    notification("notifications/resources/updated", SERVER, ALL),
    notification("notifications/prompts/list_changed", SERVER, ALL),
    notification("notifications/roots/list_changed", CLIENT, LEGACY),
    request("roots/list", SERVER, LEGACY),
    request("sampling/createMessage", SERVER, LEGACY),
    request("elicitation/create", SERVER, (V2025_06_18, Revision::LATEST_LEGACY)),
    notification("notifications/elicitation/complete", SERVER, (V2025_11_25, V2025_11_25)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ping_04_ping_ends_with_the_legacy_era() {
        assert!(Method::find("ping", Kind::Request, Role::Client, V2025_11_25).is_some());
        assert!(Method::find("ping", Kind::Request, Role::Client, V2026_07_28).is_none());
    }

    #[test]
    fn rpc_31_modern_servers_have_no_requests() {
        assert!(!METHODS.iter().any(|method| method.kind == Kind::Request
            && method.senders.contains(&Role::Server)
            && method.span.1 == Revision::LATEST));
    }
}
