//! The files of the page, which the build has put into the program.

use bytes::Bytes;
use flate2::read::GzDecoder;
use std::io::Read;

/// The files of the build by their paths, each compressed with gzip (`.gz`). None in a checkout
/// where the page was not built.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// In the place of the page, where it was not built.
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>trunkline inspect</title>\n\
    <h1>The page is not part of this build</h1>\n\
    <p>In a checkout, <code>cargo xtask build</code> builds the page and then this program.</p>\n\
    <p><code>trunkline inspect --once</code> prints what the page would show.</p>\n</html>\n";

/// A file, in the form that a client reads.
pub(super) struct File {
    pub(super) kind: &'static str,
    /// Its name has a hash of its content.
    pub(super) is_for_ever: bool,
    pub(super) is_gzip: bool,
    pub(super) content: Bytes,
}

/// The file of a path.
pub(super) fn file(path: &str, reads_gzip: bool) -> Option<File> {
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let packed = FILES.iter().find(|(built, _)| built.strip_suffix(".gz") == Some(name)).map(|(_, packed)| *packed);
    let sent = packed.filter(|_| reads_gzip);
    let content = sent.map_or_else(|| plain(name, packed), |packed| Some(Bytes::from_static(packed)))?;
    Some(File { kind: kind(name), is_for_ever: name.starts_with("assets/"), is_gzip: sent.is_some(), content })
}

fn plain(name: &str, packed: Option<&[u8]>) -> Option<Bytes> {
    let Some(packed) = packed else {
        let is_page = FILES.is_empty() && name == "index.html";
        return is_page.then(|| Bytes::from_static(NOT_BUILT.as_bytes()));
    };
    let mut plain = Vec::new();
    // The build has compressed it.
    let _ = GzDecoder::new(packed).read_to_end(&mut plain);
    Some(plain.into())
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
