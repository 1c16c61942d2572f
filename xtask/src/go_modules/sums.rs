//! The lines of `go.sum`, in the format of Go's `dirhash`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The files of a module by their paths in it.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The two lines of a module.
pub(super) fn lines(module: &str, version: &str, files: &Files) -> String {
    let prefix = format!("{module}@v{version}/");
    let all = hash(files.iter().map(|(path, content)| (format!("{prefix}{path}"), content.as_slice())));
    let declaration = files.get("go.mod").map(Vec::as_slice).unwrap_or_default();
    let declaration = hash([("go.mod".to_owned(), declaration)]);
    format!("{module} v{version} {all}\n{module} v{version}/go.mod {declaration}\n")
}

/// The files must be in the order of their names.
fn hash<'a>(files: impl IntoIterator<Item = (String, &'a [u8])>) -> String {
    let mut summary = String::new();
    for (name, content) in files {
        for byte in Sha256::digest(content) {
            let _ = write!(summary, "{byte:02x}");
        }
        let _ = writeln!(summary, "  {name}");
    }
    format!("h1:{}", STANDARD.encode(Sha256::digest(summary)))
}
