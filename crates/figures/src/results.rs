//! What was simulated, found again by what was asked for.

use simulator::{Point, Summary};

/// Points and what came out of them.
#[derive(Default)]
pub struct Results {
    points: Vec<(Point, Summary)>,
}

impl Results {
    /// These points with these results, in the same order.
    pub fn new(points: Vec<Point>, summaries: Vec<Summary>) -> Results {
        Results { points: points.into_iter().zip(summaries).collect() }
    }

    /// What came out of a point. Every point that an exhibit looks up is one that it asked for.
    pub fn of(&self, point: &Point) -> &Summary {
        let found = self.points.iter().find(|(known, _)| known == point);
        &found.expect("an exhibit draws only what it asked to have simulated").1
    }
}

/// All points that are asked for, each once, in the order in which they were first asked for.
pub fn distinct(points: impl IntoIterator<Item = Point>) -> Vec<Point> {
    let mut distinct: Vec<Point> = Vec::new();
    for point in points {
        if !distinct.contains(&point) {
            distinct.push(point);
        }
    }
    distinct
}
