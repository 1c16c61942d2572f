//! Determines the scopes that a message requires before it is served (AUS-10).

use super::server::Server;
use crate::protocol::envelope::{Frame, Request};

impl Server {
    /// Returns the scopes required by the features that a frame calls or reads.
    pub(crate) fn scopes_of(&self, frame: &Frame) -> Vec<String> {
        let scopes_of =
            |Request { method, params, .. }: &Request| self.snapshot().scopes_of_request(method, params.as_ref());
        frame.requests().filter_map(scopes_of).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        protocol::envelope::{Frame, FrameBounds},
        server::{Server, Tool},
    };
    use serde_json::json;

    #[test]
    fn aus_10_the_scopes_of_a_mounted_tool_are_known_before_it_is_served() {
        let tool = Tool::new("read", "Read.", async || "text").scopes(["files:read"]);
        let inner = Server::builder("inner", "1.0.0").add_tool(tool).build();
        let middle = Server::builder("middle", "1.0.0").mount("files", &inner).build();
        let server = Server::builder("outer", "1.0.0").mount("office", &middle).build();
        let scopes = |name: &str| {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}});
            server.scopes_of(&Frame::parse(&call.to_string().into(), FrameBounds::NONE))
        };
        assert_eq!(scopes("office__files__read"), ["files:read"]);
        assert_eq!(scopes("office__files__write"), [] as [&str; 0]);
    }
}
