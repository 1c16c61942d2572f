//! The remaining answers of a script, and the requests answered so far.

use super::answered::AnsweredRequest;
use crate::{
    client::{ClientHandlers, HandlerError},
    protocol::{
        RpcError,
        error::code,
        model::{CreateMessageResult, ElicitResult},
    },
    sync::Mutex,
};
use std::{collections::VecDeque, sync::Arc};

/// Maximum recorded requests.
const MAX_RECORDED: usize = 10_000;

/// The answers to one kind of request, in order.
#[derive(Debug, Clone)]
pub(super) struct ScriptedAnswers<T>(VecDeque<T>);

impl<T> Default for ScriptedAnswers<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> ScriptedAnswers<T> {
    pub(super) fn push(&mut self, answer: T) {
        self.0.push_back(answer);
    }
}

/// A script in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub(super) forms: ScriptedAnswers<ElicitResult>,
    pub(super) pages: ScriptedAnswers<ElicitResult>,
    pub(super) samples: ScriptedAnswers<CreateMessageResult>,
    asked: Vec<AnsweredRequest>,
    /// Requests for which no answer was left.
    unanswered: Vec<String>,
}

impl Lines {
    fn answer<T>(
        lines: &Mutex<Self>,
        of: impl FnOnce(&mut Self) -> &mut ScriptedAnswers<T>,
        (what, text): (&str, &str),
        asked: AnsweredRequest,
    ) -> Result<T, HandlerError> {
        let mut lines = lines.lock();
        let answer = of(&mut lines).0.pop_front();
        if answer.is_none() {
            let problem = format!("the script has no answer left for the {what} {text:?}");
            lines.unanswered.push(problem.clone());
            return Err(HandlerError::new(RpcError::new(code::INTERNAL_ERROR, problem)));
        }
        if lines.asked.len() < MAX_RECORDED {
            lines.asked.push(asked);
        }
        answer.ok_or_else(|| HandlerError::new(RpcError::internal()))
    }

    /// Handlers that answer from the script. Kinds without answers have no handler, so the client
    /// doesn't declare them.
    pub(super) fn handlers(lines: &Arc<Mutex<Self>>) -> ClientHandlers {
        let (forms, pages, samples) = {
            let lines = lines.lock();
            (!lines.forms.0.is_empty(), !lines.pages.0.is_empty(), !lines.samples.0.is_empty())
        };
        let mut handlers = ClientHandlers::default();
        if forms {
            let lines = Arc::clone(lines);
            handlers = handlers.on_elicit(move |request| {
                let text = request.message.clone();
                let asked = AnsweredRequest::Elicit(request.params);
                std::future::ready(Self::answer(&lines, |lines| &mut lines.forms, ("form", &text), asked))
            });
        }
        if pages {
            let lines = Arc::clone(lines);
            handlers = handlers.on_elicit_url(move |request| {
                let text = request.url.clone();
                let asked = AnsweredRequest::ElicitUrl(request.params);
                std::future::ready(Self::answer(&lines, |lines| &mut lines.pages, ("page", &text), asked))
            });
        }
        if samples {
            let lines = Arc::clone(lines);
            handlers = handlers.on_sample_with_tools(move |request| {
                let last = request.messages.last().map(|message| message.content.0.iter());
                let text = last.into_iter().flatten().find_map(|block| block.as_text()).unwrap_or_default().to_owned();
                let asked = AnsweredRequest::Sample(Box::new(request.params));
                std::future::ready(Self::answer(&lines, |lines| &mut lines.samples, ("message", &text), asked))
            });
        }
        handlers
    }

    pub(super) fn asked(&self) -> &[AnsweredRequest] {
        &self.asked
    }

    /// What went wrong in a finished test.
    pub(super) fn faults(&self) -> Vec<String> {
        let left = [
            (self.forms.0.len(), "forms"),
            (self.pages.0.len(), "pages"),
            (self.samples.0.len(), "messages to the model"),
        ];
        let left = left.iter().filter(|(number, _)| *number > 0);
        let left = left.map(|(number, kind)| format!("{number} answers to {kind} were not asked for"));
        self.unanswered.iter().cloned().chain(left).collect()
    }
}
