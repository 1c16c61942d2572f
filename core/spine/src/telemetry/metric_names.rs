//! Names and buckets of metrics.

/// Bucket boundaries of all histograms, in seconds.
pub const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The name under which spans and measurements are reported (the instrumentation scope).
pub const SCOPE: &str = "trunkline";
