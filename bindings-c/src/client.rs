//! The client: connecting, and requests on a connection.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use trunkline::protocol::RawJson;
use trunkline_bridge::message::{HostSpan, Notification, NotifyConnection, OPEN, Request};

use crate::calls::CallCallback;
use crate::edge::failure::Failure;
use crate::edge::ffi::{Out, give};
use crate::edge::text::Text;
use crate::json::find;
use crate::open_handle::{self, HeldUntilClosed, OpenHandle};
use crate::options::{SetMembers, trunkline_client_options};
use crate::port::{Port, trunkline_port};
use crate::requests::{PreparedRequest, trunkline_request_options};
use crate::server::trunkline_server;

/// A connection to a server. Its functions may be used on any thread. Free it with
/// `trunkline_client_free`.
pub struct trunkline_client {
    pub(crate) port: trunkline_port,
    pub(crate) connection: Arc<ClientConnection>,
}

/// The part that blocking functions hold while they wait, because a callback may free the client.
pub(crate) struct ClientConnection {
    pub(crate) port: Arc<Port>,
    pub(crate) handle: u64,
    pub(crate) open: Arc<OpenHandle>,
}

/// Connects over a transport, on the port of the server if it is in this process, on the port in
/// the options, or on a new one.
pub(crate) fn connect(
    options: Option<&trunkline_client_options>,
    server: Option<&trunkline_server>,
    transport: impl FnOnce(&trunkline_client_options) -> SetMembers,
    client: Out<*mut trunkline_client>,
) -> Result<(), Failure> {
    let defaults = trunkline_client_options::default();
    let options = options.unwrap_or(&defaults);
    let port = server.map(trunkline_server::port).or(options.port.as_ref()).cloned().map_or_else(Port::new, Ok)?;
    let wait = !options.background;
    let given = SetMembers::default().with("client", options.given.clone().0).with("transport", transport(options).0);
    let given = given.with("wait", wait).with("handlers", options.handlers.as_given());
    let given = given.with("auth", options.auth.clone()).0;
    let open = OpenHandle::new(options.notification.clone(), options.handlers.clone());
    if let Some(server) = server {
        open.hold(server.inner.lifespan.enter(&port)?);
    }
    let made = |handle| {
        if let Some(server) = server {
            server.note_client(handle, &open);
        }
        trunkline_client {
            port: trunkline_port { port: port.clone() },
            connection: Arc::new(ClientConnection { port: port.clone(), handle, open: open.clone() }),
        }
    };
    let observed = port.telemetry().filter(|_| options.is_observed());
    let span = observed.and_then(|telemetry| {
        let opening = Request::default().with_method(OPEN.to_owned());
        Some((telemetry, telemetry.numbered(&port.core, 0, &opening)?))
    });
    let begin = |begun: &mut dyn FnMut(u64)| {
        let mut given = given;
        if let Some((_, HostSpan { number, trace })) = &span {
            given.insert("span".to_owned(), json!({"number": number, "trace": trace}));
        }
        let made = port.make(open.clone(), |core| core.open(given), begun);
        if let (Err(_), Some((telemetry, span))) = (&made, &span) {
            telemetry.unsent(span.number);
        }
        made
    };
    if wait {
        port.check_may_wait()?;
        let connecting = made(begin(&mut |_| ())?);
        port.wait_for(connecting.connection.handle, None).inspect_err(|_| {
            let _ = port.run_as_callback(None, || open.let_go());
        })?;
        client.put(give(connecting));
    } else {
        let mut client = Some(client);
        begin(&mut |handle| {
            if let Some(client) = client.take() {
                client.put(give(made(handle)));
            }
        })?;
    }
    Ok(())
}

impl ClientConnection {
    /// Sends a request, and blocks until its result arrives.
    pub(crate) fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: Option<&trunkline_request_options>,
    ) -> Result<Bytes, Failure> {
        Ok(PreparedRequest { method, params, all: false, options }.run(&self.port, self.handle)?.1)
    }

    /// Lists all items, page by page, and blocks until all have arrived: the items at `pointer` in
    /// the results.
    pub(crate) fn list(
        &self,
        method: &str,
        pointer: &str,
        options: Option<&trunkline_request_options>,
    ) -> Result<Text, Failure> {
        let (_, listed) = PreparedRequest { method, params: None, all: true, options }.run(&self.port, self.handle)?;
        let listed = str::from_utf8(&listed).map_err(|reason| Failure::internal(reason.to_string()))?;
        Ok(Text::copy(find(listed, pointer)?.as_bytes()))
    }

    /// Registers a handler on a connected client.
    pub(crate) fn answer(&self, operation: &'static str, callback: CallCallback) -> Result<(), Failure> {
        let mut handlers = self.open.handlers.lock().clone();
        handlers.put(operation, callback);
        // Store the handler first: a request may arrive at once.
        let before = std::mem::replace(&mut *self.open.handlers.lock(), handlers.clone());
        let note = NotifyConnection { handlers: Some(handlers.lanes()), ..NotifyConnection::default() };
        let noted = self.note(note);
        if noted.is_err() {
            // The host's destructors must run without a lock held.
            let refused = std::mem::replace(&mut *self.open.handlers.lock(), before);
            drop(refused);
        }
        noted
    }

    /// Sends a notification to the server.
    pub(crate) fn notify(&self, method: &str, params: Option<Value>) -> Result<(), Failure> {
        let span = self.port.telemetry().and_then(|telemetry| {
            let sent = params.as_ref().and_then(|params| RawJson::from_value(params).ok());
            let sent = Request::default().with_method(method.to_owned()).with_params(sent).with_notification(true);
            telemetry.numbered(&self.port.core, self.handle, &sent)
        });
        self.note(NotifyConnection { method: Some(method.to_owned()), params, span, ..NotifyConnection::default() })
    }

    /// Sends a note about the connection to the core.
    pub(crate) fn note(&self, note: NotifyConnection) -> Result<(), Failure> {
        Ok(self.port.core.notify_message(self.handle, Notification::Connection(note))?)
    }
}

impl Drop for trunkline_client {
    fn drop(&mut self) {
        let ClientConnection { port, handle, open } = &*self.connection;
        open_handle::close_now(port, *handle, open);
        if port.check_process().is_err() {
            return;
        }
        match open.take_lifespan() {
            // Calls of its handlers may run until then.
            Some(lifespan) => drop(port.attach(*handle, Arc::new(HeldUntilClosed::new(lifespan)))),
            None => port.detach(*handle),
        }
        port.detach_all_of(*handle);
        // Threads that wait for the end still hold it.
        open.end(port, Err(Failure::closed("the client was freed")));
    }
}
