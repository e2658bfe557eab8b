//! A bar chart with a group of bars for each comparison, whose lengths are speeds.
//!
//! The chart has no background. Its text follows the viewer's light or dark colour scheme. If the viewer has none, text
//! and bars have medium tones that are readable on both.

use std::fmt::{self, Write};

use crate::comparison::{Comparison, Part, Row, bytes, figures};

const WIDTH: u32 = 880;
const MARGIN: u32 = 16;
const COLUMNS: u32 = 2;
const GUTTER: u32 = 32;
const COLUMN: u32 = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GUTTER) / COLUMNS;

/// The height of the chart's heading.
const HEAD: u32 = 64;
/// The heights of a group's heading and of the gap below a group.
const GROUP_HEAD: u32 = 28;
const GROUP_GAP: u32 = 22;

/// How many characters a group's heading and the ratio beside it can have before they overlap.
const HEADING: usize = 54;

/// The distance from bar to bar, and the height of a bar.
const PITCH: u32 = 19;
const BAR: u32 = 13;
/// The widths of the name and of the speed beside the longest bar.
const NAME: u32 = 164;
const FIGURE: u32 = 78;
const LONGEST: u32 = COLUMN - NAME - FIGURE;

const STYLE: &str = "
    text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #768390 }
    .title { font-size: 17px; font-weight: 600 }
    .group { font-size: 13px; font-weight: 600 }
    .subject { font-weight: 600 }
    .right { text-anchor: end }
    rect.subject { fill: #e8590c }
    rect.peer { fill: #4c8dd6 }
    rect.codec { fill: #8c959f }
    @media (prefers-color-scheme: light) { text { fill: #59636e } .title, .group, text.subject, .figure { fill: #1f2328 } }
    @media (prefers-color-scheme: dark) { text { fill: #9198a1 } .title, .group, text.subject, .figure { fill: #f0f6fc } }
";

/// Draws `comparisons`, measured on `machine`.
pub(crate) fn chart(comparisons: &[Comparison], machine: &str) -> String {
    let mut svg = String::new();
    draw(&mut svg, comparisons, machine).expect("writing to a string doesn't fail");
    svg
}

fn draw(svg: &mut String, comparisons: &[Comparison], machine: &str) -> fmt::Result {
    let groups: Vec<String> = comparisons.iter().map(group).collect();
    let height = comparisons.iter().map(group_height).max().unwrap_or(0) + GROUP_GAP;
    let total = HEAD + height * (groups.len() as u32).div_ceil(COLUMNS);
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" width="{WIDTH}" height="{total}" role="img">"#
    )?;
    writeln!(svg, "<title>How fast JSON-RPC messages are decoded</title>")?;
    writeln!(svg, "<desc>{}</desc>", escaped(&description(comparisons)))?;
    writeln!(svg, "<style>{STYLE}</style>")?;
    writeln!(svg, r#"<text class="title" x="{MARGIN}" y="26">Decoding lines of JSON-RPC</text>"#)?;
    writeln!(
        svg,
        r#"<text x="{MARGIN}" y="46">split, validate, find the envelope’s members · one thread, {}</text>"#,
        escaped(machine)
    )?;
    legend(svg, 26, "peer", "parsers, on lines split by memchr")?;
    legend(svg, 46, "codec", "codecs built on serde_json")?;
    for (place, group) in (0..).zip(groups) {
        let x = MARGIN + place % COLUMNS * (COLUMN + GUTTER);
        let y = HEAD + place / COLUMNS * height;
        writeln!(svg, "<g transform=\"translate({x} {y})\">\n{group}</g>")?;
    }
    writeln!(svg, "</svg>")
}

/// Explains a colour, above the second column.
fn legend(svg: &mut String, y: u32, class: &str, meaning: &str) -> fmt::Result {
    let x = MARGIN + COLUMN + GUTTER;
    writeln!(svg, r#"<rect class="{class}" x="{x}" y="{}" width="{BAR}" height="{BAR}" rx="2"/>"#, y - BAR + 2)?;
    writeln!(svg, r#"<text x="{}" y="{y}">{meaning}</text>"#, x + BAR + 7)
}

/// The bars of one comparison, below and to the right of the origin.
fn group(comparison: &Comparison) -> String {
    let speeds = shown(comparison).filter_map(|row| row.time).map(|time| comparison.gigabytes_per_second(time));
    let fastest = speeds.fold(f64::MIN_POSITIVE, f64::max);
    let ratio = ahead(comparison).map_or_else(String::new, |ahead| format!("{} × the best peer", figures(ahead)));
    let heading = heading(&comparison.title, &bytes(comparison.bytes_per_message()), &ratio);
    let mut group = format!("<text class=\"group\" x=\"0\" y=\"16\">{}</text>\n", escaped(&heading));
    if !ratio.is_empty() {
        group += &format!("<text class=\"right\" x=\"{COLUMN}\" y=\"16\">{ratio}</text>\n");
    }
    for (place, row) in (0..).zip(shown(comparison)) {
        let speed = row.time.map(|time| comparison.gigabytes_per_second(time));
        group += &bar(row, speed, fastest, GROUP_HEAD + place * PITCH);
    }
    group
}

/// What a comparison is about, as fully as there is room beside `ratio`.
fn heading(title: &str, size: &str, ratio: &str) -> String {
    let room = HEADING.saturating_sub(ratio.chars().count());
    let full = format!("{title}, {size} per message");
    if full.chars().count() <= room {
        return full;
    }
    let short = format!("{title}, {size}");
    match short.chars().count().checked_sub(room) {
        None | Some(0) => short,
        // The end of a folder's name tells more than its start.
        Some(excess) => format!("…{}", short.chars().skip(excess + 1).collect::<String>()),
    }
}

/// One bar at the height `y`, with its name to the left and its speed to the right.
fn bar(row: &Row, speed: Option<f64>, fastest: f64, y: u32) -> String {
    let class = match row.part {
        Part::Subject | Part::Kernel | Part::Variant => "subject",
        Part::Peer => "peer",
        Part::Codec => "codec",
    };
    let length = speed.map_or(0.0, |speed| (speed / fastest * f64::from(LONGEST)).max(1.0));
    let figure = speed.map_or_else(|| "–".to_owned(), |speed| format!("{} GB/s", figures(speed)));
    let (text, name) = (y + BAR - 2, escaped(row.name.trim()));
    format!(
        "<text class=\"right {class}\" x=\"{}\" y=\"{text}\">{name}</text>\n\
         <rect class=\"{class}\" x=\"{NAME}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\"/>\n\
         <text class=\"figure {class}\" x=\"{:.1}\" y=\"{text}\">{figure}</text>\n",
        NAME - 8,
        f64::from(NAME) + length + 6.0,
    )
}

fn shown(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    comparison.rows.iter().filter(|row| row.part != Part::Variant)
}

fn group_height(comparison: &Comparison) -> u32 {
    GROUP_HEAD + PITCH * shown(comparison).count() as u32
}

fn ahead(comparison: &Comparison) -> Option<f64> {
    let subject = comparison.rows.iter().find(|row| row.part == Part::Subject)?;
    comparison.against_best_peer(subject.time?)
}

/// A description of the chart for screen readers.
fn description(comparisons: &[Comparison]) -> String {
    let sentences = comparisons.iter().map(|comparison| {
        let speeds = shown(comparison).map(|row| match row.time {
            Some(time) => format!("{} {}", row.name.trim(), figures(comparison.gigabytes_per_second(time))),
            None => format!("{} –", row.name.trim()),
        });
        format!("{}, in GB/s: {}.", comparison.title, speeds.collect::<Vec<_>>().join(", "))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::example;

    /// The values of an attribute of all bars.
    fn bars(chart: &roxmltree::Document<'_>, attribute: &str) -> Vec<f64> {
        let groups = chart.descendants().filter(|node| node.has_tag_name("g"));
        let bars = groups.flat_map(|group| group.children()).filter(|node| node.has_tag_name("rect"));
        bars.filter_map(|bar| bar.attribute(attribute)?.parse().ok()).collect()
    }

    #[test]
    fn names_are_escaped() {
        let svg = chart(&[example("a<b> & \"c\"]]>"), example("two"), example("three")], "a & b");
        let chart = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
        let root = chart.root_element();
        let tags: Vec<_> =
            root.children().filter(roxmltree::Node::is_element).map(|node| node.tag_name().name()).collect();
        assert_eq!(tags[..3], ["title", "desc", "style"]);
        assert_eq!(tags.iter().filter(|tag| **tag == "g").count(), 3);
        let texts: Vec<_> = chart.descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(&"a<b> & \"c\"]]>, 100 B per message"), "{texts:?}");
        assert!(texts.contains(&"2.50 × the best peer"), "{texts:?}");
    }

    #[test]
    fn headings_do_not_overlap_ratios() {
        let ratio = "2.93 × the best peer";
        for (title, expected) in [
            ("small", "small, 165 B per message"),
            ("fifteen letters", "fifteen letters, 165 B per message"),
            ("sixteen letters!", "sixteen letters!, 165 B"),
            ("traffic/client_to_server", "traffic/client_to_server, 165 B"),
            ("a_folder_with_a_long_name/client_to_server", "…long_name/client_to_server, 165 B"),
        ] {
            let heading = heading(title, "165 B", ratio);
            assert_eq!(heading, expected);
            assert!((heading + ratio).chars().count() <= HEADING);
        }
    }

    #[test]
    fn bar_lengths_are_proportional_to_speeds() {
        let svg = chart(&[example("test")], "");
        let chart = roxmltree::Document::parse(&svg).unwrap();
        let lengths = bars(&chart, "width");
        let longest = f64::from(LONGEST);
        let expected = [longest, longest / 4.0, longest / 2.5, longest / 50.0, 0.0];
        assert_eq!(lengths.len(), expected.len());
        for (length, expected) in lengths.iter().zip(expected) {
            assert!((length - expected).abs() < 0.1, "{lengths:?}");
        }
    }

    #[test]
    fn all_bars_are_inside_the_chart() {
        let svg = chart(&[example("one"), example("two"), example("three")], "");
        let chart = roxmltree::Document::parse(&svg).unwrap();
        let height: f64 = chart.root_element().attribute("height").unwrap().parse().unwrap();
        let last_group = f64::from(HEAD + group_height(&example("one")) + GROUP_GAP);
        assert!(bars(&chart, "y").into_iter().all(|y| last_group + y + f64::from(BAR) <= height));
    }

    #[test]
    fn an_empty_chart_is_well_formed() {
        assert!(roxmltree::Document::parse(&chart(&[], "")).is_ok());
    }
}
