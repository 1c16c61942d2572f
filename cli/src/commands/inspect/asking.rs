//! Asks the person on the page what the server asks.

use super::{
    hub::{Hub, text_of},
    inspector::Inspector,
    rounds::{Waiting, end},
    state::{Call, ConnectionState, Era, Increment, MAX_PART, Round, RoundKind, beginning, now},
};
use crate::failure::{Failure, Problem};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;
use trunkline::{
    Revision, RpcError,
    auth::{LoginPage, UrlOpener},
    client::{ClientHandlers, RequestHandler, ServerRequest},
    protocol::{RawJson, input::complete_answer, meta, method, model::ElicitAction},
};

/// Questions that may wait for an answer.
const MAX_ROUNDS: usize = 100;
/// The part of a question's text that is shown.
const MAX_MESSAGE: usize = 10_000;

/// Takes a question from the page when nobody waits for its answer any more.
struct Shown {
    hub: Arc<Hub>,
    id: u64,
}

impl Drop for Shown {
    fn drop(&mut self) {
        end(&self.hub, self.id, "withdrawal");
    }
}

impl Inspector {
    /// Lets the server of a connection ask.
    pub(super) fn handlers(self: &Arc<Self>, era: Era) -> ClientHandlers {
        let handler = |kind: RoundKind| -> RequestHandler {
            let inspector = Arc::downgrade(self);
            Arc::new(move |request: ServerRequest<RawJson>| {
                let inspector = Weak::clone(&inspector);
                Box::pin(async move {
                    let inspector = inspector.upgrade().ok_or_else(RpcError::internal)?;
                    inspector.ask(era, kind, request.params).await
                })
            })
        };
        ClientHandlers::default()
            .answer("elicit", handler(RoundKind::Form))
            .answer("elicit_url", handler(RoundKind::Url))
            .answer("sample_with_tools", handler(RoundKind::Sampling))
    }

    /// Shows the page of a login as a question, which ends with the opening of its connection, or
    /// with the call that needs it.
    pub(super) fn opener(self: &Arc<Self>, era: Era) -> UrlOpener {
        let inspector = Arc::downgrade(self);
        UrlOpener::of_pages(move |page: LoginPage| {
            if let Some(inspector) = inspector.upgrade() {
                inspector.show_login(era, &page);
            }
            std::future::ready(Ok(()))
        })
    }

    /// Asks the person, and waits for the answer.
    async fn ask(&self, era: Era, kind: RoundKind, params: RawJson) -> Result<RawJson, RpcError> {
        if params.as_bytes().len() > MAX_PART {
            return Err(RpcError::invalid_params(format!("A question of more than {MAX_PART} bytes is not shown")));
        }
        let given: Value = params.parse().map_err(|_| RpcError::invalid_params("The params cannot be read"))?;
        let message = match kind {
            RoundKind::Sampling => "The server asks for a message of the model",
            _ => given["message"].as_str().unwrap_or_default(),
        };
        let message = beginning(message, MAX_MESSAGE).to_owned();
        let latest = if era == Era::Modern { Revision::LATEST } else { Revision::LATEST_LEGACY };
        let revision = self.connection(era).map_or(latest, |connection| connection.client.revision());
        let (sender, answer) = oneshot::channel();
        let method = match kind {
            RoundKind::Sampling => method::SAMPLING_CREATE_MESSAGE,
            _ => method::ELICITATION_CREATE,
        };
        let id = self.hub.state().number();
        {
            let open = &mut *self.rounds.open();
            open.waiting.retain(|_, waiting| !waiting.sender.is_closed());
            if open.waiting.len() >= MAX_ROUNDS {
                return Err(RpcError::new(-1, format!("{MAX_ROUNDS} questions are waiting for an answer already")));
            }
            open.waiting.insert(id, Waiting { method, params: given, revision, sender });
        }
        self.show(id, (era, kind), message, params);
        let _shown = Shown { hub: Arc::clone(&self.hub), id };
        let answer = answer.await;
        answer.unwrap_or_else(|_| Err(RpcError::new(-1, "Nobody answers")))
    }

    /// Shows a question.
    fn show(&self, id: u64, (era, kind): (Era, RoundKind), message: String, params: RawJson) {
        let state = &mut *self.hub.state();
        let task = params.parse::<Value>().ok();
        let task = task.as_ref().and_then(|params| params["_meta"][meta::RELATED_TASK]["taskId"].as_str());
        // Calls of an older connection may still be ending.
        let is_opening = state.connection(era).state == ConnectionState::Connecting;
        let running: Vec<&Call> = state.running(Some(era)).filter(|_| !is_opening).collect();
        let of_task = running.iter().rfind(|call| task.is_some() && call.task.as_deref() == task);
        // A question that names no task must be of the only call.
        let call = of_task.or(running.first().filter(|_| running.len() == 1)).map(|call| call.id);
        let round = Round { id, era, call, at: now(), kind, message, params };
        let text = text_of(&Increment::Round { round: &round });
        state.rounds.push(round);
        self.hub.tell(state, &text);
    }

    fn show_login(&self, era: Era, page: &LoginPage) {
        let params = RawJson::object(&json!({"url": page.url, "userCode": page.user_code}));
        let id = self.hub.state().number();
        self.rounds.end_logins(era, None);
        self.show(id, (era, RoundKind::Login), "The server asks for a login".to_owned(), params);
    }

    /// Answers a question. An answer that does not match it is refused, and the question stays.
    pub(super) async fn answer(
        &self,
        id: u64,
        action: ElicitAction,
        content: Option<Map<String, Value>>,
    ) -> Result<(), Problem> {
        let is_login = |round: &&Round| round.id == id && round.kind == RoundKind::Login;
        let login = self.hub.state().rounds.iter().find(is_login).map(|round| (round.era, round.call));
        if let Some((era, call)) = login {
            self.stop_login(era, call).await;
            return Ok(());
        }
        let refused = |failure: Failure| Problem::from(&failure);
        let mut open = self.rounds.open();
        let gone = || refused(Failure::usage("The question is no longer open"));
        let Waiting { method, params, revision, .. } = open.waiting.get(&id).ok_or_else(gone)?;
        let answer = match (*method, action) {
            (method::SAMPLING_CREATE_MESSAGE, ElicitAction::Accept) => Ok(Value::Object(content.unwrap_or_default())),
            (method::SAMPLING_CREATE_MESSAGE, _) => Err(RpcError::new(-1, "The user declined")),
            (_, action) => {
                let mut answer = json!({"action": action.as_str()});
                if let (ElicitAction::Accept, Some(content)) = (action, content) {
                    answer["content"] = content.into();
                }
                Ok(answer)
            }
        };
        let answer = match answer {
            Ok(answer) => {
                let complete = complete_answer(method, params, answer, *revision);
                let complete = complete.map_err(|error| refused(Failure::usage(error.to_string())))?;
                Ok(RawJson::object(&complete))
            }
            Err(declined) => Err(declined),
        };
        let waiting = open.waiting.remove(&id).ok_or_else(gone)?;
        drop(open);
        end(&self.hub, id, "answer");
        waiting.sender.send(answer).map_err(|_| gone())
    }
}
