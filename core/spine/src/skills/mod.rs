//! Agent skills: the parts that servers and clients share.

pub(crate) mod digest;
pub(crate) mod frontmatter;
