//! The common part of all options objects: the first invalid value that was set.

use std::sync::OnceLock;

use crate::edge::failure::Failure;

/// An options object. `wrong` is the first invalid value; a setter that fails changes nothing else.
pub(crate) trait OptionsHandle {
    fn wrong(&self) -> &OnceLock<Failure>;
}

/// Changes an options object. The first failure is kept in it, and reported when the options are
/// used.
macro_rules! set {
    ($options:ident, $change:expr) => {
        $crate::edge::ffi::guard_result(|| {
            $crate::edge::options_handle::change($crate::edge::ffi::handle_mut!($options), |$options| {
                $change;
                Ok(())
            })
        })
    };
}

/// An options argument that may be NULL; fails if an invalid value was set.
macro_rules! settled {
    ($options:ident) => {
        $crate::edge::ffi::optional!($options).map($crate::edge::options_handle::checked).transpose()?
    };
}

pub(crate) use {set, settled};

/// Changes options and keeps the first failure.
pub(crate) fn change<T: OptionsHandle>(
    options: &mut T,
    change: impl FnOnce(&mut T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    change(options).inspect_err(|failure| _ = options.wrong().set(failure.clone()))
}

/// Returns options for use; fails if an invalid value was set.
pub(crate) fn checked<T: OptionsHandle>(options: &T) -> Result<&T, Failure> {
    let Some(mut failure) = options.wrong().get().cloned() else { return Ok(options) };
    failure.error.message.insert_str(0, "in the options: ");
    Err(failure)
}
