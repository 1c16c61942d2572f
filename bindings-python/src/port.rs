//! The bridge's functions for Python, with the same names and in the same order as in
//! `docs/bridge.md`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyList, PyString};
use trunkline_bridge::{self as bridge, Body, Event, EventKind, Lane, OptionNames, Shape};

use crate::bell::SocketBell;
use crate::decode::decode;
use crate::descriptor;
use crate::encode::{encode, encode_options, utf8};
use crate::error::{contained, from_bridge, raise};

/// A waiting main thread must notice Ctrl-C.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// To wait longer, call again.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The reply to a call if no other reply could be created.
const UNREADABLE_CALL: &[u8] = br#"{"kind":"internal","message":"could not pass the call to Python"}"#;

/// Writes log records to standard error without blocking on a slow reader.
#[pyfunction]
pub(crate) fn write_stderr(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<()> {
    // UTF-8 cannot represent lone surrogates.
    let text = text.to_string_lossy().into_owned();
    contained(|| {
        py.detach(|| bridge::write_stderr(&text));
        Ok(())
    })
}

/// An event queue of the core, its bell, and the functions of the bridge.
#[pyclass(frozen, weakref, module = "trunkline._internal._native")]
pub(crate) struct Port {
    port: bridge::Port,
}

#[pymethods]
impl Port {
    /// Creates a port whose bell writes to the socket `fileno`; without one, the host waits in
    /// `drain`.
    #[new]
    #[pyo3(signature = (fileno=None))]
    fn new(fileno: Option<i32>) -> PyResult<Self> {
        contained(|| {
            Ok(Self { port: bridge::Port::new(SocketBell::new(fileno)?).with_option_names(OptionNames::Snake) })
        })
    }

    fn register(&self, kind: &str, json: &Bound<'_, PyAny>) -> PyResult<u64> {
        contained(|| self.port.register(kind, &self.message(json, kind)?).map_err(from_bridge))
    }

    fn unregister(&self, handle: u64) -> PyResult<()> {
        contained(|| self.port.unregister(handle).map_err(from_bridge))
    }

    fn open(&self, py: Python<'_>, json: &Bound<'_, PyAny>) -> PyResult<u64> {
        contained(|| {
            let json = self.message(json, "open")?;
            // The first call starts the runtime's threads, so let other Python threads run
            // meanwhile.
            py.detach(|| self.port.open(&json)).map_err(from_bridge)
        })
    }

    /// Opens a listener on duplicates of two descriptors.
    fn open_pipe(&self, py: Python<'_>, server: u64, reader: i32, writer: i32) -> PyResult<u64> {
        #[cfg(not(unix))]
        {
            let _ = (py, server, reader, writer);
            Err(raise("invalidArgument", "file descriptors can be served only on Unix: use HTTP"))
        }
        #[cfg(unix)]
        contained(|| {
            let (reader, writer) = (descriptor::duplicate(reader)?, descriptor::duplicate(writer)?);
            py.detach(|| self.port.open_pipe(server, reader, writer, false)).map_err(from_bridge)
        })
    }

    fn check(&self, json: &Bound<'_, PyAny>) -> PyResult<()> {
        contained(|| self.port.check(&self.message(json, "open")?).map_err(from_bridge))
    }

    fn close(&self, py: Python<'_>, handle: u64, deadline_ms: u64) -> PyResult<()> {
        contained(|| py.detach(|| self.port.close(handle, deadline_ms)).map_err(from_bridge))
    }

    fn close_deadline_ms(&self, handle: u64) -> PyResult<u64> {
        contained(|| self.port.close_deadline(handle).map_err(from_bridge))
    }

    fn request(&self, handle: u64, json: &Bound<'_, PyAny>) -> PyResult<u64> {
        contained(|| self.port.request(handle, &encode(json)?).map_err(from_bridge))
    }

    fn notify(&self, target: u64, json: &Bound<'_, PyAny>) -> PyResult<()> {
        contained(|| self.port.notify(target, &encode(json)?).map_err(from_bridge))
    }

    fn cancel(&self, ticket: u64, reason: &Bound<'_, PyString>) -> PyResult<()> {
        contained(|| self.port.cancel(ticket, &utf8(reason)?).map_err(from_bridge))
    }

    fn complete(&self, ticket: u64, shape: u8, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        contained(|| {
            let shape = Shape::from_number(shape)
                .ok_or_else(|| raise("invalidArgument", format!("there is no shape with the number {shape}")))?;
            let body = match (shape, value.cast::<PyString>()) {
                (Shape::Text, Ok(text)) => Bytes::copy_from_slice(utf8(text)?.as_bytes()),
                _ => Bytes::from(encode(value)?),
            };
            self.port.complete(ticket, shape, body).map_err(from_bridge)
        })
    }

    fn fail(&self, ticket: u64, json: &Bound<'_, PyAny>) -> PyResult<bool> {
        contained(|| self.port.fail(ticket, &encode(json)?).map_err(from_bridge))
    }

    fn http_request(&self, listener: u64, head: &Bound<'_, PyAny>, end: bool) -> PyResult<u64> {
        contained(|| self.port.http_request(listener, &encode(head)?, end).map_err(from_bridge))
    }

    fn http_body(&self, exchange: u64, bytes: &[u8], end: bool) -> PyResult<bool> {
        contained(|| {
            let bytes = Bytes::copy_from_slice(bytes);
            self.port.http_body(exchange, bytes, end).map_err(from_bridge)
        })
    }

    fn http_credit(&self, exchange: u64, bytes: u64) -> PyResult<()> {
        contained(|| self.port.http_credit(exchange, bytes).map_err(from_bridge))
    }

    /// Events as tuples `(kind, ticket, handle, ok, name, body, cause, cause_port)`.
    fn drain<'py>(&self, py: Python<'py>, lane: &str, max: usize, wait_ms: u64) -> PyResult<Bound<'py, PyList>> {
        contained(|| {
            let unknown = || raise("invalidArgument", format!("lane must be \"queue\" or \"pool\", not {lane:?}"));
            let lane = Lane::ALL.into_iter().find(|one| one.as_str() == lane).ok_or_else(unknown)?;
            let events = in_slices(py, wait_ms, |slice_ms| {
                let events = self.port.drain(lane, max, slice_ms)?;
                Ok(if events.is_empty() { None } else { Some(events) })
            })?;
            self.records(py, events.unwrap_or_default())
        })
    }

    /// The reply as a tuple `(ok, body)`, or nothing yet.
    fn wait<'py>(&self, py: Python<'py>, ticket: u64, wait_ms: u64) -> PyResult<Option<(bool, Bound<'py, PyAny>)>> {
        contained(|| {
            let reply = in_slices(py, wait_ms, |slice_ms| self.port.wait(ticket, slice_ms))?;
            reply.map(|reply| outcome(py, reply.is_ok(), &Body::from(reply).into_bytes())).transpose()
        })
    }

    /// The descriptor of a pipe that was handed over. The caller watches and closes it. `None` if
    /// the handoff has ended.
    fn watch(&self, handle: u64) -> PyResult<Option<i32>> {
        contained(|| Ok(self.port.watch(handle).map_err(from_bridge)?.and_then(descriptor::given_away)))
    }

    /// Polls for the next message of a pipe that was handed over, if that is worthwhile. Returns
    /// `True` if `read_ready` would find something.
    fn busy_poll(&self, py: Python<'_>, handle: u64) -> PyResult<bool> {
        contained(|| py.detach(|| self.port.busy_poll(handle)).map_err(from_bridge))
    }

    /// Reads once from a pipe that was handed over. Returns `False` if the handoff has ended.
    fn read_ready(&self, py: Python<'_>, handle: u64) -> PyResult<bool> {
        contained(|| py.detach(|| self.port.read_ready(handle)).map_err(from_bridge))
    }

    fn describe<'py>(&self, py: Python<'py>, target: u64) -> PyResult<Bound<'py, PyAny>> {
        contained(|| decoded(py, &self.port.describe(target).map_err(from_bridge)?))
    }

    #[pyo3(signature = (target, request=None))]
    fn telemetry<'py>(
        &self,
        py: Python<'py>,
        target: u64,
        request: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        contained(|| {
            let request = request.map(encode).transpose()?.unwrap_or_default();
            let record = self.port.telemetry(target, &request).map_err(from_bridge)?;
            record.map(|json| decoded(py, &json)).transpose()
        })
    }

    fn measurements<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        contained(|| {
            let json = self.port.measurements().map_err(from_bridge)?;
            json.map(|json| decoded(py, &json)).transpose()
        })
    }

    fn cancelled(&self, ticket: u64) -> PyResult<bool> {
        contained(|| self.port.cancelled(ticket).map_err(from_bridge))
    }
}

/// Encodes a value as JSON, as passed to the bridge.
#[pyfunction]
pub(crate) fn to_json<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    contained(|| Ok(PyBytes::new(py, &encode(value)?)))
}

/// Decodes a JSON value of an event.
#[pyfunction]
pub(crate) fn from_json<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    contained(|| decode(py, json).map_err(|message| raise("invalidArgument", message)))
}

type EventRecord<'py> = (u8, u64, u64, bool, String, Bound<'py, PyAny>, u64, u64);

impl Port {
    /// The JSON of a message with options.
    ///
    /// # Errors
    /// `InvalidArgumentError` with the name of the option that cannot be represented in JSON.
    fn message(&self, given: &Bound<'_, PyAny>, message: &str) -> PyResult<Vec<u8>> {
        let refused = |place: &str, what: &str| from_bridge(self.port.unwritable(message, place, what));
        encode_options(given, refused)
    }

    /// Converts events for Python. An event that fails is reported as an unraisable exception, and
    /// does not affect the others: a call gets an error response here.
    fn records<'py>(&self, py: Python<'py>, events: Vec<Event>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for event in events {
            let (kind, ticket) = (event.kind, event.ticket);
            if let Err(error) = contained(|| list.append(self.event(py, event)?)) {
                if kind == EventKind::Call {
                    let _ = self.port.fail(ticket, UNREADABLE_CALL);
                }
                error.write_unraisable(py, None);
            }
        }
        Ok(list)
    }

    /// Converts an event for Python. A call whose body fails to decode gets an error response here,
    /// and appears as cancelled to the host.
    fn event<'py>(&self, py: Python<'py>, mut event: Event) -> PyResult<EventRecord<'py>> {
        let (ok, body) = (event.ok(), event.body.into_bytes());
        let (ok, body) = match event.kind {
            EventKind::Cancel => (ok, PyString::new(py, &String::from_utf8_lossy(&body)).into_any()),
            EventKind::HttpChunk => (ok, PyBytes::new(py, &body).into_any()),
            EventKind::Call => match body_of(py, &body) {
                Ok(body) => (ok, body),
                Err(message) => {
                    let failure = failure(py, "internal", &message)?;
                    // If that fails, no one is waiting for it anymore.
                    let _ = self.port.fail(event.ticket, &encode(&failure)?);
                    event.kind = EventKind::Cancel;
                    (true, PyString::new(py, &message).into_any())
                }
            },
            _ => outcome(py, ok, &body)?,
        };
        Ok((event.kind as u8, event.ticket, event.handle, ok, event.name, body, event.cause, event.cause_port))
    }
}

fn decoded<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    decode(py, json.as_bytes()).map_err(|message| raise("internal", message))
}

fn body_of<'py>(py: Python<'py>, body: &[u8]) -> Result<Bound<'py, PyAny>, String> {
    if body.is_empty() { Ok(py.None().into_bound(py)) } else { decode(py, body) }
}

/// Returns whether a request succeeded, and its body; a body that cannot be decoded is a failure.
fn outcome<'py>(py: Python<'py>, ok: bool, body: &[u8]) -> PyResult<(bool, Bound<'py, PyAny>)> {
    match body_of(py, body) {
        Ok(body) => Ok((ok, body)),
        Err(message) => Ok((false, failure(py, "transport", &format!("invalid response: {message}"))?)),
    }
}

fn failure<'py>(py: Python<'py>, kind: &str, message: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok([("kind", kind), ("message", message)].into_py_dict(py)?.into_any())
}

/// Waits for up to `wait_ms` without the GIL. The main thread checks for signals between slices.
fn in_slices<T: Send>(
    py: Python<'_>,
    wait_ms: u64,
    mut wait: impl FnMut(u64) -> Result<Option<T>, bridge::BridgeError> + Send,
) -> PyResult<Option<T>> {
    // Take pending events without releasing the GIL.
    let found = wait(0).map_err(from_bridge)?;
    if found.is_some() || wait_ms == 0 {
        return Ok(found);
    }
    let deadline = Instant::now() + Duration::from_millis(wait_ms).min(MAX_WAIT);
    let mut longest = SIGNAL_CHECK_INTERVAL;
    loop {
        let started = Instant::now();
        let slice = deadline.saturating_duration_since(started).min(longest);
        // Rounded up, so that less than a millisecond does not turn into a busy loop.
        let slice_ms = slice.as_micros().div_ceil(1000) as u64;
        let found = py.detach(|| wait(slice_ms)).map_err(from_bridge)?;
        // An early return without a result: the port is closed, and nothing will arrive.
        if found.is_some() || started.elapsed() < slice || Instant::now() >= deadline {
            return Ok(found);
        }
        py.check_signals()?;
        if longest == SIGNAL_CHECK_INTERVAL && !on_main_thread(py)? {
            longest = MAX_WAIT;
        }
    }
}

fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main: u64 = threading.call_method0("main_thread")?.getattr("ident")?.extract()?;
    let current: u64 = threading.call_method0("get_ident")?.extract()?;
    Ok(main == current)
}
