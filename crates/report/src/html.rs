//! Reports as one page for a browser: a single file that needs no network and no server.
//!
//! The page holds the reports as JSON; its scripts (`html/*.js`) show them. Names come from traces
//! and may be hostile, so nothing of them is ever written as HTML: here they are inside JSON in
//! which no character can end the script element, and the scripts set texts, not markup. The
//! graphs are XML whose texts [`svg`] has escaped. A content security policy
//! forbids the page to load or send anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::model::{Failure, Report};
use crate::svg;
use crate::verdicts::{Section, sections};

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What was analysed.
    pub reports: &'a [Report],
    /// What could not be.
    pub failures: &'a [Failure],
    /// The source around the sites of the findings.
    pub snippets: &'a Snippets,
}

/// Source, by the site that it is around, as text.
pub type Snippets = BTreeMap<String, Snippet>;

/// Some lines of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Snippet {
    /// The number of its first line.
    pub first: u64,
    /// The number of the line that the site names.
    pub line: u64,
    /// The lines.
    pub lines: Vec<String>,
}

/// All that the scripts know.
#[derive(Serialize)]
struct Data<'a> {
    reports: &'a [Report],
    failures: &'a [Failure],
    snippets: &'a Snippets,
    /// For each report, for each finding: its picture.
    graphs: Vec<Vec<String>>,
    /// For each report: what its verdicts list beside the findings.
    sections: Vec<Vec<Section>>,
}

/// Of the lists of a verdict, so many rows are shown.
const MOST_ROWS: usize = 100;

const HEAD: &str = include_str!("html/head.html");
const STYLE: &str = include_str!("html/style.css");
const BODY: &str = include_str!("html/body.html");
const SCRIPTS: [&str; 6] = [
    include_str!("html/page.js"),
    include_str!("html/timeline.js"),
    include_str!("html/overview.js"),
    include_str!("html/finding.js"),
    include_str!("html/list.js"),
    include_str!("html/main.js"),
];
const DATA_BEGINS: &str = "<script type=\"application/json\" id=\"data\">";
const SCRIPT_ENDS: &str = "</script>\n";

/// The page.
pub fn page(page: &Page<'_>) -> Result<String, serde_json::Error> {
    let graphs = |r: &Report| r.findings.iter().map(svg::bare).collect();
    let sections_of =
        |r: &Report| r.verdicts.iter().flat_map(|(_, v)| sections(v, MOST_ROWS)).collect();
    let data = Data {
        reports: page.reports,
        failures: page.failures,
        snippets: page.snippets,
        graphs: page.reports.iter().map(graphs).collect(),
        sections: page.reports.iter().map(sections_of).collect(),
    };
    let data = harmless(&serde_json::to_string(&data)?);
    let scripts = SCRIPTS.concat();
    let (style, script) = ("<style>\n", "<script type=\"module\">\n");
    let parts = [
        HEAD,
        style,
        STYLE,
        "</style>\n",
        BODY,
        DATA_BEGINS,
        &data,
        SCRIPT_ENDS,
        script,
        &scripts,
        SCRIPT_ENDS,
        "</body>\n</html>\n",
    ];
    Ok(parts.concat())
}

/// The same JSON without the characters that mean something in HTML. They are only found inside
/// strings, where JSON has another way to write them.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (plain, special) = rest.split_at(at);
        let mut letters = special.chars();
        let c = letters.next().map_or(0, u32::from);
        out.push_str(plain);
        let _ = write!(out, "\\u{c:04x}");
        rest = letters.as_str();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{cycle_of, race, report_of};

    /// The data of a page, found as a browser finds them: up to the next `</script`.
    fn data_in(page: &str) -> serde_json::Value {
        let (_, data) = page.split_once(DATA_BEGINS).unwrap();
        let (data, _) = data.split_once("</script").unwrap();
        serde_json::from_str(data).unwrap()
    }

    fn page_of(reports: &[Report]) -> String {
        page(&Page { reports, failures: &[], snippets: &Snippets::new() }).unwrap()
    }

    #[test]
    fn the_page_holds_the_reports() {
        let reports = [report_of(vec![cycle_of(2), race()]), report_of(vec![])];
        let data = data_in(&page_of(&reports));
        let back: Vec<Report> = serde_json::from_value(data["reports"].clone()).unwrap();
        assert_eq!(back, reports);
        assert_eq!(data["graphs"][0].as_array().unwrap().len(), 2);
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = page_of(&[report_of(vec![])]);
        for outside in ["src=", "@import", "url(", "https://", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_scripts_write_no_markup() {
        for script in SCRIPTS {
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!script.contains(way), "{way}");
            }
            assert!(!script.contains("</script"));
        }
    }

    #[test]
    fn html_has_no_say_in_data() {
        assert_eq!(
            harmless(r#"{"a":"</script><!--&"}"#),
            r#"{"a":"\u003c/script\u003e\u003c!--\u0026"}"#
        );
    }
}
