//! Determines the scopes that a message requires before it is served (AUS-10).

use super::{
    registry::{Category, CompletionTarget},
    server::Server,
};
use crate::protocol::{
    envelope::{Frame, Message, Request},
    method::{Method, Target},
};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

impl Server {
    /// Returns the scopes required by the features that a frame calls or reads.
    pub(crate) fn scopes_of(&self, frame: &Frame) -> Vec<String> {
        match frame {
            Frame::Single(Ok(Message::Request(request))) => self.scopes_of_request(request),
            Frame::Single(_) => Vec::new(),
            Frame::Batch(elements) => elements
                .iter()
                .filter_map(|element| match element {
                    Ok(Message::Request(request)) => Some(self.scopes_of_request(request)),
                    _ => None,
                })
                .flatten()
                .collect(),
        }
    }

    fn scopes_of_request(&self, request: &Request) -> Vec<String> {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
            #[serde(borrow)]
            uri: Option<Cow<'a, str>>,
            #[serde(rename = "ref")]
            reference: Option<Value>,
        }
        let snapshot = self.snapshot();
        if let Some(handler) = snapshot.request_handler(&request.method) {
            return handler.access.scopes.clone();
        }
        let Some(target) = Method::target(&request.method) else { return Vec::new() };
        let lists: &[Category] = match target {
            Target::Tool => &[Category::Tools],
            Target::Prompt => &[Category::Prompts],
            Target::Resource => &[Category::Resources, Category::ResourceTemplates],
            Target::Completion => &[Category::Prompts, Category::ResourceTemplates],
            // Subscriptions and tasks belong to the caller and require no scopes.
            Target::Subscription | Target::Task => &[],
        };
        if !lists.iter().any(|list| snapshot.is_personal(*list)) {
            return Vec::new();
        }
        // A request without a name is refused when it is served.
        let Some(named) = request.params.as_ref().and_then(|params| params.parse::<Named<'_>>().ok()) else {
            return Vec::new();
        };
        let of_reference = |reference| match CompletionTarget::read(reference).ok()? {
            CompletionTarget::Prompt(name) => snapshot.prompt(&name).map(|prompt| prompt.options.access.scopes.clone()),
            CompletionTarget::Resource(uri) => {
                snapshot.templates.get(&uri).map(|template| template.read.options.access.scopes.clone())
            }
        };
        let scopes = match (target, &named.name, &named.uri, &named.reference) {
            (Target::Tool, Some(name), ..) => snapshot.tool(name).map(|tool| tool.options.access.scopes.clone()),
            (Target::Prompt, Some(name), ..) => {
                snapshot.prompt(name).map(|prompt| prompt.options.access.scopes.clone())
            }
            (Target::Completion, .., Some(reference)) => of_reference(reference),
            (Target::Resource, _, Some(uri), _) => {
                snapshot.readable(uri).map(|read| read.options.access.scopes.clone())
            }
            _ => None,
        };
        scopes.unwrap_or_default()
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
