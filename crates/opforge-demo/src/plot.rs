//! Draws how training went: the losses and the accuracy by epoch.

use std::error::Error as StdError;
use std::path::Path;

use opforge::Error;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::digits::Curves;
use crate::{Part, target};

const SIZE: (u32, u32) = (1200, 520);
const FONT: &str = "sans-serif";
const BLUE: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const ORANGE: RGBColor = RGBColor(0xd9, 0x6b, 0x0b);
const GREY: RGBColor = RGBColor(0xd8, 0xd8, 0xd8);

type Drawn = Result<(), Box<dyn StdError + Send + Sync>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A curve with its name in the legend.
struct Line<'a> {
    name: &'a str,
    values: &'a [f64],
    color: RGBColor,
}

/// Draws a picture (SVG).
pub fn draw(curves: &Curves, path: &Path) -> Part {
    draw_all(curves, path).map_err(|e| Error::msg(format!("drawing {}: {e}", path.display())))?;
    let (first, last) = (curves.train_loss[0], curves.train_loss[curves.train_loss.len() - 1]);
    target(last < first / 10.0, || format!("the loss fell from {first:.3} to {last:.3} only"))?;
    Ok(format!("{}: the loss fell from {first:.3} to {last:.4}", path.display()))
}

fn draw_all(curves: &Curves, path: &Path) -> Drawn {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 / 2);
    let losses = [
        Line { name: "training", values: &curves.train_loss, color: BLUE },
        Line { name: "held out", values: &curves.test_loss, color: ORANGE },
    ];
    let top = losses.iter().flat_map(|line| line.values).fold(0.0, |a: f64, &b| a.max(b));
    panel(&left, "Loss (cross entropy)", 0.0..top * 1.05, 2, &losses)?;
    let percent: Vec<f64> = curves.accuracy.iter().map(|part| part * 100.0).collect();
    let low = percent.iter().fold(100.0, |a: f64, &b| a.min(b)).floor() - 1.0;
    let accuracy = [Line { name: "held out", values: &percent, color: ORANGE }];
    panel(&right, "Held-out digits read right (%)", low..100.5, 0, &accuracy)?;
    root.present()?;
    Ok(())
}

fn panel(area: &Area<'_>, title: &str, range: std::ops::Range<f64>, digits: usize, lines: &[Line<'_>]) -> Drawn {
    let epochs = lines[0].values.len();
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 24))
        .margin(18)
        .x_label_area_size(48)
        .y_label_area_size(58)
        .build_cartesian_2d(1.0..epochs as f64, range)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GREY)
        .x_desc("epoch")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.digits$}"))
        .label_style((FONT, 17))
        .axis_desc_style((FONT, 19))
        .draw()?;
    for &Line { name, values, color } in lines {
        let points = values.iter().enumerate().map(|(i, &y)| ((i + 1) as f64, y));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(if lines.len() > 1 { SeriesLabelPosition::UpperRight } else { SeriesLabelPosition::LowerRight })
        .background_style(WHITE)
        .border_style(GREY)
        .label_font((FONT, 18))
        .draw()?;
    Ok(())
}
