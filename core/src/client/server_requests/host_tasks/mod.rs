//! Tasks of a host (2025-11-25): requests of a server that outlast their messages, while a handler
//! of the program answers them.

pub(in crate::client) mod host_task_table;
mod serving;
