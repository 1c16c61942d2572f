//! Timestamps of tasks: ISO 8601, UTC.

use std::time::Duration;

/// Formats a time since the Unix epoch, such as `2026-07-28T12:00:00.250Z`.
pub(crate) fn iso_8601(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", time.subsec_millis())
}

/// The Gregorian date of a day since the Unix epoch. Here, years begin in March, so that the leap
/// day comes last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const DAYS_TO_1970: u64 = 719_468;
    let days = days + DAYS_TO_1970;
    let era = days / DAYS_OF_400_YEARS;
    let day_of_era = days % DAYS_OF_400_YEARS;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tsk_23_times_are_iso_8601() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_704_067_199, "2023-12-31T23:59:59.000Z"),
            (1_785_240_000, "2026-07-28T12:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_8601(Duration::from_secs(seconds)), text);
        }
        assert_eq!(iso_8601(Duration::from_millis(1250)), "1970-01-01T00:00:01.250Z");
    }
}
