//! The remaining answers of a script, and the requests answered so far.

use std::{collections::VecDeque, future::ready, sync::Arc};
use trunkline_core::{
    client::{ClientHandlers, HandlerError},
    extension::sync::Mutex,
    protocol::{
        RpcError,
        error::code,
        model::{CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams},
    },
};

/// Maximum recorded requests.
const MAX_RECORDED: usize = 10_000;

/// A server request answered by the script.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnsweredRequest {
    /// A form for the user.
    Elicit(ElicitFormParams),
    /// A page for the user to open.
    ElicitUrl(ElicitUrlParams),
    /// A conversation for the model.
    Sample(Box<CreateMessageParams>),
}

/// A script in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub(super) forms: VecDeque<ElicitResult>,
    pub(super) pages: VecDeque<ElicitResult>,
    pub(super) samples: VecDeque<CreateMessageResult>,
    pub(super) answered: Vec<AnsweredRequest>,
    /// Requests for which no answer was left.
    unanswered: Vec<String>,
}

impl Lines {
    /// The next of the answers that `of` selects. `what` and `text` describe the request.
    fn answer<T>(
        lines: &Mutex<Self>,
        of: impl FnOnce(&mut Self) -> &mut VecDeque<T>,
        (what, text): (&str, &str),
        request: AnsweredRequest,
    ) -> Result<T, HandlerError> {
        let mut lines = lines.lock();
        let Some(answer) = of(&mut lines).pop_front() else {
            let problem = format!("the script has no answer left for the {what} {text:?}");
            lines.unanswered.push(problem.clone());
            return Err(HandlerError::new(RpcError::new(code::INTERNAL_ERROR, problem)));
        };
        if lines.answered.len() < MAX_RECORDED {
            lines.answered.push(request);
        }
        Ok(answer)
    }

    /// Handlers that answer from the script. Kinds without answers have no handler, so the client
    /// doesn't declare them.
    #[expect(deprecated, reason = "older revisions have it")]
    pub(super) fn handlers(script: &Arc<Mutex<Self>>) -> ClientHandlers {
        let Self { forms, pages, samples, .. } = &*script.lock();
        let mut handlers = ClientHandlers::default();
        if !forms.is_empty() {
            let lines = Arc::clone(script);
            handlers = handlers.on_elicit(move |request| {
                let text = request.message.clone();
                let answered = AnsweredRequest::Elicit(request.params);
                ready(Self::answer(&lines, |lines| &mut lines.forms, ("form", &text), answered))
            });
        }
        if !pages.is_empty() {
            let lines = Arc::clone(script);
            handlers = handlers.on_elicit_url(move |request| {
                let text = request.url.clone();
                let answered = AnsweredRequest::ElicitUrl(request.params);
                ready(Self::answer(&lines, |lines| &mut lines.pages, ("page", &text), answered))
            });
        }
        if !samples.is_empty() {
            let lines = Arc::clone(script);
            handlers = handlers.on_sample_with_tools(move |request| {
                let last = request.messages.last().map(|message| message.content.0.iter());
                let text = last.into_iter().flatten().find_map(|block| block.as_text()).unwrap_or_default().to_owned();
                let answered = AnsweredRequest::Sample(Box::new(request.params));
                ready(Self::answer(&lines, |lines| &mut lines.samples, ("message", &text), answered))
            });
        }
        handlers
    }

    /// The faults of a finished test.
    pub(super) fn faults(&self) -> Vec<String> {
        let left =
            [(self.forms.len(), "forms"), (self.pages.len(), "pages"), (self.samples.len(), "messages to the model")];
        let left = left.iter().filter(|(number, _)| *number > 0);
        let left = left.map(|(number, kind)| format!("{number} answers to {kind} were not asked for"));
        self.unanswered.iter().cloned().chain(left).collect()
    }
}
