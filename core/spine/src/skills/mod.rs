//! Agent skills: the parts that servers and clients share.

pub(crate) mod frontmatter;

/// The digest of a file as entries have it (SKL-24).
pub(crate) fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    use std::fmt::Write;
    let sum: [u8; 32] = sha2::Sha256::digest(bytes).into();
    sum.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
