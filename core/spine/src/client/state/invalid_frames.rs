//! Lines of a server that are no messages, for the log and for errors.

use crate::{printable::printable, protocol::RpcError, sync::Mutex, wire_log::Transport};

/// How much of a frame is quoted, in bytes.
const MAX_EXCERPT: usize = 200;
/// Maximum number of frames in the log: a server may print without an end.
const MAX_LOGGED: usize = 20;

#[derive(Default)]
pub(in crate::client) struct InvalidFrames(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The start of the last one.
    latest: Option<String>,
    count: usize,
}

impl InvalidFrames {
    /// Keeps the start of a frame, and logs the first ones. Returns whether this is one of them.
    pub(in crate::client) fn add(
        &self,
        frame: &[u8],
        error: &RpcError,
        server: Option<&str>,
        transport: Transport,
    ) -> bool {
        let start = String::from_utf8_lossy(&frame[..frame.len().min(MAX_EXCERPT)]);
        let line = printable(&start).trim().to_owned();
        let count = {
            let mut seen = self.0.lock();
            seen.count += 1;
            seen.latest = Some(line.clone());
            seen.count
        };
        match () {
            () if count > MAX_LOGGED + 1 => {}
            () if count > MAX_LOGGED => {
                tracing::warn!(target: "trunkline::client::connection", server, "the server keeps sending what is not a message: it is no longer logged");
            }
            () if transport == Transport::Stdio && !line.starts_with(['{', '[']) => {
                tracing::warn!(target: "trunkline::client::child", server, line, "the server printed to its standard output, which is only for messages: let it log to its standard error instead");
            }
            () => {
                tracing::warn!(target: "trunkline::client::connection", server, %error, "the server sent an invalid message");
            }
        }
        count <= MAX_LOGGED
    }

    /// The start of the last one.
    pub(in crate::client) fn latest(&self) -> Option<String> {
        self.0.lock().latest.clone()
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::tests::kept_log::KeptLog;

    #[test]
    fn a_server_that_prints_without_an_end_does_not_fill_the_log() {
        let (frames, log) = (InvalidFrames::default(), KeptLog::default());
        tracing::subscriber::with_default(log.clone(), || {
            for number in 1..=5_000 {
                let (line, error) = (format!("line {number}"), RpcError::invalid_request("no message"));
                let is_one_of_the_first = frames.add(line.as_bytes(), &error, Some("chatty"), Transport::Stdio);
                assert_eq!(is_one_of_the_first, number <= MAX_LOGGED);
            }
        });
        let texts = log.take();
        assert_eq!(texts.len(), MAX_LOGGED + 1, "{texts:?}");
        assert!(texts[MAX_LOGGED - 1].contains("line=\"line 20\""), "{texts:?}");
        assert!(
            texts[MAX_LOGGED].contains("no longer logged") && texts[MAX_LOGGED].contains("server=chatty"),
            "{texts:?}"
        );
        assert_eq!(frames.latest().as_deref(), Some("line 5000"));
    }
}
