//! A chart: strokes and texts, each at its place and with a class of chart.css. Its template makes it
//! SVG, [`crate::png`] makes it PNG.

use crate::letters::{fit, width};
use askama::Template;
use lab_text::axis::Axis;

/// The area of the marks, in units of the drawing.
const LEFT: f64 = 64.0;
pub const RIGHT: f64 = 742.0;
pub const TOP: f64 = 40.0;
const BOTTOM: f64 = 264.0;

/// The distance of the places of [`Spot::coarse`].
const COARSE: f64 = 2.0;

/// Units of the drawing below the area of the marks.
const BELOW: f64 = 48.0;
pub const WIDTH: f64 = 760.0;

/// Units of the drawing for a line of text, and for one of the legend.
const LINE: f64 = 20.0;
const LEGEND: f64 = 15.0;

/// The most ticks of an axis.
pub const X_TICKS: usize = 8;
const Y_TICKS: usize = 6;

/// Two axes.
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
    /// The most ticks of `x`.
    pub x_ticks: usize,
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

    /// A line from the top to the base line.
    pub fn across(&self, x: f64) -> String {
        format!("M{} {TOP}V{BOTTOM}", self.at(x, 0.0).x)
    }
}

/// A place in the drawing.
#[derive(Clone, Copy)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
}

impl Spot {
    /// The nearest of so few places that a chart of any length stays small.
    pub fn coarse(self) -> Spot {
        let near = |at: f64| (at / COARSE).round() * COARSE;
        Spot {
            x: near(self.x),
            y: near(self.y),
        }
    }
}

/// Straight lines of one class.
pub struct Stroke {
    pub class: &'static str,
    pub path: String,
    /// What it stands for; empty of a line without a text of its own.
    pub title: String,
    /// The id of the row that it is of; empty without one.
    pub href: String,
}

/// A text, whose class says at which of its ends `x` is.
pub struct Text {
    pub class: &'static str,
    pub x: f64,
    pub y: f64,
    pub text: String,
}

/// A dot, a cross or a triangle at a place.
pub fn shape(class: &str, Spot { x, y }: Spot) -> String {
    match class {
        "wrong" => format!("M{x} {y}m-4 -4l8 8m0 -8l-8 8"),
        "crash" => format!("M{x} {y}m-4 4l4 -8l4 8l-8 0"),
        _ => format!("M{x} {y}h0"),
    }
}

/// The class of the names of levels.
const OF_LEVEL: &str = "end halo";

#[derive(Template)]
#[template(path = "chart.svg")]
pub struct Chart {
    pub id: String,
    pub title: String,
    pub description: String,
    /// It is a file of its own, so it brings its styles.
    is_alone: bool,
    pub height: f64,
    /// Later ones lie over earlier ones.
    pub strokes: Vec<Stroke>,
    pub texts: Vec<Text>,
    /// Where the next entry of the legend begins, and in which line.
    legend: f64,
    line_of_legend: usize,
}

impl Chart {
    /// A chart without axes, whose marks reach down to `bottom`.
    pub fn empty(id: String, title: String, bottom: f64) -> Self {
        Chart {
            id,
            title,
            description: String::new(),
            is_alone: false,
            height: bottom + BELOW,
            strokes: Vec::new(),
            texts: Vec::new(),
            legend: LEFT,
            line_of_legend: 0,
        }
    }

    pub fn new(id: String, title: String, plot: &Plot, [x_name, y_name]: [&str; 2]) -> Self {
        let mut chart = Chart::empty(id, title, BOTTOM);
        for tick in plot.y.ticks(Y_TICKS) {
            let y = plot.at(plot.x.low(), tick.value).y;
            chart.line("grid", format!("M{LEFT} {y}H{RIGHT}"));
            chart.text("end", (LEFT - 6.0, y + 4.0), tick.label);
        }
        for tick in plot.x.ticks(plot.x_ticks) {
            let x = plot.at(tick.value, 0.0).x;
            chart.line("grid", format!("M{x} {BOTTOM}v5"));
            chart.text("mid", (x, BOTTOM + 19.0), tick.label);
        }
        chart.line("base", format!("M{LEFT} {BOTTOM}H{RIGHT}"));
        chart.text("end", (RIGHT, BOTTOM + 40.0), x_name.to_owned());
        // Above the numbers that it belongs to.
        chart.text("", (8.0, 19.0), y_name.to_owned());
        chart.legend = chart.legend.max(width(y_name) + 28.0);
        chart
    }

    /// The chart as a file of its own, with its title in a line below all else.
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self.height += LINE;
        let (below, title) = (self.height - 8.0, fit(&self.title, RIGHT - LEFT));
        self.text("", (LEFT, below), title);
        self
    }

    pub fn text(&mut self, class: &'static str, (x, y): (f64, f64), text: String) {
        self.texts.push(Text { class, x, y, text });
    }

    /// Draws a dashed line across with its name. Out of range, only the name with an arrow.
    pub fn level(&mut self, plot: &Plot, value: f64, name: &str) {
        let text = match plot.y.share(value) {
            share if share > 1.0 => format!("↑ {name}"),
            share if share < 0.0 => format!("↓ {name}"),
            _ => name.to_owned(),
        };
        let at = plot.at(plot.x.low(), value).y;
        let y = at - 4.0;
        // Names of levels close to each other would lie over one another.
        let near = |text: &&mut Text| text.class == OF_LEVEL && (text.y - y).abs() < 13.0;
        match self.texts.iter_mut().find(near) {
            Some(beside) => beside.text += &format!(", {text}"),
            None => self.text(OF_LEVEL, (RIGHT - 4.0, y), text),
        }
        if (0.0..=1.0).contains(&plot.y.share(value)) {
            self.line("level", format!("M{LEFT} {at}H{RIGHT}"));
        }
    }

    pub fn line(&mut self, class: &'static str, path: String) {
        if !path.is_empty() {
            self.mark(class, path, String::new(), String::new());
        }
    }

    /// Draws what has a text of its own.
    pub fn mark(&mut self, class: &'static str, path: String, title: String, href: String) {
        self.strokes.push(Stroke {
            class,
            path,
            title,
            href,
        });
    }

    /// Adds an entry to the legend.
    pub fn name(&mut self, class: &'static str, text: String) {
        let needs = width(&text) + 30.0;
        if self.legend + needs > WIDTH {
            self.legend = LEFT;
            self.line_of_legend += 1;
        }
        let below = self.line_of_legend as f64 * LEGEND;
        let (x, y) = (self.legend, 15.0 + below);
        let path = match class {
            "kept" | "discard" | "foreign" | "wrong" | "crash" => {
                shape(class, Spot { x: x + 2.0, y })
            }
            _ => format!("M{} {y}h14", x - 5.0),
        };
        self.legend += needs;
        self.line(class, path);
        self.text("", (x + 12.0, y + 4.0), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_text::axis::Scale;

    #[test]
    fn texts_of_a_chart_have_lines_of_their_own_and_marks_forms_of_their_own() {
        let axis = || Axis::between(0.5, 5.5, Scale::Linear);
        let plot = Plot {
            x: axis(),
            y: axis(),
            x_ticks: 5,
        };
        let names = ["experiment", "sps"];
        let chart = Chart::new("c".into(), "a long title".into(), &plot, names).alone();
        let at = |text: &str| chart.texts.iter().find(|it| it.text == text).map(|it| it.y);
        let (title, axis) = (at("a long title"), at("experiment"));
        assert!(title > axis.map(|y| y + 12.0), "{title:?} {axis:?}");
        assert!(title < Some(chart.height));
        let place = Spot { x: 1.0, y: 2.0 };
        assert_ne!(shape("wrong", place), shape("crash", place));
    }
}
