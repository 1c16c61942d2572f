//! The features and hooks of a server, which can be added and removed while it is running.

use trunkline_bridge::message::{Notification, NotifyFeature, NotifyServer};

use crate::calls::{Registered, trunkline_call_callback};
use crate::client::trunkline_client;
use crate::edge::prelude::*;
use crate::generated::features::NAMED_BY;
use crate::json::{parsed, read};
use crate::options::{SetMembers, trunkline_tool_options};
use crate::server::trunkline_server;

/// The kinds whose calls the core handles itself.
const WITHOUT_CALLBACK: [&str; 4] = ["skill", "directory", "mount", "proxy"];

impl trunkline_server {
    /// Adds a feature or hook. `registration` is set before its first call can arrive.
    pub(crate) fn add(
        &self,
        kind: &str,
        mut entry: SetMembers,
        callback: Option<Callback<trunkline_call_callback>>,
        registration: impl FnOnce(u64),
    ) -> Result<(), Failure> {
        if !WITHOUT_CALLBACK.contains(&kind) {
            required(callback.as_ref(), "callback")?;
        }
        let member = NAMED_BY.iter().find(|(named, _)| *named == kind).map(|(_, member)| *member);
        let name = member.and_then(|member| entry.0.get(kind)?.get(member)?.as_str()).map(str::to_owned);
        let replaced = entry.0.get("replaces").and_then(serde_json::Value::as_u64);
        entry.put("server", self.handle());
        let registered = Arc::new(Registered { server: self.handle(), callback });
        let handle = self.port().make(registered, |core| core.register(kind, entry.0), registration)?;
        let mut names = self.names.lock();
        names.retain(|_, named| Some(*named) != replaced);
        if let Some(name) = name {
            names.insert((kind.to_owned(), name), handle);
        }
        Ok(())
    }

    /// Adds a feature that a descriptor describes completely.
    pub(crate) fn add_described(
        &self,
        kind: &str,
        descriptor: &str,
        callback: Option<Callback<trunkline_call_callback>>,
    ) -> Result<(), Failure> {
        let entry = SetMembers::default().with(kind, parsed("descriptor", descriptor)?);
        self.add(kind, entry, callback, |_| ())
    }

    pub(crate) fn remove(&self, registration: u64) -> Result<(), Failure> {
        self.check_registration(registration)?;
        self.port().core.unregister(registration)?;
        self.port().detach(registration);
        self.names.lock().retain(|_, handle| *handle != registration);
        Ok(())
    }

    pub(crate) fn remove_named(&self, kind: &str, name: &str) -> Result<(), Failure> {
        let found = self.names.lock().get(&(kind.to_owned(), name.to_owned())).copied();
        self.remove(found.ok_or_else(|| Failure::not_found(format!("there is no {kind} {name:?}")))?)
    }

    fn check_registration(&self, registration: u64) -> Result<(), Failure> {
        let unknown = || Failure::not_found(format!("{registration} is not a registration of this server"));
        self.port().has_receiver(registration, self.handle())?.then_some(()).ok_or_else(unknown)
    }

    pub(crate) fn notify(&self, notification: NotifyServer) -> Result<(), Failure> {
        Ok(self.port().core.notify_message(self.handle(), Notification::Server(notification))?)
    }
}

/// Adds a feature or a hook to a server, even while it is running. `entry` is a JSON object;
/// descriptors in it are the specification's objects of the newest revision. The kinds, with the
/// arguments of `callback` and the values it may return (`trunkline_call_return_json` lists the
/// shapes):
///
/// - "tool": `{"tool": Tool, "wrapOutput": false, "requires": {}, "deferTask": false}`; the
///   arguments. A tool without `inputSchema` takes none. Tools, resources, resource templates and
///   prompts also accept `"scopes": []`, which the caller's access token must grant, `"timeoutMs"`,
///   the maximum time of one call, and `"visible"`, the number of a "visibility".
/// - "resource": `{"resource": Resource, "ttlMs": 0, "cacheScope": "private"}`; `{"uri"}`.
/// - "resourceTemplate": `{"resourceTemplate": ResourceTemplate, "ttlMs", "cacheScope",
///   "unsafePaths": false}`; `{"uri", "variables": {name: text}}`. Without `unsafePaths`, a URI is
///   treated as not found if a value has a `..` segment or a NUL, or looks like an absolute path.
/// - "prompt": `{"prompt": Prompt}`; the arguments.
/// - "completion": `{"ref": {"type": "ref/prompt", "name"} or {"type": "ref/resource", "uri"},
///   "argument"}`; `{"ref", "argument": {"name", "value"}, "context"}`, returns a value: an array
///   of strings, or `{"values", "total", "hasMore"}`.
/// - "completer": `{}`, the same for use in a definition: resource templates and prompts accept
///   `"complete": {"city": 17}`, which maps variables or arguments to the numbers of completers.
///   Remove it after the features that use it.
/// - "provider": `{"of": "tools", "resources", "resourceTemplates" or "prompts"}`, for features
///   that are not registered; `{"list": {"cursor"}}`, which returns the value `{"items",
///   "nextCursor"}`, or `{"get": {the request's params}}` for a name or URI that is not registered,
///   which returns what the feature would, or the value `null` if there is none. Arguments of a
///   tool are validated against its listed schema only if the caller has listed it, and scopes are
///   not checked: the callback must check them itself.
/// - "middleware": `{"methods": [...]}` (absent: all that can be wrapped), the first outermost;
///   `{"method", "params"}`, see `trunkline_call_next`; returns a complete result.
/// - "requestHandler": `{"method": "com.acme/sum", "paramsSchema", "scopes": [], "timeoutMs"}`, a
///   custom request; the params without `_meta`, returns a value: an object, or `null` for an empty
///   one.
/// - "visibility": `{}`, decides who can see and call a feature; `{"name"}`, returns the value
///   `true` or `false`. Remove it after the features that use it.
/// - "verifier": `{}`, verifies access tokens (`trunkline_http_options_set_auth`); `{"token",
///   "scheme", "method", "url", "resource"}`, returns the value `{"subject", "clientId", "scopes",
///   "expiresAt", "claims", …}`, or `null` for an unknown token. `trunkline_call_fail_invalid`
///   refuses the token with a message for the client (401), `trunkline_call_fail_protocol` with the
///   data `{"error": "insufficient_scope", "scopes": []}` if it lacks these scopes (403). Its calls
///   have the facts (`trunkline_call_fact`) of the HTTP request: "/headers/x-tenant", "/target",
///   "/remoteAddress".
/// - "mount" and "proxy": see `trunkline_server_mount` and `trunkline_server_proxy`; they receive
///   no calls, `callback` is NULL.
/// - "skill": `{"folder"}` or `{"files": [{"path", "text" or "blob"}]}`, `"root"`; receives no
///   calls, `callback` is NULL.
/// - "directory": `{"uri", "path", "hidden": false, "maxFileBytes": 4194304}`, a folder whose files
///   are resources, read on request; receives no calls, `callback` is NULL.
///
/// An entry with `"replaces"`, the number of a registration of the same kind, replaces that
/// registration, even under the same name; the old number becomes invalid. Running calls continue
/// with the old callback. With the server option `on_duplicate` "replace", an entry replaces one of
/// the same name without a number.
///
/// `registration` may be NULL; otherwise it receives a number for `trunkline_server_remove` and
/// `trunkline_server_set_enabled`. `TRUNKLINE_INVALID_ARGUMENT` if the entry or a schema in it is
/// invalid. `destructor` is called exactly once: when the feature is removed or the server freed
/// and no call uses `user_data`, or immediately if this function fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_add(
    server: *mut trunkline_server,
    kind: trunkline_str,
    entry: trunkline_str,
    callback: trunkline_call_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    registration: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let callback = Callback::new(callback, user_data, destructor);
    guard(error, || {
        let (kind, entry) = (text!(kind), SetMembers(read("entry", text!(entry))?));
        handle!(server).add(kind, entry, callback, out_or_null!(registration))
    })
}

/// Removes anything added with `trunkline_server_add`. Connected clients are notified; running
/// calls are unaffected. `TRUNKLINE_NOT_FOUND` if the number is unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_remove(
    server: *mut trunkline_server,
    registration: u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).remove(registration))
}

/// Hides a tool, resource, resource template or prompt (`is_enabled` false), or shows it again:
/// while hidden, it is omitted from lists, and calls fail as if it did not exist. It keeps its name
/// and its position. Connected clients are notified; running calls are unaffected.
/// `TRUNKLINE_NOT_FOUND` if the number is unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_set_enabled(
    server: *mut trunkline_server,
    registration: u64,
    is_enabled: bool,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let server = handle!(server);
        server.check_registration(registration)?;
        let note = NotifyFeature { enabled: Some(is_enabled) };
        Ok(server.port().core.notify_message(registration, Notification::Feature(note))?)
    })
}

/// Adds a tool with options (NULL: none). Otherwise like `trunkline_server_add_tool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_add_tool_with(
    server: *mut trunkline_server,
    descriptor: trunkline_str,
    options: *const trunkline_tool_options,
    callback: trunkline_call_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    let callback = Callback::new(callback, user_data, destructor);
    guard(error, || {
        let entry = settled!(options).map(|options| options.given.clone()).unwrap_or_default();
        let entry = entry.with("tool", parsed("descriptor", text!(descriptor))?);
        handle!(server).add("tool", entry, callback, |_| ())
    })
}

/// Mounts another server: its features, including later additions, become features of this one,
/// until the registration is removed or a server is freed. Tools and prompts are named
/// `prefix__name`, resources `prefix+uri`; with an empty prefix, which one server may have, names
/// and URIs stay unchanged. Middleware of the other server runs for its own features, inside that
/// of this one; the options are those of this one. The callbacks of the other server run where its
/// own port is dispatched: give both the same port (`trunkline_server_options_set_port`), or
/// dispatch both.
///
/// `registration` may be NULL; otherwise it receives a number for `trunkline_server_remove`.
/// `TRUNKLINE_INVALID_ARGUMENT` if the prefix is already in use or contains anything but letters,
/// digits, `-` and `_`, or if the server is already mounted here, is this one, or contains this
/// one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_mount(
    server: *mut trunkline_server,
    prefix: trunkline_str,
    other: *const trunkline_server,
    registration: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, prefix, other) = (handle!(server), text!(prefix), handle!(other));
        let entry = SetMembers::default().with("prefix", prefix).with("mounted", other.handle());
        let entry = entry.with("port", other.port().core.number());
        server.add("mount", entry, None, out_or_null!(registration))
    })
}

/// Proxies the server behind a client, whatever revisions the two sides use, until the registration
/// is removed or the client closed. Progress, log messages and cancellations are forwarded, and
/// requests of the server go to the client whose call triggered them. Servers of revisions before
/// 2026-07-28 get a separate connection per caller, opened like the client's. If the client is a
/// group, all its servers are proxied, each under its name in the group and for as long as it
/// belongs to the group. `prefix` as for `trunkline_server_mount`. `options` is empty, or the other
/// options as JSON: `{"maxConnections": 64, "shared": false, "transparent": false}`. No callback
/// runs for it.
///
/// `registration` may be NULL; otherwise it receives a number for `trunkline_server_remove`.
/// `TRUNKLINE_INVALID_ARGUMENT` as for `trunkline_server_mount`, and if the client is not
/// connected, or is connected to this very server, directly or through its group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_proxy(
    server: *mut trunkline_server,
    client: *const trunkline_client,
    prefix: trunkline_str,
    options: trunkline_str,
    registration: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, client, prefix) = (handle!(server), &handle!(client).connection, text!(prefix));
        let options = match text!(options) {
            "" => SetMembers::default(),
            options => SetMembers(read("options", options)?),
        };
        let entry = options.with("prefix", prefix).with("connection", client.handle);
        let entry = entry.with("port", client.port.core.number());
        server.add("proxy", entry, None, out_or_null!(registration))
    })
}
