//! A program as a picture: its calls, in boxes where they are one kernel, and its memory beside them.

use std::fmt::Write;

use crate::inside::{bytes, summary};
use crate::program::Program;

/// Pixels: a line of text, the space around boxes, the boxes' width, and that of the memory beside them.
const LINE: usize = 18;
const GAP: usize = 14;
const BOX: usize = 520;
const MEMORY: usize = 360;
/// Colours of memory, in turns.
const COLOURS: [&str; 6] = ["#8ecae6", "#ffb703", "#95d5b2", "#e5989b", "#cdb4db", "#b7b7a4"];

impl Program {
    /// The picture, as SVG: from top to bottom the kernels in order, each with its calls and why the next one is another; to the right the memory that
    /// passes between them, each piece as wide as it is large, from the kernel that writes it to the last one that reads it.
    pub fn draw(&self) -> String {
        let heights: Vec<usize> = self.stages().iter().map(|stage| (stage.calls.len() + 1) * LINE + GAP / 2).collect();
        let tops: Vec<usize> = heights
            .iter()
            .scan(2 * LINE, |top, height| {
                let own = *top;
                *top += height + LINE + GAP;
                Some(own)
            })
            .collect();
        let bottom = tops.last().zip(heights.last()).map_or(2 * LINE, |(top, height)| top + height) + GAP;
        let width = BOX + MEMORY + 4 * GAP;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{bottom}\" viewBox=\"0 0 {width} {bottom}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{bottom}\" fill=\"white\"/>\n"
        );
        text(&mut svg, GAP, LINE, "#333", &format!("{} kernels", heights.len()));
        text(&mut svg, BOX + 3 * GAP, LINE, "#333", &format!("{} between them", bytes(self.memory())));
        for ((stage, &top), &height) in self.stages().iter().zip(&tops).zip(&heights) {
            let fill = if stage.calls.len() > 1 { "#e8f1fa" } else { "#f4f4f4" };
            boxed(&mut svg, [GAP, top, BOX, height], fill, &stage.calls.join("; "));
            text(&mut svg, 2 * GAP, top + LINE - 4, "#14507a", &summary(stage));
            for (i, call) in stage.calls.iter().enumerate() {
                text(&mut svg, 3 * GAP, top + (i + 2) * LINE - 4, "#111", call);
            }
            if let Some(apart) = &stage.apart {
                text(&mut svg, 2 * GAP, top + height + LINE - 2, "#999", &apart.to_string());
            }
        }
        for (i, piece) in self.passing().iter().enumerate() {
            let scale = |bytes: usize| (bytes as u128 * MEMORY as u128 / self.memory().max(1) as u128) as usize;
            let (from, to) = (piece.life.first, piece.life.last);
            let (top, end) = (tops[from] + heights[from] / 2, tops[to] + heights[to] / 2);
            let place = [BOX + 3 * GAP + scale(piece.offset), top, scale(piece.life.bytes).max(2), (end - top).max(4)];
            let note = format!("{} at {}, kernels {from} to {to}", bytes(piece.life.bytes), bytes(piece.offset));
            boxed(&mut svg, place, COLOURS[i % COLOURS.len()], &note);
        }
        svg + "</svg>\n"
    }
}

fn text(svg: &mut String, x: usize, y: usize, colour: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>", escaped(text));
}

/// A box at `[x, y, width, height]`, with a note that shows when it is pointed at.
fn boxed(svg: &mut String, [x, y, width, height]: [usize; 4], fill: &str, note: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\" stroke=\"#888\"><title>{}</title></rect>",
        escaped(note)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
