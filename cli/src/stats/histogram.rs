//! Histograms as bars.

use std::fmt::Write;

use crate::session::Log2Histogram;
use crate::terminal::Styles;
use crate::units::Count;

/// The width of the numbers beside a bar, with one column to spare.
const NUMBER_COLUMNS: usize = "  < 1.23 ms  1,234,567 100.0% ".len();

/// Draws a titled histogram for a terminal of `width` columns, with `unit` to print its bounds. Empty if the histogram is.
pub(super) fn draw(
    title: &str,
    histogram: &Log2Histogram,
    unit: fn(u64) -> String,
    width: usize,
    styles: Styles,
) -> String {
    let Styles { strong, accent, dim, .. } = styles;
    let mut text = String::new();
    let total: u64 = histogram.buckets().map(|bucket| bucket.count).sum();
    let Some(largest) = histogram.buckets().map(|bucket| bucket.count).max() else { return text };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{strong}{title}{strong:#}");
    // Half of the width, if the numbers leave that.
    let longest = (width / 2).min(width.saturating_sub(NUMBER_COLUMNS)).max(1);
    for bucket in histogram.buckets() {
        let bar = bar(bucket.count, largest, longest);
        let gap = " ".repeat(longest - bar.chars().count());
        let (bound, count) = (unit(bucket.bound), Count(bucket.count));
        let share = bucket.count as f64 * 100.0 / total as f64;
        let _ = writeln!(text, "  < {bound:>7} {accent}{bar}{accent:#}{gap} {count:>9} {dim}{share:5.1}%{dim:#}");
    }
    text
}

/// A bar in steps of an eighth of a column, rounded up so that only zero is invisible.
fn bar(count: u64, largest: u64, longest: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (u128::from(count) * longest as u128 * 8).div_ceil(u128::from(largest.max(1))) as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}
