//! Features and hooks of a server; `generated/features.rs` has those whose members are arguments.

use std::ffi::c_void;

use crate::calls::{CallCallback, trunkline_call_callback};
use crate::client::trunkline_client;
use crate::edge::prelude::*;
use crate::json::{parsed, read};
use crate::options::{SetMembers, trunkline_tool_options};
use crate::server::trunkline_server;

/// Adds a feature of a server, or a hook, also while the server runs. `entry` is a JSON object;
/// descriptors in it are the specification's objects of the newest revision. The arguments of
/// `callback`, and the answers that it may give, (`trunkline_call_return_json` has the shapes):
///
/// - "tool": `{"tool": Tool, "wrapOutput": false, "requires": {}, "deferTask": false}`; the
///   arguments, of which a tool without `inputSchema` takes none. Tools, resources, resource
///   templates and prompts also take `"scopes": []`, which the caller's access token must grant,
///   `"timeoutMs"`, the longest time of one call, and `"visible"`, the number of a "visibility".
/// - "resource": `{"resource": Resource, "ttlMs": 0, "cacheScope": "private"}`; `{"uri"}`.
/// - "resourceTemplate":
///   `{"resourceTemplate": ResourceTemplate, "ttlMs", "cacheScope", "unsafePaths": false}`;
///   `{"uri", "variables": {name: text}}`. Without `unsafePaths` a URI is not found if a value has
///   a segment `..` or a NUL, or begins like an absolute path.
/// - "prompt": `{"prompt": Prompt}`; the arguments.
/// - "completion":
///   `{"ref": {"type": "ref/prompt", "name"} or {"type": "ref/resource", "uri"}, "argument"}`;
///   `{"ref", "argument": {"name", "value"}, "context"}`, answered with a value: an array of texts,
///   or `{"values", "total", "hasMore"}`.
/// - "completer": `{}`, the same in a definition: resource templates and prompts take
///   `"complete": {"city": 17}`, the numbers of completers by the variable or argument. Remove it
///   after the features that have it.
/// - "provider": `{"of": "tools", "resources", "resourceTemplates" or "prompts"}`, for features
///   that are not registered; `{"list": {"cursor"}}`, answered with the value
///   `{"items", "nextCursor"}`, or `{"get": {the request's params}}` for a name or URI that is not
///   registered, answered as the feature would be; the value `null` says that there is none.
///   Schemas and scopes of its tools are its own to check.
/// - "middleware": `{"methods": [...]}` (absent: all that can be wrapped), the first outermost;
///   `{"method", "params"}`, see `trunkline_call_next`; answered with a full result.
/// - "requestHandler": `{"method": "com.acme/sum", "paramsSchema", "scopes": [], "timeoutMs"}`, a
///   request beyond the protocol; the params without `_meta`, answered with a value: an object, or
///   `null` for an empty one.
/// - "visibility": `{}`, decides who sees and calls a feature; `{"name"}`, answered with the value
///   `true` or `false`. Remove it after the features that have it.
/// - "verifier": `{}`, judges access tokens (`trunkline_http_options_set_auth`);
///   `{"token", "scheme", "method", "url", "resource"}`, answered with the value
///   `{"subject", "clientId", "scopes", "expiresAt", "claims", …}`, or `null` for a token that is
///   not known. The facts of its calls (`trunkline_call_fact`) are those of the HTTP request:
///   "/headers/x-tenant", "/target", "/remoteAddress".
/// - "mount" and "proxy": see `trunkline_server_mount` and `trunkline_server_proxy`; they take no
///   calls, `callback` is NULL.
/// - "skill": `{"folder"}` or `{"files": [{"path", "text" or "blob"}]}`, `"root"`; takes no calls,
///   `callback` is NULL.
/// - "directory": `{"uri", "path", "hidden": false, "maxFileBytes": 4194304}`, a folder whose files
///   are resources, read when they are asked for; takes no calls, `callback` is NULL.
///
/// An entry with `"replaces"`, the number of a registration of the same kind, changes it: the new
/// one takes its place, its name too if it has the same, and the number is stale then. Calls that
/// run go on with the old callback. With the server option `on_duplicate` "replace", an entry of a
/// name that is taken does so without a number.
///
/// `registration` may be NULL; otherwise it gets a number for `trunkline_server_remove` and
/// `trunkline_server_set_enabled`. `TRUNKLINE_INVALID_ARGUMENT` if the entry or a schema in it is
/// wrong. `destructor` fires exactly once: when the feature is removed or the server freed and no
/// call uses `user_data` any more, or at once if this function fails.
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
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = CallCallback::new(callback, user_data);
        let (server, kind, entry) = (handle!(server), text!(kind), text!(entry));
        server.add(kind, SetMembers(read("entry", entry)?), callback, out_or_null!(registration))
    })
}

/// Removes what `trunkline_server_add` added. Connected clients are notified; calls that run are
/// not disturbed. `TRUNKLINE_NOT_FOUND` if there is nothing of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_remove(
    server: *mut trunkline_server,
    registration: u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).remove(registration))
}

/// Hides a tool, resource, resource template or prompt (`is_enabled` false), or shows it again: no
/// list has it while it is hidden, and calls of it find nothing. It keeps its name and its place.
/// Connected clients are notified; calls that run are not disturbed. `TRUNKLINE_NOT_FOUND` if there
/// is nothing of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_set_enabled(
    server: *mut trunkline_server,
    registration: u64,
    is_enabled: bool,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(server).set_enabled(registration, is_enabled))
}

/// Adds a tool with options (NULL: none), otherwise as `trunkline_server_add_tool`.
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
    let user_data = UserData::new(user_data, destructor);
    guard(error, || {
        let callback = CallCallback::new(callback, user_data);
        let (server, descriptor) = (handle!(server), parsed("descriptor", text!(descriptor))?);
        let entry = settled!(options).map(|options| options.given.clone()).unwrap_or_default();
        server.add("tool", entry.with("tool", descriptor), callback, |_| ())
    })
}

/// Shows the features of another server, and those that are added to it later, until the
/// registration is removed or a server is freed. Tools and prompts are `prefix__name`, resources
/// `prefix+uri`; an empty prefix leaves names and URIs as they are, for one server. Middleware of
/// the other server runs for its own features, inside that of this one; the options are those of
/// this one. The callbacks of the other server run where its own port is dispatched: give both the
/// same port (`trunkline_server_options_set_port`), or dispatch both.
///
/// `registration` may be NULL; otherwise it gets a number for `trunkline_server_remove`.
/// `TRUNKLINE_INVALID_ARGUMENT` if the prefix is taken or has other signs than letters, digits, `-`
/// and `_`, or if the server is there already, is this one, or shows this one.
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
        server.add("mount", entry, None, out_or_null!(registration))?;
        server.inner.lifespan.mount(&other.inner.lifespan, server.port())
    })
}

/// Shows the features of the server behind a client, whatever revisions the two sides speak, until
/// the registration is removed or the client closed. Progress, log messages and cancellations pass,
/// and what the server asks is asked of the client whose call needs it. Servers of revisions before
/// 2026-07-28 get a connection for each caller, opened as the client was: `max_connections` at most
/// (0: 64). The client of a group is shown as all of its servers, each under its name in the group
/// and for as long as it is one of the group. `prefix` as for `trunkline_server_mount`. No callback
/// runs for it.
///
/// `registration` may be NULL; otherwise it gets a number for `trunkline_server_remove`.
/// `TRUNKLINE_INVALID_ARGUMENT` as for `trunkline_server_mount`, and for a client that is not
/// connected, or that or of whose group a server is this very server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_server_proxy(
    server: *mut trunkline_server,
    client: *const trunkline_client,
    prefix: trunkline_str,
    max_connections: u32,
    registration: *mut u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (server, client, prefix) = (handle!(server), &handle!(client).connection, text!(prefix));
        let mut entry = SetMembers::default().with("prefix", prefix).with("connection", client.handle);
        entry.put("port", client.port.core.number());
        if max_connections > 0 {
            entry.put("maxConnections", max_connections);
        }
        server.add("proxy", entry, None, out_or_null!(registration))
    })
}
