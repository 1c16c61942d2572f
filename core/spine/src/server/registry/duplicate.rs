//! Registrations of a name that is already in use.

trunkline_proto::json_names! {
    /// Policy for registering a name, URI or argument twice.
    pub enum OnDuplicate, by default Error, non_exhaustive {
        /// The registration fails.
        Error = "error",
        /// The new registration replaces the old one. Running calls continue.
        Replace = "replace",
    }
}
