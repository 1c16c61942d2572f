//! Checks that the documented table of fixed limits matches the constants in the code, which no
//! standard tool does.

use anyhow::{Context, Result};

use crate::test::figure::{Figure, figures_in};
use crate::test::{Count, Selection, option_figures};
use crate::workspace::Workspace;

const PAGE: &str = "docs/deployment.md";
const HEADING: &str = "### Fixed bounds";

/// A constant: its file and its name.
type Constant = (&'static str, &'static str);

const HTTP: &str = "core/spine/src/transport/http_server";
const NAMES: &str = "core/spine/src/server/session/client_names.rs";
const BOUNDS: &str = "core/proto/src/protocol/schema/bounds.rs";
const PATTERN: &str = "core/proto/src/protocol/schema/pattern.rs";
const PAGES: &str = "core/spine/src/client/calls/whole_lists.rs";
const RECORDS: &str = "workers/session_records.rs";
const LINK: &str = "core/spine/src/transport/http_client/http_link.rs";
const SKILL: &str = "core/spine/src/server/registry/skill/mod.rs";
const SMALL_BODY: Constant = ("admission.rs", "SMALL_BODY");

/// The rows of the table, with the constants of their figures, in order. Other files than
/// those of `core/` are relative to [`HTTP`].
const ROWS: [(&str, &[Constant]); 48] = [
    ("costly checks of values, and compilations of schemas, concurrently", &[]),
    ("waiting costly checks of one caller", &[("core/spine/src/util/turns.rs", "MAX_WAITING")]),
    ("a schema", &[(BOUNDS, "MAX_VALUES"), (BOUNDS, "MAX_NESTING"), (BOUNDS, "MAX_REACHED")]),
    ("the patterns of a schema", &[(BOUNDS, "MAX_PATTERNS")]),
    (
        "a string or a name, for a pattern with look-around or back-references",
        &[(PATTERN, "MAX_TEXT"), (PATTERN, "MAX_BACKTRACKS")],
    ),
    ("the patterns of a schema, per value", &[(BOUNDS, "MAX_STEPS")]),
    ("the schemas for items and members, per value", &[(BOUNDS, "MAX_CHECKS")]),
    ("a form of elicitation", &[(BOUNDS, "FORM_VALUES"), (BOUNDS, "FORM_PATTERNS"), (BOUNDS, "FORM_STEPS")]),
    ("a complete list fetched by a client", &[(PAGES, "MAX_ITEMS"), (PAGES, "MAX_PAGES"), (PAGES, "MAX_BYTES")]),
    (
        "the list of one server in a group or behind a proxy",
        &[("core/gateway/src/group/group_settings.rs", "PART_TIMEOUT")],
    ),
    (
        "notifications and answers of a client to a server over HTTP",
        &[(LINK, "MAX_CONCURRENT_SENDS"), (LINK, "MAX_WAITING")],
    ),
    (
        "notifications of a server that wait for a program in another language than Rust",
        &[("core/bridge/src/events/backlog.rs", "MAX_COUNT"), ("core/bridge/src/events/backlog.rs", "MAX_BYTES")],
    ),
    ("the reason of a cancellation", &[("core/proto/src/engine/server.rs", "MAX_REASON")]),
    ("a number in a message", &[("core/proto/src/engine/limits.rs", "LONGEST_NUMBER")]),
    ("the head of a request", &[("http_listener.rs", "HEAD_BYTES")]),
    ("concurrent requests on an HTTP/2 connection", &[("http_listener.rs", "MAX_STREAMS")]),
    ("unread responses of an HTTP/2 connection", &[("unread.rs", "MAX_UNREAD")]),
    ("a new connection without a request, at the connection limit", &[("admission.rs", "FIRST_REQUEST")]),
    ("a client that reads nothing sent to it, at the connection limit", &[("activity.rs", "STALL_TIMEOUT")]),
    ("a pause within a body", &[("post_body.rs", "READ_TIMEOUT")]),
    ("a body above 64 KiB", &[SMALL_BODY, ("post_body.rs", "MIN_WINDOW_BYTES"), ("post_body.rs", "WINDOW")]),
    ("a body", &[("post_body.rs", "DEADLINE")]),
    (
        "a JSON value, in a message with more than 2,048",
        &[("admission.rs", "MAX_UNCOUNTED_VALUES"), ("admission.rs", "VALUE_BYTES")],
    ),
    ("messages above 64 KiB of one client", &[SMALL_BODY, ("admission.rs", "SMALL_BODY_RESERVE")]),
    ("messages above 64 KiB parsed and validated concurrently", &[SMALL_BODY]),
    ("a skill", &[(SKILL, "MAX_FILES"), (SKILL, "MAX_BYTES")]),
    ("servers that contain one another", &[("core/spine/src/server/session/local_mount.rs", "MAX_DEPTH")]),
    ("calls in a batch", &[]),
    ("an access token", &[("core/spine/src/auth/presented.rs", "MAX_TOKEN")]),
    ("tokens waiting for a verifier", &[("access_control.rs", "MAX_PENDING_TOKENS")]),
    ("a verifier", &[("access_control.rs", "DEADLINE")]),
    (
        "the keys of an issuer",
        &[
            ("core/spine/src/auth/jwt.rs", "DEADLINE"),
            ("core/spine/src/auth/fetch.rs", "MAX_DOCUMENT"),
            ("core/spine/src/auth/jwk.rs", "MAX_KEYS"),
        ],
    ),
    (
        "logins for scopes that the last one did not bring",
        &[("core/spine/src/auth/client/credential_session.rs", "DENIED_SCOPES_TTL")],
    ),
    ("a stream whose token does not expire", &[("access_control.rs", "MAX_STREAM_LIFETIME")]),
    ("a session never used since it was opened", &[("core/proto/src/http/sessions.rs", "UNUSED_SESSION_TTL")]),
    ("notifications queued for the reader of a stream", &[("stream_queue.rs", "MAX_BYTES")]),
    ("everything queued for the reader of a stream", &[("core/spine/src/transport/queued.rs", "MAX_QUEUED")]),
    ("names that a session or stream subscribes to", &[(NAMES, "MAX"), (NAMES, "MAX_BYTES")]),
    ("a URI that a session in a store subscribes to", &[("core/spine/src/server/session/shared.rs", "MAX_URI")]),
    (
        "a change of a session whose record in a store is above 64 KiB",
        &[(RECORDS, "LARGE_RECORD"), (RECORDS, "WRITE_BYTES_PER_MS")],
    ),
    ("a sealed `requestState`", &[("core/spine/src/server/request/request_state.rs", "MAX_SEALED")]),
    ("resumed states and values kept by `once`", &[("core/spine/src/server/request/resumptions.rs", "MAX_BYTES")]),
    ("entries of the store `memory:`", &[("core/spine/src/store/memory.rs", "MAX_BYTES")]),
    ("entries of a Redis or SQLite store when read", &[("core/spine/src/store/operations.rs", "MAX_READ")]),
    ("a notification of a client for another worker", &[("workers/routing.rs", "MAX_NOTIFICATION")]),
    (
        "streams of calls that clients resume although they are not in the store yet",
        &[("workers/process.rs", "MAX_AWAITED_STREAMS")],
    ),
    ("callers with separate rate limits", &[("rate.rs", "MAX_BUCKETS")]),
    ("concurrent requests to a server in a web framework", &[("mounted_listener.rs", "MAX_EXCHANGES")]),
];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let page = workspace.text(PAGE)?;
    let told = rows_of(&page);
    let unknown = told.iter().filter(|(name, _)| ROWS.iter().all(|(known, _)| known != name));
    count
        .add(unknown.map(|(name, _)| format!("{PAGE}: xtask/src/test/fixed_bounds.rs does not know the row `{name}`")));
    for (name, constants) in ROWS {
        let mut figures = Vec::new();
        for (file, constant) in constants {
            let file = if file.starts_with("core/") { (*file).to_owned() } else { format!("{HTTP}/{file}") };
            let figure = constant_of(&workspace.text(&file)?, constant);
            figures.push(
                figure.with_context(|| format!("{file}: the constant {constant} is not found, or not a figure"))?,
            );
        }
        count.add(match told.iter().find(|(told, _)| *told == name) {
            Some((_, told)) if *told == figures => None,
            Some((_, told)) => Some(format!("{PAGE}: `{name}` has the figures {told:?}, the code {figures:?}")),
            None => Some(format!("{PAGE}: {HEADING:?} has no row `{name}`")),
        });
    }
    Ok(count.and(option_figures::check(workspace)?))
}

/// The first cell of each row of the table, and the figures in its first two cells.
fn rows_of(page: &str) -> Vec<(&str, Vec<Figure>)> {
    let (_, section) = page.split_once(HEADING).unwrap_or_default();
    let lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    // Skip the heading and the line below it.
    lines
        .skip(2)
        .filter_map(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            let (name, bound) = (cells.next()?, cells.next()?);
            Some((name, figures_in(name).chain(figures_in(bound)).collect()))
        })
        .collect()
}

/// The value of a constant in a file.
fn constant_of(source: &str, name: &str) -> Option<Figure> {
    let declared = format!("const {name}: ");
    let (_, rest) = source.lines().find_map(|line| line.split_once(&declared))?;
    let value = rest.split_once(" = ")?.1.strip_suffix(';')?;
    let of_duration = |unit: &str| value.strip_prefix("Duration::from_")?.strip_prefix(unit)?.strip_suffix(')');
    if let Some(seconds) = of_duration("secs(") {
        return Some(Figure::Milliseconds(number_of(seconds)? * 1000));
    }
    if let Some(milliseconds) = of_duration("millis(") {
        return Some(Figure::Milliseconds(number_of(milliseconds)?));
    }
    number_of(value).map(Figure::Number)
}

/// The value of `4096`, `10_000`, `8 * 1024` or `4 << 20`.
fn number_of(text: &str) -> Option<u64> {
    if let Some((one, other)) = text.split_once(" * ") {
        return number_of(one)?.checked_mul(number_of(other)?);
    }
    match text.split_once(" << ") {
        Some((one, other)) => number_of(one)?.checked_shl(u32::try_from(number_of(other)?).ok()?),
        None => text.replace('_', "").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_page_and_from_the_code() {
        use Figure::{Milliseconds, Number};
        let page = "| x | 1 s |\n### Fixed bounds\n\nText.\n\n| of | bound | beyond |\n| --- | --- | --- |\n\
            | a body of 64 KiB | 40 KiB in each 10 s; 4,096 | 408 |\n| b | a quarter | -32600 |\n\n| c | 1 h | 1 |\n";
        let body = vec![Number(64 << 10), Number(40 << 10), Milliseconds(10_000), Number(4096)];
        assert_eq!(rows_of(page), [("a body of 64 KiB", body), ("b", vec![])]);
        let source = "    const A_B: usize = 1;\npub(super) const B: u64 = 4 << 20;\nconst C: usize = 8 * 1024;\n\
            const D: Duration = Duration::from_millis(100);\nconst E: Duration = Duration::from_secs(1_0);\nconst F: usize = A_B;\n";
        let found = ["A_B", "B", "C", "D", "E", "F", "G"].map(|name| constant_of(source, name));
        let numbers = [Number(1), Number(4 << 20), Number(8192), Milliseconds(100), Milliseconds(10_000)].map(Some);
        assert_eq!(found[..5], numbers);
        assert_eq!(found[5..], [None, None]);
    }
}
