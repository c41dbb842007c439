//! Charts and the report, through exhibits that are hard to draw.

use figures::page::{Axis, Dot, Origin};
use figures::report::{self, File, Run, Shown};
use figures::{Chart, Effort, Part, Results, Series, Table, chart, csv, results};
use miniz_oxide::inflate::decompress_to_vec_zlib;

fn shown() -> (Run, Vec<Shown>) {
    let effort = Effort { seeds: 2, quick: true };
    let exhibits = crate::demo::exhibits();
    let points = results::distinct(exhibits.iter().flat_map(|exhibit| (exhibit.points)(&effort)));
    let summaries = simulator::batch::run_all(&points, &|_| ()).unwrap();
    let run = Run {
        command: "tokenwood reproduce <demo>".to_string(),
        version: "1.2.3".to_string(),
        effort,
        points: points.len() as u64,
        entries: summaries.iter().map(|summary| summary.entries).sum(),
        messages: summaries.iter().map(|summary| summary.messages).sum(),
        measured: None,
    };
    let results = Results::new(points, summaries);
    (run, exhibits.iter().map(|exhibit| Shown::of(exhibit, &effort, &results)).collect())
}

fn charts(shown: &[Shown]) -> Vec<&Chart> {
    let parts = shown.iter().flat_map(|shown| &shown.page.parts);
    parts.filter_map(|part| if let Part::Chart(chart) = part { Some(chart) } else { None }).collect()
}

/// `text` as SVG and HTML write it.
fn written(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[test]
fn svg_holds_every_label_and_no_foreign_tag() {
    let (_, shown) = shown();
    for chart in charts(&shown) {
        let svg = chart::svg(chart);
        for series in &chart.series {
            // A long label is broken into lines.
            let first: Vec<&str> = series.label.split(' ').take(5).collect();
            assert!(svg.contains(&written(&first.join(" "))), "{}: {}", chart.title, series.label);
        }
        assert!(svg.contains(&written(&chart.x.label)), "{}", chart.title);
        assert!(
            !svg.contains("<script>") && !svg.contains("NaN") && !svg.contains("inf\""),
            "{}",
            chart.title
        );
        let opened = svg.matches("<g>").count();
        assert_eq!(opened, svg.matches("</g>").count());
        assert_eq!(opened, svg.matches("<title>").count());
    }
}

#[test]
fn formulas_are_dashed_and_have_no_marks() {
    let curve = |origin| {
        let dots =
            vec![Dot::exact(1.0, 1.0), Dot::exact(2.0, 3.0), Dot { x: 3.0, y: 4.0, error: 2.0, values: 3 }];
        Series { label: "curve".to_string(), origin, dots }
    };
    let draw = |origin| {
        let (x, y) = (Axis::linear("x"), Axis::linear("y"));
        chart::svg(&Chart { suffix: "", title: "t".to_string(), x, y, series: vec![curve(origin)] })
    };
    let (formula, simulated, printed) =
        (draw(Origin::Formula), draw(Origin::Simulated), draw(Origin::Printed));
    assert!(formula.contains("stroke-dasharray") && !formula.contains("<circle"));
    // Three dots and one in the legend.
    assert!(!simulated.contains("stroke-dasharray") && simulated.matches("<circle").count() == 4);
    assert!(!printed.contains("stroke-width=\"1.8\""), "marks without a line");
    assert!(simulated.contains("95 % interval"));
}

fn pixels(png: &[u8]) -> (usize, usize, Vec<u8>) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    assert_eq!(&png[37..41], b"IDAT");
    let rows = decompress_to_vec_zlib(&png[41..41 + number(33)]).unwrap();
    (width, height, rows)
}

#[test]
fn png_is_twice_as_large_as_svg_and_not_blank() {
    let (_, shown) = shown();
    for chart in charts(&shown) {
        let (svg, png) = (chart::svg(chart), chart::png(chart));
        let (width, height, rows) = pixels(&png);
        assert!(
            svg.contains(&format!("width=\"{}\" height=\"{}\"", width / 2, height / 2)),
            "{}",
            chart.title
        );
        assert_eq!(width, 1800);
        assert_eq!(rows.len(), height * (width * 3 + 1));
        // Rows are stored as differences from the one above: zeros where nothing is drawn.
        let drawn = rows.chunks(width * 3 + 1).skip(1).filter(|row| row[1..].iter().any(|byte| *byte != 0));
        assert!(drawn.count() > 100, "{}", chart.title);
    }
}

#[test]
fn csv_reads_back_exactly() {
    let dots = vec![Dot { x: 0.1, y: 1.0 / 3.0, error: 1e-7, values: 3 }, Dot::exact(1e21, -2.0)];
    let series = vec![
        Series { label: "k = 3, \"fast\"".to_string(), origin: Origin::Simulated, dots },
        Series { label: "n − 1".to_string(), origin: Origin::Formula, dots: vec![Dot::exact(5.0, 4.0)] },
        Series { label: "table".to_string(), origin: Origin::Printed, dots: vec![Dot::exact(5.0, 4.1)] },
    ];
    let (x, y) = (Axis::linear("x"), Axis::linear("y"));
    let golden = "series,x,y,stderr,origin\n\
                  \"k = 3, \"\"fast\"\"\",0.1,0.3333333333333333,0.0000001,simulated\n\
                  \"k = 3, \"\"fast\"\"\",1000000000000000000000,-2,0,simulated\n\
                  n − 1,5,4,0,formula\n\
                  table,5,4.1,0,printed\n";
    assert_eq!(csv::chart(&Chart { suffix: "", title: String::new(), x, y, series }), golden);
    let text = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<String>>();
    let rows = vec![text(&["a\nb", "2"]), text(&["c", "3,5"])];
    let table = Table { suffix: "", title: String::new(), columns: text(&["one", "two"]), rows };
    assert_eq!(csv::table(&table), "one,two\n\"a\nb\",2\nc,\"3,5\"\n");
}

fn index(files: &[File]) -> String {
    let file = files.iter().find(|file| file.name == "index.html").unwrap();
    String::from_utf8(file.content.clone()).unwrap()
}

#[test]
fn the_report_has_every_claim_chart_and_table() {
    let (run, mut shown) = shown();
    shown[1].violations.push("naimi-trehel, 4 nodes: <two> inside".to_string());
    let files = report::files(&run, &shown);
    let html = index(&files);
    for shown in &shown {
        assert!(html.contains(&format!("<article id=\"{}\">", shown.id)));
        assert!(html.contains(&format!("href=\"#{}\"", shown.id)));
        for claim in &shown.page.claims {
            for text in [&claim.says, &claim.found, &claim.reason, &claim.verdict.to_string()] {
                // Once in the summary, once with its exhibit.
                assert!(html.matches(&written(text)).count() >= 2, "{text}");
            }
        }
        for name in shown.files() {
            assert!(files.iter().any(|file| file.name == name), "{name}");
            assert!(html.contains(&format!("href=\"{name}\"")), "{name}");
        }
    }
    let counts = report::Counts::of(&shown);
    assert_eq!(counts.all(), 4);
    for (class, count) in
        [("reproduces", counts.reproduce), ("differs", counts.differ), ("does-not", counts.do_not)]
    {
        assert!(
            html.contains(&format!("<li class=\"{class}\"><a href=\"#{class}\"><b>{count}</b>")),
            "{class}"
        );
    }
    assert!(html.contains("A property was violated") && html.contains("&lt;two&gt; inside"));
    assert!(html.contains("2 seeds to a point") && html.contains("tokenwood reproduce &lt;demo&gt;"));
    assert!(
        !html.contains("<script") && !html.contains("src=") && !html.contains("@import"),
        "self-contained"
    );
    assert_eq!(html.matches("<svg ").count(), charts(&shown).len());
    let names: std::collections::BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names.len(), files.len(), "no file is written twice");
}

#[test]
fn the_same_is_written_on_every_run() {
    let write = || {
        let (run, shown) = shown();
        report::files(&run, &shown)
    };
    let (first, second) = (write(), write());
    assert_eq!(first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first.name, second.name);
        assert!(first.content == second.content, "{}", first.name);
    }
}
