//! Reads the outputs back, as the programs do that they are made for.

use paceline_report::html::{Page, Snippets, page};
use paceline_report::model::Report;
use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::perfetto;
use paceline_report::sarif::{self, Limits};
use paceline_trace::Trace;
use serde_json::Value;

pub fn sarif_of(outcomes: &[Outcome]) -> Value {
    let document = sarif::document(outcomes, &Root::default(), &Limits::GITHUB);
    serde_json::from_str(&document).unwrap()
}

pub fn results(document: &Value) -> &Vec<Value> {
    document["runs"][0]["results"].as_array().unwrap()
}

pub fn notifications(document: &Value) -> Vec<String> {
    let invocation = &document["runs"][0]["invocations"][0];
    let notified = invocation["toolExecutionNotifications"].as_array().unwrap();
    notified.iter().map(|n| n["message"]["text"].as_str().unwrap().to_owned()).collect()
}

/// The page, and the data in it, found as a browser finds them: up to the next `</script`.
pub fn page_of(report: &Report, snippets: &Snippets) -> (String, Value) {
    let reports = std::slice::from_ref(report);
    let page = page(&Page { reports, failures: &[], snippets }).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script").unwrap();
    let data = serde_json::from_str(data).unwrap();
    (page, data)
}

/// The picture of a trace, and its events.
pub fn picture_of(trace: &Trace, report: &Report) -> Value {
    let mut picture = perfetto::Writer::new(Vec::new(), report).unwrap();
    picture.events(&trace.batch(), &trace.symbols).unwrap();
    serde_json::from_slice(&picture.finish(&trace.symbols).unwrap()).unwrap()
}

/// The elements of a document with this name: their attributes and the text inside.
#[expect(clippy::wildcard_enum_match_arm, reason = "only elements and their text matter")]
pub fn elements(xml: &str, name: &str) -> Vec<(Vec<(String, String)>, String)> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut found: Vec<(Vec<(String, String)>, String)> = Vec::new();
    let mut inside = false;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                inside = start.name().as_ref() == name;
                let attributes = start.attributes().map(|a| {
                    let a = a.unwrap();
                    let value = quick_xml::escape::unescape(&a.value).unwrap().into_owned();
                    (a.key.as_ref().to_owned(), value)
                });
                let attributes: Vec<_> = attributes.collect();
                if inside {
                    found.push((attributes, String::new()));
                }
            }
            Event::Text(part) if inside => {
                found.last_mut().unwrap().1 += &*part;
            }
            Event::GeneralRef(reference) if inside => {
                let text = format!("&{};", &*reference);
                found.last_mut().unwrap().1 += &quick_xml::escape::unescape(&text).unwrap();
            }
            Event::End(_) => inside = false,
            Event::Eof => return found,
            _ => {}
        }
    }
}

pub fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
    &attributes.iter().find(|(key, _)| key == name).unwrap().1
}

/// Undoes what a workflow command does to its text.
pub fn decoded(text: &str) -> String {
    let text = text.replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",");
    text.replace("%25", "%")
}
