//! Reply receivers that validate the result against a schema of the host.

use crate::{
    client::{
        Client, ClientError, ClientId, RequestOptions,
        state::{
            reply_to::ReplyTo,
            result_schema::{ResultCheck, ResultSchema},
        },
    },
    protocol::{RawJson, envelope::Notification},
    runtime::Runtime,
};
use std::sync::Arc;

impl Client {
    /// Validates the result of a request before passing it on.
    #[doc(hidden)]
    pub fn checking(
        &self,
        schema: Option<Arc<ResultSchema>>,
        options: &RequestOptions,
        reply: Arc<dyn ReplyTo>,
    ) -> Arc<dyn ReplyTo> {
        let Some(schema) = schema else { return reply };
        let (runtime, timeout) = (Arc::clone(&self.inner.runtime), self.inner.request_timeout(options));
        let check = ResultCheck::new(schema, timeout, runtime.now());
        Arc::new(CheckedReply { check, runtime, client: self.inner.id, reply })
    }
}

/// A receiver of a validated result.
struct CheckedReply {
    check: ResultCheck,
    runtime: Arc<dyn Runtime>,
    client: ClientId,
    reply: Arc<dyn ReplyTo>,
}

impl ReplyTo for CheckedReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let result = match outcome {
            Ok(result) if self.check.schema.is_costly(&result) => result,
            outcome => return self.reply.answered(outcome.and_then(|result| self.check.schema.checked(result))),
        };
        let (reply, runtime) = (Arc::clone(&self.reply), Arc::clone(&self.runtime));
        let checking = self.check.clone().checked_in_turn(runtime, self.client, result);
        self.runtime.spawn(Box::pin(async move { reply.answered(checking.await) }));
    }

    fn wants_progress(&self) -> bool {
        self.reply.wants_progress()
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }
}
