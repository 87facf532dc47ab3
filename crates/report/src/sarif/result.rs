//! A finding as SARIF has it, type by type: thousands of them are written in no time, which a tree
//! of maps would not be.

use std::borrow::Cow;

use serde::Serialize;

use super::{BASE, level};
use crate::model::{CodeStep, Confidence, Confirmed, Event, Finding, Frame, InCode};
use crate::paths::{self, FileLine, Root, uri};
use crate::table::in_conflict;
use crate::text;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message<'a>,
    analysis_target: ArtifactLocation,
    locations: [Location<'a>; 1],
    occurrence_count: u64,
    partial_fingerprints: Fingerprints<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_flows: Option<[CodeFlow<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<InCodeProperties<'a>>,
}

#[derive(Serialize)]
struct InCodeProperties<'a> {
    confidence: Confidence,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<&'a Confirmed>,
}

/// The second is the one that GitHub knows.
#[derive(Serialize)]
struct Fingerprints<'a> {
    #[serde(rename = "paceline/v1")]
    own: &'a str,
    #[serde(rename = "primaryLocationLineHash")]
    known: &'a str,
}

/// A text in which nothing is taken for a link.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    text: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Physical {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<Physical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_locations: Option<[Logical<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical<'a> {
    fully_qualified_name: &'a str,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow<'a> {
    thread_flows: Vec<ThreadFlow<'a>>,
}

#[derive(Serialize)]
struct ThreadFlow<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    message: Message<'a>,
    locations: Vec<FlowLocation<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FlowLocation<'a> {
    location: Location<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Stack<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<[&'a str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_order: Option<usize>,
    importance: &'static str,
}

#[derive(Serialize)]
struct Stack<'a> {
    frames: Vec<StackFrame<'a>>,
}

#[derive(Serialize)]
struct StackFrame<'a> {
    location: Location<'a>,
}

impl<'a> SarifResult<'a> {
    /// With the first `kept` events of the finding; `rule` is the index of its rule.
    pub(super) fn new(
        trace: &str,
        finding: &'a Finding,
        rule: Option<usize>,
        kept: usize,
        root: &Root,
    ) -> Self {
        SarifResult {
            rule_id: finding.rule.as_str(),
            rule_index: rule,
            level: level(finding.severity),
            message: Message::new(text::brief(finding)),
            analysis_target: ArtifactLocation::of(root.relative(trace)),
            locations: [place_of(trace, finding, root)],
            occurrence_count: finding.count.max(1),
            partial_fingerprints: Fingerprints { own: &finding.id, known: &finding.id },
            code_flows: code_flow(finding, kept, root).map(|flow| [flow]),
            properties: finding.code.as_ref().map(|code| InCodeProperties {
                confidence: code.confidence,
                confirmed: code.confirmed.as_ref(),
            }),
        }
    }
}

/// Where the finding is shown; GitHub wants some file in any case.
fn place_of<'a>(trace: &str, finding: &'a Finding, root: &Root) -> Location<'a> {
    let place = paths::of_finding(finding, root);
    let place = place.unwrap_or(FileLine { file: root.relative(trace), line: None });
    Location {
        physical_location: Some(Physical::of(place)),
        logical_locations: finding
            .blame
            .as_ref()
            .and_then(|b| b.label.text())
            .map(|l| [Logical::of(l)]),
        message: None,
    }
}

/// One flow for each thread, in the order of their first events.
fn code_flow<'a>(finding: &'a Finding, kept: usize, root: &Root) -> Option<CodeFlow<'a>> {
    if let Some(code) = &finding.code {
        return steps(code, root);
    }
    let mut thread_flows: Vec<ThreadFlow> = Vec::new();
    for (event, order) in finding.threads[..kept].iter().zip(1..) {
        let location = flow_location(event, order, finding, root);
        match thread_flows.iter_mut().find(|flow| flow.id == event.thread) {
            Some(flow) => flow.locations.push(location),
            None => thread_flows.push(ThreadFlow {
                id: &event.thread,
                message: Message::new(format!("thread {}", event.thread)),
                locations: vec![location],
            }),
        }
    }
    (!thread_flows.is_empty()).then_some(CodeFlow { thread_flows })
}

/// The steps through code: what any thread may do, so one flow.
fn steps<'a>(code: &'a InCode, root: &Root) -> Option<CodeFlow<'a>> {
    let location = |step: &'a CodeStep| FlowLocation {
        location: Location {
            physical_location: FileLine::of(&step.site, root).map(Physical::of),
            logical_locations: Some([Logical::of(&step.method)]),
            message: Some(Message::new(step.action.to_string())),
        },
        stack: None,
        kinds: None,
        execution_order: None,
        importance: "essential",
    };
    let locations: Vec<FlowLocation> = code.steps.iter().map(location).collect();
    let any = ThreadFlow { id: "", message: Message::of("any thread"), locations };
    (!code.steps.is_empty()).then(|| CodeFlow { thread_flows: vec![any] })
}

fn flow_location<'a>(
    event: &'a Event,
    order: usize,
    finding: &Finding,
    root: &Root,
) -> FlowLocation<'a> {
    let what = format!("{} (event {} of thread {})", event.operation(), event.event, event.thread);
    FlowLocation {
        location: Location {
            physical_location: FileLine::of(&event.site, root).map(Physical::of),
            logical_locations: None,
            message: Some(Message::new(what)),
        },
        stack: stack(event, root),
        kinds: Some([event.kind.name()]),
        execution_order: Some(order),
        importance: if in_conflict(finding, event) { "essential" } else { "important" },
    }
}

/// The calls around an event. Where it is in the innermost one is known; where the others were
/// left is not.
fn stack<'a>(event: &'a Event, root: &Root) -> Option<Stack<'a>> {
    let frame = |(i, frame): (usize, &'a Frame)| {
        let site = if i == 0 { &event.site } else { &frame.site };
        let location = Location {
            physical_location: FileLine::of(site, root).map(Physical::of),
            logical_locations: frame.label.text().map(|label| [Logical::of(label)]),
            message: None,
        };
        StackFrame { location }
    };
    let frames: Vec<_> = event.stack.iter().enumerate().map(frame).collect();
    (!frames.is_empty()).then_some(Stack { frames })
}

impl Physical {
    pub(super) fn of(place: FileLine) -> Physical {
        Physical {
            artifact_location: ArtifactLocation::of(place.file),
            region: place.line.map(|start_line| Region { start_line }),
        }
    }
}

impl Logical<'_> {
    fn of(label: &str) -> Logical<'_> {
        Logical { fully_qualified_name: label, kind: "function" }
    }
}

impl ArtifactLocation {
    pub(super) fn of(path: &str) -> ArtifactLocation {
        let uri_base_id = (!path.starts_with('/')).then_some(BASE);
        ArtifactLocation { uri: uri(path), uri_base_id }
    }
}

impl Message<'_> {
    pub(super) fn of(text: &str) -> Message<'_> {
        if !text.contains("](") {
            return Message { text: Cow::Borrowed(text) };
        }
        Message::new(text.to_owned())
    }

    fn new(text: String) -> Message<'static> {
        if !text.contains("](") {
            return Message { text: Cow::Owned(text) };
        }
        let escaped = text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
        Message { text: Cow::Owned(escaped) }
    }
}
