//! Calls of tools that are made once more, because the server missed a header (H26-38).

use super::{
    client::Client, error::ClientError, flight::InFlight, inner::ClientInner, options::RequestOptions, reply::ReplyTo,
};
use crate::{
    engine::RequestExtras,
    protocol::{RawJson, error::code, method},
};
use std::sync::{Arc, Weak};

/// Gets the answer of a call first: if the server missed a header, the list of tools is fetched
/// anew and the call made once more (H26-38).
pub(super) struct RepeatOnMismatch {
    pub(super) client: Weak<ClientInner>,
    pub(super) params: Option<RawJson>,
    pub(super) options: RequestOptions,
    pub(super) extras: RequestExtras,
    pub(super) reply: Arc<dyn ReplyTo>,
    pub(super) flight: InFlight,
}

impl ReplyTo for RepeatOnMismatch {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let mismatch = matches!(&outcome, Err(ClientError::Protocol(error)) if error.code == code::HEADER_MISMATCH);
        match self.client.upgrade() {
            Some(inner) if mismatch => {
                let client = Client { inner };
                let again = Self {
                    client: self.client.clone(),
                    params: self.params.clone(),
                    options: self.options.clone(),
                    extras: self.extras.clone(),
                    reply: Arc::clone(&self.reply),
                    flight: self.flight.clone(),
                };
                let runtime = Arc::clone(&client.inner.runtime);
                runtime.spawn(Box::pin(async move { again.call(&client, outcome).await }));
            }
            _ => self.reply.answered(outcome),
        }
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }
}

impl RepeatOnMismatch {
    async fn call(self, client: &Client, refused: Result<RawJson, ClientError>) {
        client.inner.cache.forget(method::TOOLS_LIST);
        if client.list_all(method::TOOLS_LIST, None, &RequestOptions::default()).await.is_err() {
            return self.reply.answered(refused);
        }
        let (params, options) = (self.params.as_ref(), &self.options);
        let (reply, extras) = (Arc::clone(&self.reply), self.extras.clone());
        let started = client.send_noting(&self.flight, method::TOOLS_CALL, params, options, extras, reply, true);
        if let Err(error) = started {
            self.reply.answered(Err(error));
        }
    }
}
