//! A chart as SVG: two axes, lines, marks with a text of their own, and lines across with a name.

use askama::Template;
use lab_text::axis::Axis;

/// The area of the marks, in units of the drawing.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 748.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 264.0;

/// The most ticks of an axis.
const X_TICKS: usize = 8;
const Y_TICKS: usize = 6;

/// Two axes.
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    /// Where a point is drawn. Out of range, at the edge; what has no value, on the base line.
    pub fn at(&self, x: f64, y: f64) -> Spot {
        let place = |share: f64, from: f64, to: f64| {
            let place = from + share.clamp(0.0, 1.0) * (to - from);
            (place * 10.0).round() / 10.0
        };
        Spot {
            x: place(self.x.share(x), LEFT, RIGHT),
            y: place(self.y.share(y), BOTTOM, TOP),
        }
    }
}

/// A place in the drawing.
#[derive(Clone, Copy)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
}

/// A number at an axis.
pub struct Label {
    pub at: f64,
    pub text: String,
}

/// Strokes of one class.
pub struct Line {
    pub class: &'static str,
    pub path: String,
}

/// One point. `href` names the row that it is of.
pub struct Mark {
    pub class: &'static str,
    pub path: String,
    pub title: String,
    pub href: String,
}

impl Mark {
    /// A mark with the shape of its class: a dot, or a cross.
    pub fn new(class: &'static str, at: Spot, title: String, href: String) -> Self {
        let path = shape(class, at);
        Mark {
            class,
            path,
            title,
            href,
        }
    }
}

/// A dot, or a cross, at a place.
pub fn shape(class: &str, Spot { x, y }: Spot) -> String {
    match class {
        "wrong" | "crash" => format!("M{x} {y}m-4-4l8 8m0-8l-8 8"),
        _ => format!("M{x} {y}h0"),
    }
}

/// A class with its name and its place in the legend.
pub struct Legend {
    pub class: &'static str,
    pub path: String,
    pub at: f64,
    pub text: String,
}

#[derive(Template)]
#[template(path = "chart.svg")]
pub struct Chart {
    pub id: String,
    pub title: String,
    pub description: String,
    /// It is a file of its own, so it brings its styles.
    pub is_alone: bool,
    pub x_name: String,
    pub y_name: String,
    x_ticks: Vec<Label>,
    y_ticks: Vec<Label>,
    levels: Vec<Label>,
    pub lines: Vec<Line>,
    pub marks: Vec<Mark>,
    legend: Vec<Legend>,
}

impl Chart {
    pub fn new(id: String, title: String, plot: &Plot) -> Self {
        let label = |at, text| Label { at, text };
        let x_ticks = plot.x.ticks(X_TICKS).into_iter();
        let y_ticks = plot.y.ticks(Y_TICKS).into_iter();
        Chart {
            id,
            title,
            description: String::new(),
            is_alone: false,
            x_name: String::new(),
            y_name: String::new(),
            x_ticks: x_ticks
                .map(|tick| label(plot.at(tick.value, 0.0).x, tick.label))
                .collect(),
            y_ticks: y_ticks
                .map(|tick| label(plot.at(plot.x.low(), tick.value).y, tick.label))
                .collect(),
            levels: Vec::new(),
            lines: Vec::new(),
            marks: Vec::new(),
            legend: Vec::new(),
        }
    }

    /// Draws a dashed line across with its name. Out of range, only the name with an arrow.
    pub fn level(&mut self, plot: &Plot, value: f64, name: &str) {
        let text = match plot.y.share(value) {
            share if share > 1.0 => format!("↑ {name}"),
            share if share < 0.0 => format!("↓ {name}"),
            _ => name.to_owned(),
        };
        let at = plot.at(plot.x.low(), value).y;
        // Names of levels close to each other would lie over one another.
        let near = |label: &&Label| (label.at - at).abs() < 13.0;
        match self.levels.iter().position(|label| near(&label)) {
            Some(beside) => self.levels[beside].text += &format!(", {text}"),
            None => self.levels.push(Label { at, text }),
        }
        if (0.0..=1.0).contains(&plot.y.share(value)) {
            self.line("level", format!("M{LEFT} {at}H{RIGHT}"));
        }
    }

    pub fn line(&mut self, class: &'static str, path: String) {
        if !path.is_empty() {
            self.lines.push(Line { class, path });
        }
    }

    /// Adds an entry to the legend.
    pub fn name(&mut self, class: &'static str, text: String) {
        let letters = |legend: &Legend| legend.text.chars().count() as f64;
        let at = self
            .legend
            .last()
            .map_or(LEFT, |last| last.at + letters(last) * 7.0 + 28.0);
        let path = match class {
            "best" | "level" | "roof" | "floor" => format!("M{} 15h14", at - 5.0),
            _ => shape(
                class,
                Spot {
                    x: at + 2.0,
                    y: 15.0,
                },
            ),
        };
        self.legend.push(Legend {
            class,
            path,
            at,
            text,
        });
    }
}
