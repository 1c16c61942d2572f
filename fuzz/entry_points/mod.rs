//! The entry points of untrusted input: each module tests one kind of input, and panics if it is
//! handled incorrectly. Shared by the fuzz targets and by `core/tests/it/hostile.rs`.

pub mod cursor;
pub mod dpop_proof;
pub mod envelope;
pub mod event_stream;
pub mod header_value;
pub mod http_body;
pub mod http_head;
pub mod jwt;
pub mod oauth_metadata;
pub mod request_state;
pub mod schema;
pub mod session_id;
pub mod uri_template;

mod endpoint;
mod tokens;

/// The inputs in a folder of `fuzz/corpus`.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("no file").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("cannot be read")).collect()
}
