//! The exported functions, by chapter of the header and in its order. Their comments are the
//! reference of C programs.

pub mod text;

pub mod errors;

pub mod json;

pub mod json_writer;

pub mod port;

pub mod options;

pub mod server;

pub mod features;

pub mod listener;

pub mod http_mount;

pub mod calls;

pub mod returns;

pub mod context;

pub mod client;

pub mod telemetry;

pub mod plain;
