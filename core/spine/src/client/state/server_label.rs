//! Names the server of a client in the log.

use crate::{
    client::{ClientEvents, Connector, ServerDescription},
    printable::line,
    protocol::model::Implementation,
};
use std::sync::OnceLock;

/// Longest name in the log, in characters: the server may have chosen it.
const MAX_CHARS: usize = 200;

/// The name of a server in the log: its name in a group, or else the one that it sent, or else its
/// URL or command.
pub(in crate::client) struct ServerLabel {
    configured: OnceLock<String>,
    sent: OnceLock<String>,
    address: Option<String>,
}

impl ServerLabel {
    pub(in crate::client) fn new(connector: &dyn Connector, events: &dyn ClientEvents) -> Self {
        let address = connector.display().map(|address| line(&address, MAX_CHARS));
        let label = Self { configured: OnceLock::new(), sent: OnceLock::new(), address };
        label.configure(events.server_name());
        label
    }

    /// Sets the name in a group, if it is in one. The first group counts.
    pub(in crate::client) fn configure(&self, name: Option<String>) {
        set(&self.configured, name);
    }

    /// Sets the name that the server sent, if it did.
    pub(in crate::client) fn describe(&self, server: &ServerDescription) {
        let info = server.info.as_ref().and_then(|info| info.parse::<Implementation>().ok());
        set(&self.sent, info.map(|info| info.name));
    }

    pub(in crate::client) fn configured(&self) -> Option<&str> {
        self.configured.get().map(String::as_str)
    }

    /// The name of the server that has a tool: in a group, that of the member.
    pub(in crate::client) fn of_tool(&self, connector: &dyn Connector, tool: &str) -> Option<String> {
        let member = connector.server_of(tool).map(|name| line(&name, MAX_CHARS));
        member.or_else(|| self.get().map(str::to_owned))
    }

    /// `None` only for a transport of the program, before the server has sent its name.
    pub(in crate::client) fn get(&self) -> Option<&str> {
        self.configured.get().or(self.sent.get()).or(self.address.as_ref()).map(String::as_str)
    }
}

fn set(place: &OnceLock<String>, name: Option<String>) {
    let name = name.map(|name| line(&name, MAX_CHARS)).filter(|name| !name.is_empty());
    if let Some(name) = name {
        let _ = place.set(name);
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{
        client::{Inbox, Link, LinkFailure},
        protocol::{RawJson, Revision},
        runtime::BoxedTask,
    };
    use std::sync::Arc;

    struct At(Option<&'static str>);

    impl Connector for At {
        fn connect(&self, _: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
            Box::pin(std::future::ready(Err(LinkFailure::Closed)))
        }

        fn is_pipe(&self) -> bool {
            true
        }

        fn display(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }
    }

    struct Named(Option<&'static str>);

    impl ClientEvents for Named {
        fn server_name(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }
    }

    #[test]
    fn the_name_in_a_group_comes_first_and_the_address_last() {
        let long = "x".repeat(10_000);
        let url = Some("http://localhost/mcp");
        for (configured, sent, address, expected) in [
            (Some("shop"), Some("server"), url, Some("shop")),
            (None, Some("server"), url, Some("server")),
            (None, None, url, url),
            (None, None, None, None),
            (Some(" "), Some(""), url, url),
            (None, Some("a\nERROR b\u{1b}[2J\u{202e}c"), url, Some("a ERROR bc")),
            (None, Some(&*long), url, Some(&*format!("{} …", &long[..200]))),
        ] {
            let label = ServerLabel::new(&At(address), &Named(configured));
            assert_eq!(label.get(), configured.filter(|name| *name != " ").or(address), "before it is open");
            let info = sent.map(|name| RawJson::object(&Implementation::new(name, "1")));
            label.describe(&ServerDescription { info, ..ServerDescription::pinned(Revision::LATEST) });
            assert_eq!(label.get(), expected, "{configured:?}, {sent:?}, {address:?}");
        }
    }
}
