//! An HTTP exchange that the process observes.

use super::observer;
use crate::wire_log::{HttpExchange, Side, WireLog};
use http::{HeaderMap, Method, StatusCode};
use std::{fmt::Display, time::Instant};

/// An exchange in progress.
pub(super) struct ObservedExchange {
    log: &'static dyn WireLog,
    side: Side,
    connection: Option<u64>,
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    began: Instant,
}

impl ObservedExchange {
    /// Called before a request is sent or served. Returns `None` if nobody observes.
    pub(super) fn begin(side: Side, method: &Method, url: &dyn Display, headers: &HeaderMap) -> Option<Box<Self>> {
        let log = observer::of_process()?;
        let (method, url, headers) = (method.to_string(), url.to_string(), pairs(headers));
        Some(Box::new(Self { log, side, connection: None, method, url, headers, began: Instant::now() }))
    }

    /// Says to which client it belongs.
    #[cfg(feature = "http-client")]
    pub(super) fn of_client(mut self: Box<Self>, connection: Option<u64>) -> Box<Self> {
        self.connection = connection;
        self
    }

    /// The head of the response is known.
    pub(super) fn answered(exchange: Option<Box<Self>>, status: StatusCode, headers: &HeaderMap) {
        if let Some(exchange) = exchange {
            exchange.end(Some(status.as_u16()), pairs(headers), None);
        }
    }

    /// There was no response.
    #[cfg(any(feature = "auth", feature = "http-client"))]
    pub(super) fn failed(exchange: Option<Box<Self>>, error: &str) {
        if let Some(exchange) = exchange {
            exchange.end(None, Vec::new(), Some(error));
        }
    }

    fn end(self, status: Option<u16>, response_headers: Vec<(String, String)>, error: Option<&str>) {
        let Self { log, side, connection, method, url, headers, began } = self;
        log.http(&HttpExchange {
            side,
            connection,
            method: &method,
            url: &url,
            request_headers: headers,
            status,
            response_headers,
            error,
            duration: began.elapsed(),
        });
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}
