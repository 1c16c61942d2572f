//! The options of the connections of a group, which may change while it is open.

use crate::{
    client::{ClientHandlers, ClientOptions, RequestOptions},
    protocol::model::{LoggingLevel, Root},
    sync::Mutex,
};

/// The options of each connection.
pub(super) struct GroupSettings(Mutex<Current>);

struct Current {
    options: ClientOptions,
    /// The number of changes so far.
    version: u64,
}

impl GroupSettings {
    /// The options of a group as its connections have them: all of them report changes of their
    /// lists, and their results are checked and observed once, by the client of the group.
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

    pub(super) fn set_handlers(&self, handlers: ClientHandlers) {
        self.change(|options| options.handlers = handlers);
    }

    pub(super) fn set_roots(&self, roots: Vec<Root>) {
        self.change(|options| options.roots = Some(roots));
    }

    fn change(&self, change: impl FnOnce(&mut ClientOptions)) {
        let mut current = self.0.lock();
        change(&mut current.options);
        current.version += 1;
    }

    pub(super) fn set_log_level(&self, level: LoggingLevel) {
        self.change(|options| options.log_level = Some(level));
    }

    /// The options of a server's part in a request to all. The group's own time is longer, so that
    /// one silent server does not take the others along.
    pub(super) fn part_options(&self) -> RequestOptions {
        let timeout = self.0.lock().options.timeout * 3 / 4;
        RequestOptions::default().with_timeout(timeout).with_max_timeout(timeout)
    }
}
