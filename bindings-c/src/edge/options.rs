//! The common part of all options objects: the first invalid value that was set.

use crate::edge::failure::Failure;

/// An options object. `wrong` is the first invalid value; a setter that fails changes nothing else.
pub(crate) trait OptionsHandle {
    fn wrong(&self) -> &Option<Failure>;

    fn wrong_mut(&mut self) -> &mut Option<Failure>;
}

/// Changes an options object. The first failure is kept in it, and reported when the options are
/// used.
macro_rules! set {
    ($options:ident, $change:expr) => {
        $crate::edge::ffi::guard_result(|| {
            // SAFETY: the conventions of the header: NULL, or an options object that no other
            // thread uses meanwhile.
            let options = unsafe { $crate::edge::ffi::borrow_mut($options, stringify!($options)) }?;
            $crate::edge::options::change(options, |$options| {
                $change;
                Ok(())
            })
        })
    };
}

/// An options argument that may be NULL; fails if an invalid value was set.
macro_rules! settled {
    ($options:ident) => {
        match $crate::edge::ffi::optional!($options) {
            Some(options) => Some($crate::edge::options::checked(options)?),
            None => None,
        }
    };
}

pub(crate) use {set, settled};

/// Changes options and keeps the first failure.
pub(crate) fn change<T: OptionsHandle>(
    options: &mut T,
    change: impl FnOnce(&mut T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    change(options).inspect_err(|failure| {
        options.wrong_mut().get_or_insert_with(|| failure.clone());
    })
}

/// Returns options for use; fails if an invalid value was set.
pub(crate) fn checked<T: OptionsHandle>(options: &T) -> Result<&T, Failure> {
    options.wrong().as_ref().map_or(Ok(options), |failure| Err(failure.clone().in_the("options")))
}
