//! Registrations of a name that is already in use.

trunkline_proto::json_names! {
    /// What to do if a name, URI or argument is registered twice.
    pub enum OnDuplicate, by default Error, non_exhaustive {
        /// The registration fails.
        Error = "error",
        /// The new registration replaces the old one. Running calls continue.
        Replace = "replace",
    }
}
