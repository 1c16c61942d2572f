//! Routes clients' messages to the process that serves the request they concern.

use super::{session_records::SharedSession, store_keys, worker_notification::NotificationContent};
use crate::{
    protocol::{
        RawJson, RequestId,
        envelope::{self, Frame, Message, NoResult, Notification, Response},
        method,
    },
    store::StoreError,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Maximum size of a client's notification for another process: the log that all read has 10,000.
const MAX_NOTIFICATION: usize = 4 << 10;

/// The other processes that a message may concern.
#[derive(Debug, PartialEq)]
enum Concerned {
    /// The process that created the request.
    Worker(u64),
    /// All, because the request's id was chosen by the client and does not identify its process.
    All,
}

impl SharedSession {
    /// Forwards the messages of a frame to the other processes that they concern. Returns `false`
    /// if a response was not forwarded, because its process seems dead. It may only have lost its
    /// lease while the store was unavailable, so the client should send the response again.
    ///
    /// # Errors
    /// If the store fails. The client can then send them again.
    pub(crate) async fn route(&self, frame: &Frame) -> Result<bool, StoreError> {
        let (mut is_forwarded, here) = (true, Concerned::Worker(self.workers.number));
        for message in frame.messages().iter().flatten() {
            let Some(concerned) = concerned(message).filter(|it| *it != here) else { continue };
            let Some(text) = encoded(message) else { continue };
            let text = String::from_utf8_lossy(&text).into_owned();
            let content = NotificationContent::FromClient { session: self.id.to_string(), message: text };
            let log = match concerned {
                // Clients may invent numbers, and nobody reads the log of a process that is gone.
                Concerned::Worker(number) if self.workers.lives(number).await => store_keys::messages(number),
                Concerned::Worker(_) => {
                    is_forwarded &= !matches!(message, Message::Response(_));
                    continue;
                }
                Concerned::All => store_keys::MESSAGES.to_owned(),
            };
            self.workers.publish_and_wait(&log, content).await?;
        }
        Ok(is_forwarded)
    }
}

fn concerned(message: &Message) -> Option<Concerned> {
    match message {
        Message::Request(_) => None,
        Message::Response(response) => numbered_by(response.id.as_ref()?),
        Message::Notification(notification) => match &*notification.method {
            method::CANCELLED | method::TASKS_STATUS => Some(Concerned::All),
            method::PROGRESS => {
                let of = notification.params.as_ref()?.parse::<ProgressOf>().ok()?;
                numbered_by(&RequestId::from_json(of.progress_token.as_str())?)
            }
            _ => None,
        },
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct CancellationOf {
    request_id: RawJson,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressOf {
    progress_token: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<RawJson>,
}

/// The process that created a request to a client.
fn numbered_by(id: &RequestId) -> Option<Concerned> {
    let RequestId::String(id) = id else { return None };
    let number = id.split_once('-')?.0.parse::<u32>().ok()?;
    Some(Concerned::Worker(number.into()))
}

fn encoded(message: &Message) -> Option<Bytes> {
    match message {
        Message::Request(_) => None,
        Message::Notification(Notification { method, params }) => {
            let text = envelope::encode_notification(method, params.as_ref().map(|params| params.as_bytes()));
            if text.len() <= MAX_NOTIFICATION {
                return Some(text);
            }
            // The reason or message can be that long, and the handler can do without.
            let params = params.as_ref()?;
            let essential = match &**method {
                method::CANCELLED => serde_json::to_vec(&params.parse::<CancellationOf>().ok()?),
                method::PROGRESS => serde_json::to_vec(&params.parse::<ProgressOf>().ok()?),
                _ => return None,
            };
            let text = envelope::encode_notification(method, Some(&essential.ok()?));
            (text.len() <= MAX_NOTIFICATION).then_some(text)
        }
        Message::Response(Response { id, outcome }) => {
            let id = id.as_ref()?;
            Some(match outcome {
                Ok(result) => envelope::encode_result(id, result.as_bytes()),
                Err(NoResult::Error(error)) => envelope::encode_error(Some(id), error),
                // Forwarded unchanged although invalid: it fails its request there.
                Err(NoResult::InvalidResponse(_)) => {
                    format!(r#"{{"jsonrpc":"2.0","id":{},"error":null}}"#, id.to_raw()).into()
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Limits;

    fn message(text: &str) -> Message {
        match Frame::parse(&text.as_bytes().to_vec().into(), Limits::default().frame()) {
            Frame::Single(Ok(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_concerns_who_numbered_its_request() {
        let id = r#""4294967295-7-1""#;
        let of = |text: String| concerned(&message(&text));
        let worker = Some(Concerned::Worker(0xffff_ffff));
        assert_eq!(of(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)), worker);
        assert_eq!(of(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"no"}}}}"#)), worker);
        let progress = |token: &str| {
            of(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            ))
        };
        assert_eq!(progress(id), worker);
        for token in ["7", "-7", r#""7""#, r#""-7""#, r#""4294967296-1""#, "1.5", "{}"] {
            assert_eq!(progress(token), None, "{token}");
        }
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(of(cancelled.to_owned()), Some(Concerned::All));
        assert_eq!(of(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned()), None);
    }

    #[test]
    fn long_notifications_are_cut_to_what_is_needed() {
        let long = "x".repeat(MAX_NOTIFICATION);
        let sent = |method: &str, params: String| {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            encoded(&message(&text)).map(|text| message(str::from_utf8(&text).unwrap()))
        };
        let cancelled = message(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!(sent(method::CANCELLED, format!(r#"{{"requestId":7,"reason":"{long}"}}"#)), Some(cancelled));
        assert_eq!(sent(method::CANCELLED, format!(r#"{{"requestId":"{long}"}}"#)), None);
        let progress = r#""progressToken":"1-1","progress":0.5"#;
        let plain = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{{progress}}}}}"#);
        let long_message = format!(r#"{{"total":2,"message":"{long}",{progress}}}"#);
        assert_eq!(sent(method::PROGRESS, long_message), Some(message(&plain)));
        assert_eq!(sent(method::PROGRESS, format!(r#"{{"progressToken":"{long}"}}"#)), None);
        assert_eq!(sent(method::TASKS_STATUS, format!(r#"{{"taskId":"1","statusMessage":"{long}"}}"#)), None);
    }

    #[test]
    fn messages_are_sent_on_as_they_came() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":[2.0]}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":{"x":1}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r","reason":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
        ] {
            let came = message(text);
            let sent = message(str::from_utf8(&encoded(&came).unwrap()).unwrap());
            assert_eq!(sent, came, "{text}");
        }
    }
}
