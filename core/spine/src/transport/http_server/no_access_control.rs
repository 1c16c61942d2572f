//! Replaces `access_control.rs` if the feature `auth` is off: every caller is unknown and admitted.

use super::{http_options::HttpOptions, response_body::HttpBody};
use crate::{
    http::rejection::Rejection,
    protocol::envelope::Frame,
    runtime::Runtime,
    server::{Arrival, HttpRequest, Server},
};
use http::{Method, Response};
use std::{sync::Arc, time::Duration};

/// The authorization of an endpoint: none.
pub(super) struct AccessControl;

impl AccessControl {
    pub(super) fn of(_: &HttpOptions, _: bool, _: &Server, _: &Arc<dyn Runtime>) -> Self {
        Self
    }

    /// Requires no token.
    pub(super) async fn caller(&self, _: &HttpRequest, _: &Arc<dyn Runtime>) -> Result<Caller, Rejection> {
        Ok(Caller)
    }

    /// Returns `None`: there is no metadata document.
    pub(super) fn metadata(&self, _: &Method, _: &str, _: Option<&str>) -> Option<Response<HttpBody>> {
        None
    }

    /// Adds nothing: without proofs, there is no nonce.
    pub(super) fn add_nonce(&self, _: &mut Response<HttpBody>) {}
}

/// The unknown sender of a request.
#[derive(Clone, Default)]
pub(super) struct Caller;

impl Caller {
    /// How a message in a request arrived.
    pub(super) fn arrival(&self, request: HttpRequest) -> Arrival {
        Arrival::over_http(request)
    }

    /// Admits every message.
    pub(super) fn admit(&self, _: &Server, _: &Frame) -> Result<(), Rejection> {
        Ok(())
    }

    /// Streams have no maximum lifetime.
    pub(super) fn lifetime(&self) -> Option<Duration> {
        None
    }

    /// There is no principal.
    pub(super) fn principal(&self) -> Option<&str> {
        None
    }
}
