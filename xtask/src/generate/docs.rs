//! The tables of the documentation that follow from the surface.

use anyhow::Result;

use super::File;
use super::surface::Surface;
use crate::house::House;

pub(crate) fn render(_: &House, _: &Surface) -> Result<Vec<File>> {
    Ok(Vec::new())
}
