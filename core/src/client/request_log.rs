//! The log of a client's requests: a debug record of each with its outcome.

use super::{error::ClientError, reply::ReplyTo};
use crate::{
    protocol::{RawJson, envelope::Notification},
    runtime::Runtime,
};
use std::{sync::Arc, time::Instant};

/// The receiver of an outcome, which is logged where debug records are wanted.
pub(super) fn logged(runtime: &Arc<dyn Runtime>, method: &str, reply: Arc<dyn ReplyTo>) -> Arc<dyn ReplyTo> {
    if !tracing::event_enabled!(target: "trunkline::client::request", tracing::Level::DEBUG) {
        return reply;
    }
    Arc::new(TimedReply { method: method.to_owned(), runtime: Arc::clone(runtime), began: runtime.now(), reply })
}

struct TimedReply {
    method: String,
    runtime: Arc<dyn Runtime>,
    began: Instant,
    reply: Arc<dyn ReplyTo>,
}

impl ReplyTo for TimedReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let milliseconds = self.runtime.now().saturating_duration_since(self.began).as_secs_f64() * 1e3;
        tracing::debug!(
            target: "trunkline::client::request",
            method = self.method,
            milliseconds,
            error = outcome.as_ref().err().map(tracing::field::display),
            "request answered"
        );
        self.reply.answered(outcome);
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }
}
