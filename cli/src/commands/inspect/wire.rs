//! The messages and HTTP exchanges that the library observes, as rows.

use super::state::{Era, HttpPart, Row, beginning, now};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    time::{Duration, SystemTime},
};
use trunkline::{
    Revision,
    protocol::{
        RawJson, RequestId,
        envelope::{Frame, FrameBounds, Message, NoResult},
        method::{MessageKind, Method, Sender},
    },
    wire_log::{Direction, HttpExchange, MessageInfo, Observed, Side},
};

/// Older rows are dropped.
const MAX_ROWS: usize = 10_000;
/// The same for the size of their messages.
const MAX_BYTES: usize = 64 << 20;
/// The part of a message that a row has.
const MAX_TEXT: usize = 2_048;
/// The size of the headers of a request or response in a row.
const MAX_HEADERS: usize = 8_192;
/// The part of its parameters or result that a list shows.
const MAX_PREVIEW: usize = 240;
/// Maximum length of a name or URI in a row.
const MAX_NAME: usize = 500;
/// Rows of a snapshot, and of one fetch of older ones.
pub(super) const MAX_SHOWN: usize = 500;

/// A row, and the whole text of its message.
struct Kept {
    row: Row,
    whole: Bytes,
}

/// A request that waits for its response: the other end, whether its sender is the client, and its
/// id.
type Waiting = (Peer, bool, RequestId);

/// The other end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Peer {
    /// The server of a client.
    Server(Option<u64>),
    /// An app, which is a client of the page.
    App(u64),
}

/// A message, and where it was seen.
struct Seen<'a> {
    peer: Peer,
    era: Option<Era>,
    direction: &'static str,
    is_of_client: bool,
    /// The method of its request, for a response.
    method: Option<&'a str>,
    revision: Option<Revision>,
    whole: Bytes,
}

/// The row of a request, its time and its method.
struct Sent {
    row: u64,
    at: f64,
    method: Option<String>,
}

/// The last rows.
#[derive(Default)]
pub(super) struct Wire {
    rows: VecDeque<Kept>,
    bytes: usize,
    next: u64,
    /// The requests without a response.
    waiting: HashMap<Waiting, Sent>,
    /// The eras of the clients, by their numbers.
    eras: HashMap<u64, Era>,
}

/// The parts of a message that a row shows.
#[derive(Default)]
struct Read {
    kind: &'static str,
    method: Option<String>,
    id: Option<RequestId>,
    /// The parameters, the result or the error.
    content: Option<RawJson>,
}

impl Wire {
    /// Names the era of a client.
    pub(super) fn belongs(&mut self, client: u64, era: Era) {
        self.eras.insert(client, era);
    }

    pub(super) fn knows(&self, client: u64) -> bool {
        self.eras.contains_key(&client)
    }

    /// Adds what the library has observed. `None` for what is no exchange of a client.
    pub(super) fn add(&mut self, observed: &Observed<'_>) -> Option<&Row> {
        let kept = match observed {
            Observed::Message(info, text) => self.message(seen(info, text, &self.eras)),
            Observed::Http(exchange) if exchange.side == Side::Client => self.exchange(exchange),
            _ => return None,
        };
        self.keep(kept)
    }

    /// Adds a message between an app and the page.
    pub(super) fn add_of_app(&mut self, (era, app): (Era, u64), is_from_app: bool, whole: Bytes) -> Option<&Row> {
        let kept = self.message(Seen {
            peer: Peer::App(app),
            era: Some(era),
            direction: if is_from_app { "fromApp" } else { "toApp" },
            is_of_client: is_from_app,
            method: None,
            revision: None,
            whole,
        });
        self.keep(kept)
    }

    fn keep(&mut self, kept: Kept) -> Option<&Row> {
        self.bytes += kept.whole.len();
        self.rows.push_back(kept);
        while self.rows.len() > MAX_ROWS || (self.bytes > MAX_BYTES && self.rows.len() > 1) {
            self.drop_oldest();
        }
        self.rows.back().map(|kept| &kept.row)
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.rows.pop_front() {
            self.bytes -= oldest.whole.len();
            if oldest.row.kind == "request" {
                // Its response would answer a row that nobody has.
                self.waiting.retain(|_, sent| sent.row != oldest.row.id);
            }
        }
    }

    fn message(&mut self, seen: Seen<'_>) -> Kept {
        let Seen { peer, era, direction, is_of_client, method, revision, whole } = seen;
        let (at, read) = (now(), read(&whole, method));
        let id = self.number();
        let answered = match (&read.id, read.kind) {
            (Some(rpc), "request") => {
                let sent = Sent { row: id, at, method: read.method.clone() };
                self.waiting.insert((peer, is_of_client, rpc.clone()), sent);
                None
            }
            (Some(rpc), "result" | "error") => self.waiting.remove(&(peer, !is_of_client, rpc.clone())),
            _ => None,
        };
        let about =
            read.method.as_deref().and_then(|method| about(method, read.content.as_ref()?, is_of_client, revision));
        let of_request = answered.as_ref().and_then(|sent| sent.method.as_ref());
        let text = String::from_utf8_lossy(&whole);
        let shown = beginning(&text, MAX_TEXT);
        let row = Row {
            id,
            at,
            era,
            direction,
            kind: read.kind,
            // The library does not name the method of its own responses.
            method: read.method.as_ref().or(of_request).map(|method| short(method)),
            rpc_id: read.id.map(|id| id.to_raw()).filter(|id| id.as_bytes().len() <= MAX_NAME),
            preview: match &read.content {
                Some(content) => preview(content),
                // Perhaps no message at all.
                None if read.kind == "error" => beginning(&text, MAX_PREVIEW).to_owned(),
                None => String::new(),
            },
            about: about.as_deref().map(short),
            answers: answered.as_ref().map(|sent| sent.row),
            ms: answered.as_ref().map(|sent| at - sent.at),
            bytes: whole.len(),
            cut: shown.len() < text.len(),
            text: shown.to_owned(),
            http: None,
        };
        Kept { row, whole }
    }

    fn exchange(&mut self, exchange: &HttpExchange<'_>) -> Kept {
        let outcome = match (exchange.status, exchange.error) {
            (Some(status), _) => status.to_string(),
            (None, error) => error.unwrap_or("no response").to_owned(),
        };
        let text = format!("{} {} {outcome}", exchange.method, exchange.url);
        let shown = beginning(&text, MAX_TEXT);
        let row = Row {
            id: self.number(),
            at: now(),
            era: exchange.connection.and_then(|client| self.eras.get(&client).copied()),
            direction: "sent",
            kind: "http",
            method: Some(short(exchange.method)),
            rpc_id: None,
            preview: beginning(&text, MAX_PREVIEW).to_owned(),
            about: Some(short(exchange.url)),
            answers: None,
            ms: Some(exchange.duration.as_secs_f64() * 1000.0),
            bytes: text.len(),
            cut: shown.len() < text.len(),
            text: shown.to_owned(),
            http: Some(HttpPart {
                status: exchange.status,
                request_headers: first(&exchange.request_headers),
                response_headers: first(&exchange.response_headers),
                error: exchange.error.map(|error| beginning(error, MAX_TEXT).to_owned()),
            }),
        };
        Kept { row, whole: text.into() }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The last rows before one, oldest first.
    pub(super) fn last(&self, before: u64) -> impl Iterator<Item = &Row> {
        let end = self.rows.partition_point(|kept| kept.row.id < before);
        self.rows.range(end.saturating_sub(MAX_SHOWN)..end).map(|kept| &kept.row)
    }

    /// The whole message of a row.
    pub(super) fn whole(&self, id: u64) -> Option<Bytes> {
        let index = self.rows.binary_search_by_key(&id, |kept| kept.row.id).ok()?;
        Some(self.rows[index].whole.clone())
    }

    /// The HTTP exchanges, as a HAR file. Their messages are rows of their own, so that it has no
    /// bodies.
    pub(super) fn har(&self) -> String {
        fn exchange(kept: &Kept) -> Option<(&Row, &HttpPart, &str)> {
            Some((&kept.row, kept.row.http.as_ref()?, str::from_utf8(&kept.whole).ok()?))
        }
        format!("{:#}", har(self.rows.iter().filter_map(exchange)))
    }

    /// All rows with their whole messages, as lines of JSON.
    pub(super) fn lines(&self) -> String {
        #[derive(Serialize)]
        struct Line<'a> {
            #[serde(flatten)]
            row: &'a Row,
            message: Option<RawJson>,
        }
        let line = |kept: &Kept| {
            let message = kept.row.http.is_none().then(|| RawJson::from_text(kept.whole.clone()).ok()).flatten();
            serde_json::to_string(&Line { row: &kept.row, message }).unwrap_or_default() + "\n"
        };
        self.rows.iter().map(line).collect()
    }
}

fn seen<'a>(info: &MessageInfo<'a>, text: &[u8], eras: &HashMap<u64, Era>) -> Seen<'a> {
    let is_sent = info.direction == Direction::Sent;
    Seen {
        peer: Peer::Server(info.connection),
        era: info.connection.and_then(|client| eras.get(&client).copied()),
        direction: if is_sent { "sent" } else { "received" },
        is_of_client: is_sent,
        method: info.method,
        revision: info.revision,
        whole: Bytes::copy_from_slice(text),
    }
}

/// The HTTP exchanges, with their headers, in the format of browsers' tools (HAR 1.2).
fn har<'a>(exchanges: impl Iterator<Item = (&'a Row, &'a HttpPart, &'a str)>) -> Value {
    let headers = |headers: &[(String, String)]| -> Vec<Value> {
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let value_of = |headers: &[(String, String)], wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let entry = |(row, http, line): (&Row, &HttpPart, &str)| {
        let (method, rest) = line.split_once(' ').unwrap_or_default();
        let url = rest.split(' ').next().unwrap_or_default();
        let query = url.split_once('?').map(|(_, query)| query.split('&')).into_iter().flatten();
        let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let ms = row.ms.unwrap_or_default();
        let began = Duration::from_secs_f64((row.at - ms).max(0.0) / 1000.0);
        json!({
            "startedDateTime": humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + began).to_string(),
            "time": ms,
            "request": {
                "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [],
                "headers": headers(&http.request_headers),
                "queryString": query.map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>(),
                "headersSize": -1, "bodySize": -1,
            },
            "response": {
                "status": http.status.unwrap_or_default(), "statusText": http.error.as_deref().unwrap_or_default(),
                "httpVersion": "HTTP/1.1", "cookies": [], "headers": headers(&http.response_headers),
                "content": {"size": -1, "mimeType": value_of(&http.response_headers, "content-type")},
                "redirectURL": value_of(&http.response_headers, "location"), "headersSize": -1, "bodySize": -1,
            },
            "cache": {},
            // Observed until the head of the response.
            "timings": {"send": 0, "wait": ms, "receive": 0},
        })
    };
    let creator = json!({"name": "trunkline inspect", "version": env!("CARGO_PKG_VERSION")});
    json!({"log": {"version": "1.2", "creator": creator, "entries": exchanges.map(entry).collect::<Vec<_>>()}})
}

/// Reads a message; `method` is that of its request, for a response.
fn read(text: &Bytes, method: Option<&str>) -> Read {
    let of_request = || method.filter(|method| !method.is_empty()).map(str::to_owned);
    let frame = Frame::parse(text, FrameBounds::NONE);
    match frame.messages().first() {
        Some(Ok(Message::Request(request))) => Read {
            kind: "request",
            method: Some(request.method.clone().into_owned()),
            id: Some(request.id.clone()),
            content: request.params.clone(),
        },
        Some(Ok(Message::Notification(notification))) => Read {
            kind: "notification",
            method: Some(notification.method.clone().into_owned()),
            id: None,
            content: notification.params.clone(),
        },
        Some(Ok(Message::Response(response))) => Read {
            kind: if response.outcome.is_ok() { "result" } else { "error" },
            method: of_request(),
            id: response.id.clone(),
            content: match &response.outcome {
                Ok(result) => Some(result.clone()),
                Err(NoResult::Error(error)) => RawJson::from_value(error).ok(),
                Err(NoResult::InvalidResponse(_)) => None,
            },
        },
        // Without its id, which is none of a response: it would answer another request.
        Some(Err(_)) | None => Read { kind: "error", method: of_request(), ..Read::default() },
    }
}

/// The name or URI that a request is about.
pub(super) fn about(method: &str, params: &RawJson, is_of_client: bool, revision: Option<Revision>) -> Option<String> {
    let (sender, revision) =
        (if is_of_client { Sender::Client } else { Sender::Server }, revision.unwrap_or(Revision::LATEST_LEGACY));
    let row = Method::find(method, MessageKind::Request, sender, revision)?;
    let parameter = row.target?.parameter();
    let params: HashMap<String, &RawValue> = params.parse().ok()?;
    serde_json::from_str(params.get(parameter)?.get()).ok()
}

/// The beginning of the content of a message, without `_meta`, which is equal in many.
fn preview(content: &RawJson) -> String {
    let mut shown = Cow::Borrowed(content.as_str());
    if shown.len() <= MAX_TEXT
        && let Ok(mut members) = content.parse::<Map<String, Value>>()
        && members.shift_remove("_meta").is_some()
    {
        shown = Value::Object(members).to_string().into();
    }
    beginning(&shown, MAX_PREVIEW).to_owned()
}

/// The first headers, each cut short.
fn first(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut left = MAX_HEADERS;
    let short = |(name, value): &(String, String)| (short(name), beginning(value, MAX_TEXT).to_owned());
    let fits = |(name, value): &(String, String)| {
        left = left.saturating_sub(name.len() + value.len());
        left > 0
    };
    headers.iter().map(short).take_while(fits).collect()
}

fn short(text: &str) -> String {
    beginning(text, MAX_NAME).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use trunkline::{
        RpcError,
        protocol::{
            envelope::{encode_error, encode_request, encode_result},
            method,
        },
    };

    #[test]
    fn exchanges_are_exported_as_har() {
        let mut wire = Wire::default();
        let http = HttpPart {
            status: Some(302),
            request_headers: vec![("cookie".to_owned(), "[redacted]".to_owned())],
            response_headers: vec![("Location".to_owned(), "/x".to_owned())],
            error: None,
        };
        wire.keep(Kept { row: row(1, Some(http)), whole: "POST http://127.0.0.1:1/mcp?a=b&c 302".into() });
        wire.keep(Kept { row: row(2, None), whole: "{}".into() });
        let har: Value = serde_json::from_str(&wire.har()).unwrap();
        let entry = &har["log"]["entries"][0];
        assert_eq!(har["log"]["entries"].as_array().map(Vec::len), Some(1));
        assert_eq!(entry["startedDateTime"], "1970-01-01T00:00:00.995Z");
        assert_eq!((&entry["time"], &entry["timings"]["wait"]), (&json!(5.0), &json!(5.0)));
        assert_eq!(entry["request"]["url"], "http://127.0.0.1:1/mcp?a=b&c");
        assert_eq!(entry["request"]["queryString"], json!([{"name": "a", "value": "b"}, {"name": "c", "value": ""}]));
        assert_eq!(entry["request"]["headers"], json!([{"name": "cookie", "value": "[redacted]"}]));
        assert_eq!((&entry["response"]["status"], &entry["response"]["redirectURL"]), (&json!(302), &json!("/x")));
        let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(members(entry), "startedDateTime time request response cache timings");
        let of_both = "cookies headers headersSize bodySize httpVersion";
        for (part, own) in
            [("request", "method url queryString"), ("response", "status statusText content redirectURL")]
        {
            let (found, expected) = (members(&entry[part]), format!("{of_both} {own}"));
            let sorted = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(sorted(&found), sorted(&expected), "{part}");
        }
        assert_eq!(wire.lines().lines().count(), 2);
    }

    #[test]
    fn a_preview_begins_with_what_differs() {
        let of = |text: &str| preview(&RawJson::from_text(Bytes::copy_from_slice(text.as_bytes())).unwrap());
        assert_eq!(of(r#"{"_meta":{"a":1},"b":2,"c":[3]}"#), r#"{"b":2,"c":[3]}"#);
        assert_eq!(of("[1]"), "[1]");
        assert_eq!(of(&format!("{:?}", "a".repeat(MAX_TEXT))).len(), MAX_PREVIEW);
    }

    fn row(id: u64, http: Option<HttpPart>) -> Row {
        Row {
            id,
            at: 1000.0,
            era: None,
            direction: "sent",
            kind: "request",
            method: None,
            rpc_id: None,
            preview: String::new(),
            about: None,
            answers: None,
            ms: Some(5.0),
            bytes: 1,
            text: String::new(),
            cut: false,
            http,
        }
    }

    #[test]
    fn headers_are_bounded() {
        let header = |length: usize| ("name".to_owned(), "v".repeat(length));
        assert_eq!(first(&[header(1), header(2)]), [header(1), header(2)]);
        assert_eq!(first(&[header(MAX_TEXT + 1)]), [header(MAX_TEXT)]);
        assert_eq!(first(&vec![header(MAX_TEXT); 100]).len(), 3);
    }

    #[test]
    fn old_rows_are_dropped_by_number() {
        let mut wire = Wire::default();
        for number in 0..MAX_ROWS + 5 {
            let row = row(wire.number(), None);
            wire.keep(Kept { row, whole: number.to_string().into() });
        }
        assert_eq!(wire.rows.len(), MAX_ROWS);
        assert_eq!(wire.whole(5), None);
        assert_eq!(wire.whole(6).as_deref(), Some(&b"5"[..]));
        let shown: Vec<u64> = wire.last(10).map(|row| row.id).collect();
        assert_eq!(shown, [6, 7, 8, 9]);
        assert_eq!(wire.last(u64::MAX).count(), MAX_SHOWN);
        assert_eq!(wire.lines().lines().count(), MAX_ROWS);
    }

    #[test]
    fn old_rows_are_dropped_by_size() {
        let mut wire = Wire::default();
        let large = Bytes::from(vec![b' '; MAX_BYTES / 2]);
        for _ in 0..3 {
            let row = row(wire.number(), None);
            wire.keep(Kept { row, whole: large.clone() });
        }
        assert_eq!((wire.rows.len(), wire.bytes), (2, MAX_BYTES));
        let row = row(wire.number(), None);
        wire.keep(Kept { row, whole: vec![b' '; MAX_BYTES + 1].into() });
        assert_eq!(wire.rows.len(), 1);
    }

    #[test]
    fn a_response_after_its_request_was_dropped_answers_nothing() {
        let mut wire = Wire::default();
        let mut add = |is_from_app: bool, message: Bytes| {
            wire.add_of_app((Era::Modern, 1), is_from_app, message).unwrap().answers
        };
        for id in 1..=MAX_ROWS {
            add(true, encode_request(&RequestId::Integer(i64::try_from(id).unwrap()), method::PING, None));
        }
        assert_eq!(add(false, encode_result(&RequestId::Integer(2), b"{}")), Some(2));
        assert_eq!(add(false, encode_result(&RequestId::Integer(1), b"{}")), None);
        assert_eq!(wire.waiting.len(), MAX_ROWS - 2);
    }

    #[test]
    fn a_row_has_the_parts_of_its_message() {
        let text = encode_request(&RequestId::Integer(1), method::PROMPTS_GET, Some(br#"{"name":"review"}"#));
        let request = read(&text, None);
        assert_eq!((request.kind, request.method.as_deref()), ("request", Some(method::PROMPTS_GET)));
        let params = request.content.as_ref().unwrap();
        assert_eq!(about(method::PROMPTS_GET, params, true, Some(Revision::LATEST)).as_deref(), Some("review"));
        assert_eq!(request.content.as_ref().map(preview).as_deref(), Some(r#"{"name":"review"}"#));
        let error = read(&encode_error(Some(&RequestId::Integer(1)), &RpcError::internal()), Some(method::PING));
        assert_eq!((error.kind, error.method.as_deref()), ("error", Some(method::PING)));
        assert_eq!(read(&Bytes::from_static(b"{}"), None).kind, "error");
    }
}
