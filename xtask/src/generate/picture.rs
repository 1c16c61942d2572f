//! Draws pictures for the docs as SVG. They follow the reader's colour scheme, light or dark.

use super::measured::number;

/// Colours of text, of our bars and those of others, and of cells for absent and failed features.
const STYLE: &str = "<style>text{font:12px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600}.h{font-size:10px}\
.o{fill:#0969da}.p{fill:#afb8c1}.g{fill:#2da44e}.u{fill:#eaeef2}.f{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.o{fill:#4493f8}.p{fill:#656c76}.g{fill:#3fb950}.u{fill:#21262d}.f{fill:#f85149}}</style>";

pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    pub(super) name: &'static str,
    pub(super) is_ours: bool,
    pub(super) value: f64,
}

const PANEL_WIDTH: usize = 430;
const NAMES_WIDTH: usize = 128;
/// Width of the longest bar; its number follows it.
const BAR_WIDTH: f64 = 215.0;
const ROW: usize = 20;
const HEAD: usize = 30;

/// Panels of horizontal bars, two side by side.
pub(super) fn bars(title: &str, panels: &[Panel]) -> String {
    let panel_height = HEAD + ROW * panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0) + 16;
    let mut body = String::new();
    for (index, panel) in panels.iter().enumerate() {
        let (x, y) = (index % 2 * PANEL_WIDTH, HEAD + index / 2 * panel_height);
        body += &format!("<text class=\"t\" x=\"{x}\" y=\"{}\">{}</text>\n", y + 14, panel.title);
        let most = panel.bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
        for (row, Bar { name, is_ours, value }) in panel.bars.iter().enumerate() {
            let (top, left) = (y + HEAD + row * ROW, x + NAMES_WIDTH);
            let (width, class) = ((value / most * BAR_WIDTH).max(1.0), if *is_ours { "o" } else { "p" });
            body += &format!(
                "<text x=\"{x}\" y=\"{}\">{name}</text><rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width:.1}\" \
                 height=\"14\" rx=\"2\"/><text x=\"{:.1}\" y=\"{}\">{}</text>\n",
                top + 11,
                left as f64 + width + 6.0,
                top + 11,
                number(*value),
            );
        }
    }
    let rows = panels.len().div_ceil(2);
    svg(title, 2 * PANEL_WIDTH, HEAD + rows * panel_height, &body)
}

const CELL: usize = 15;
const LABELS_WIDTH: usize = 170;
const LABELS_HEIGHT: usize = 150;

/// The tables of `docs/matrix.md`: a column for each feature, and a row for each revision, peer and
/// transport.
pub(super) fn matrix(page: &str) -> String {
    let (mut body, mut y, mut width) = (String::new(), LABELS_HEIGHT, 0);
    for section in page.split("\n## ").skip(1) {
        let (title, table) = section.split_once('\n').unwrap_or((section, ""));
        let rows: Vec<Vec<&str>> = table.lines().filter_map(cells).collect();
        let [heads, _, features @ ..] = &rows[..] else { continue };
        if width == 0 {
            for (index, feature) in features.iter().enumerate() {
                let x = LABELS_WIDTH + index * CELL + 11;
                let y = LABELS_HEIGHT - 6;
                body +=
                    &format!("<text class=\"h\" transform=\"translate({x} {y}) rotate(-60)\">{}</text>\n", feature[0]);
            }
            width = LABELS_WIDTH + features.len() * CELL + 60;
        }
        y += 20;
        body += &format!("<text class=\"t\" y=\"{}\">{title}</text>\n", y - 5);
        for (column, head) in heads.iter().enumerate().skip(1) {
            body += &format!("<text class=\"h\" x=\"8\" y=\"{}\">{head}</text>", y + 11);
            for (index, feature) in features.iter().enumerate() {
                let class = match feature.get(column) {
                    Some(cell) if cell.contains('✗') => "f",
                    Some(cell) if cell.contains('✓') => "g",
                    Some(&"") | None => "u",
                    Some(_) => "p",
                };
                let x = LABELS_WIDTH + index * CELL;
                body += &format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"13\" height=\"13\" rx=\"2\"/>");
            }
            body.push('\n');
            y += CELL;
        }
        y += 8;
    }
    y += 16;
    let legend = [("g", "passes"), ("f", "fails"), ("p", "the peer lacks it"), ("u", "not in this revision or form")];
    for (index, (class, meaning)) in legend.into_iter().enumerate() {
        let x = LABELS_WIDTH + index * 130;
        body += &format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"13\" height=\"13\" rx=\"2\"/><text class=\"h\" x=\"{}\" y=\"{}\">{meaning}</text>\n",
            x + 18,
            y + 10
        );
    }
    svg("Features, by client, server and revision", width, y + 20, &body)
}

/// The cells of a row in a Markdown table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

fn svg(title: &str, width: usize, height: usize, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{title}</title>\n{STYLE}\n<text class=\"t\" y=\"14\">{title}</text>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_colour_of_their_verdict() {
        let page = "# M\n\n## Ours\n\n| feature | 2024 | 2025 |\n| --- | --- | --- |\n| ping | ✓ (1) | (2) |\n| tasks |  | ✗ |\n";
        let drawn = matrix(page);
        let count = |class: &str| drawn.matches(&format!("<rect class=\"{class}\"")).count() - 1;
        assert_eq!(["g", "p", "u", "f"].map(count), [1, 1, 1, 1]);
    }

    #[test]
    fn the_longest_bar_is_the_largest_value() {
        let bar = |name, value| Bar { name, is_ours: true, value };
        let drawn = bars("Calls", &[Panel { title: "HTTP", bars: vec![bar("a", 50.0), bar("b", 200.0)] }]);
        assert!(drawn.contains("width=\"53.8\"") && drawn.contains("width=\"215.0\""), "{drawn}");
    }
}
