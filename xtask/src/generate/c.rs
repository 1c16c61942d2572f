//! The files of the C library that follow from the surface.

use super::File;
use super::surface::Surface;

pub(crate) fn render(_: &Surface) -> Vec<File> {
    Vec::new()
}
