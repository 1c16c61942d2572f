//! What all options objects have: the first thing that was set wrong.

use crate::error::Failure;

pub(crate) trait Options {
    fn wrong(&mut self) -> &mut Option<Failure>;

    fn first_wrong(&self) -> Option<&Failure>;
}

/// Says where an options object keeps what was set wrong.
macro_rules! options {
    ($options:ty) => {
        impl $crate::options::Options for $options {
            fn wrong(&mut self) -> &mut Option<$crate::error::Failure> {
                &mut self.wrong
            }

            fn first_wrong(&self) -> Option<&$crate::error::Failure> {
                self.wrong.as_ref()
            }
        }
    };
}
pub(crate) use options;

/// Changes options and keeps the first failure.
pub(crate) fn change<T: Options>(
    options: &mut T,
    change: impl FnOnce(&mut T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    change(options).inspect_err(|failure| {
        options.wrong().get_or_insert_with(|| failure.clone());
    })
}

/// Options that are used: if something was set wrong, that is the caller's failure.
pub(crate) fn settled<T: Options>(options: &T) -> Result<&T, Failure> {
    options.first_wrong().map_or(Ok(options), |failure| Err(failure.clone().in_the("options")))
}
