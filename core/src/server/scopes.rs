//! Which scopes a message needs, known before it is served (AUS-10).

use super::facade::Server;
use crate::protocol::{
    envelope::{Frame, Message, Request},
    method,
};
use serde::Deserialize;
use std::borrow::Cow;

impl Server {
    /// The scopes that the tools need which a frame calls. Empty if their callers need none.
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
            name: Cow<'a, str>,
        }
        if &*request.method != method::TOOLS_CALL {
            return Vec::new();
        }
        // A request without a name is refused where it would be served.
        let named = request.params.as_ref().and_then(|params| params.parse::<Named<'_>>().ok());
        let snapshot = self.snapshot();
        let tool = named.and_then(|named| snapshot.tool(&named.name));
        tool.map(|tool| tool.scopes.clone()).unwrap_or_default()
    }
}
