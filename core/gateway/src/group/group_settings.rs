//! The options of a group's connections, which may change while it is open.

use std::time::Duration;
use trunkline_core::{
    client::{ClientOptions, RequestOptions},
    extension::sync::Mutex,
};

/// Maximum time for one server's part of a list or another request to all of them. Hosts wait about
/// half a minute for the whole.
pub(crate) const PART_TIMEOUT: Duration = Duration::from_secs(10);

/// The options of each connection.
pub(super) struct GroupSettings(Mutex<Current>);

struct Current {
    options: ClientOptions,
    /// Number of changes so far.
    version: u64,
}

impl GroupSettings {
    /// Derives the options of the connections from those of the group. All of them report list
    /// changes; results are validated and observed only once, by the client of the group.
    pub(super) fn new(options: &ClientOptions) -> Self {
        Self(Mutex::new(Current {
            options: options.clone().with_listen(true).with_validate_results(false).with_telemetry(false),
            version: 0,
        }))
    }

    /// The options, and their version.
    pub(super) fn current(&self) -> (ClientOptions, u64) {
        let current = self.0.lock();
        (current.options.clone(), current.version)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut ClientOptions)) {
        let mut current = self.0.lock();
        change(&mut current.options);
        current.version += 1;
    }

    /// The options of a single server's part of a request to all servers. The timeout of the group
    /// is longer, so that one silent server doesn't fail the others.
    pub(super) fn part_options(&self) -> RequestOptions {
        let timeout = PART_TIMEOUT.min(self.0.lock().options.timeout / 4 * 3);
        RequestOptions::default().with_timeout(timeout).with_max_timeout(timeout)
    }
}
