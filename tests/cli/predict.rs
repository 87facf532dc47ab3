//! `--predict`: what did not happen, but could have.

use crate::Folder;

/// Two sections of one lock in a block; the other thread's section fits between, but came first.
const REVERSAL: &str = "B|acq(l)|1 B|w(x)|2 B|rel(l)|3 A|begin(m)|4 A|acq(l)|5 A|w(x)|6 A|rel(l)|7 \
                        A|acq(l)|8 A|w(x)|9 A|rel(l)|10 A|end(m)|11";

#[test]
fn another_order_is_found_and_explained() {
    let folder = Folder::new().with("t.std", REVERSAL);
    folder.run("check t.std").ends_with(0);
    let run = folder.run("check --predict t.std").ends_with(1);
    insta::assert_snapshot!(run.stable());
}

#[test]
fn a_prediction_as_json() {
    let folder = Folder::new().with("t.std", REVERSAL);
    let report = folder.run("check --predict --format json t.std").ends_with(1).json();
    let atomicity = &report["verdicts"]["atomicity"];
    assert_eq!(atomicity["refuted"], serde_json::json!([]));
    let block = &atomicity["predicted"][0];
    assert_eq!((&block["begin_event"], &block["label"]), (&4.into(), &"m".into()));
    assert_eq!(block["witness"][0], 4);
    assert_eq!(block["reversed"], serde_json::json!([[1, 5]]));
    assert_eq!(atomicity["prediction"]["certified"], 1);
    assert_eq!(report["findings"][0]["rule"], "predicted");
    let plain = folder.run("check --format json t.std").ends_with(0).json();
    assert!(plain["verdicts"]["atomicity"].get("predicted").is_none());
}

#[test]
fn the_new_order_is_a_trace_that_is_refuted() {
    let folder = Folder::new().with("t.std", REVERSAL);
    folder.run("check --predict t.std --witness w.std").ends_with(1);
    folder.run("check w.std").ends_with(1);
}

#[test]
fn what_values_forbid_is_no_finding() {
    let increment = |t: &str| {
        let ops = "begin(m) acq(l) r(x) rel(l) acq(l) w(x) rel(l) end(m)".split(' ');
        ops.map(|op| format!("{t}|{op}|1")).collect::<Vec<_>>().join(" ")
    };
    let words = format!("{} {}", increment("A"), increment("B"));
    let folder = Folder::new().with("t.std", &words);
    let report = folder.run("check --predict --format json t.std").ends_with(0).json();
    let search = &report["verdicts"]["atomicity"]["prediction"];
    assert!(search["other_value"].as_u64() > Some(0), "{search}");
    assert_eq!(search["targets"][0]["label"], "m");
}

#[test]
fn races_and_yields_are_predicted_too() {
    let words = "A|w(x)|1 A|acq(l)|2 A|rel(l)|3 B|acq(l)|4 B|rel(l)|5 B|r(x)|6";
    let folder = Folder::new().with("t.std", words);
    folder.run("check --property race t.std").ends_with(0);
    let report =
        folder.run("check --property race --predict --format json t.std").ends_with(1).json();
    let race = &report["verdicts"]["race"]["predicted"][0];
    assert_eq!((&race["variable"], &race["events"]), (&"x".into(), &serde_json::json!([1, 6])));
    let early = "A|w(x)|1 A|aw(f)|2 A|w(x)|3 B|ar(f)|4 B|r(x)|5";
    let folder = Folder::new().with("t.std", early);
    folder.run("yields t.std").ends_with(0);
    let run = folder.run("yields --predict t.std").ends_with(1);
    assert!(run.text().contains("3: yield needed before w(x) by A (event 3)"), "{}", run.text());
    folder.run("check --property cooperability --predict t.std").ends_with(1);
}

#[test]
fn the_search_can_be_limited() {
    let folder = Folder::new().with("t.std", REVERSAL);
    folder.run("check --predict --predict-window 4 t.std").ends_with(0);
    folder.run("check --predict --predict-budget 0 t.std").ends_with(1);
    folder.run("check --predict --predict-budget -1 t.std").ends_with(2);
    folder.run("check --predict-window 8 t.std").ends_with(2);
}

/// A saved report has the prediction in full, and so has the trace, if it is looked for.
#[test]
fn a_prediction_is_explained() {
    let folder = Folder::new().with("t.std", REVERSAL);
    folder.run("check --predict --format json t.std -o saved.json").ends_with(1);
    let from_report = folder.run("explain saved.json").ends_with(1);
    for part in ["m is not atomic in another order", "moved   the lock section from event 1", "↓2"]
    {
        assert!(from_report.text().contains(part), "{part}: {}", from_report.text());
    }
    let from_trace = folder.run("explain t.std --predict").ends_with(1);
    assert_eq!(from_trace.text(), from_report.text().replace("in t.std\n", ""));
    let run = folder.run("explain t.std").ends_with(2);
    assert!(run.err.contains("the trace is atomic, there is nothing"), "{}", run.err);
    let run = folder.run("explain saved.json --predict").ends_with(2);
    assert!(run.err.contains("--predict needs the trace, not a report"), "{}", run.err);
    let id = "8baff2db7a47204b";
    let run = folder.run(&format!("explain t.std --predict --finding {id}")).ends_with(1);
    assert_eq!(run.text(), from_trace.text());
    let run = folder.run(&format!("explain t.std --finding {id}")).ends_with(2);
    assert!(run.err.contains("`--predict` looks for those of other orders"), "{}", run.err);
}

/// What is read elsewhere than here says that it did not happen, and which rule it is.
#[test]
fn other_formats_say_that_it_did_not_happen() {
    let folder = Folder::new().with("t.std", REVERSAL);
    let not_here = "did not happen in this run; this run could have gone so";
    let sarif = folder.run("check --predict --format sarif t.std").ends_with(1).json();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"predicted".into(), &"error".into()));
    assert!(result["message"]["text"].as_str().unwrap().ends_with(not_here), "{result}");
    let rules = &sarif["runs"][0]["tool"]["driver"]["rules"];
    let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(rule["id"], "predicted");
    assert!(rule["help"]["text"].as_str().unwrap().contains("could have gone so"), "{rule}");
    // The steps are in the new order.
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let steps = flows.iter().flat_map(|flow| flow["locations"].as_array().unwrap());
    let mut steps: Vec<_> = steps
        .map(|step| (step["executionOrder"].as_u64(), &step["location"]["message"]["text"]))
        .collect();
    steps.sort_by_key(|(order, _)| *order);
    assert_eq!(steps[2].1, "w(x) (event 2 of thread B)");
    let github = folder.run("check --predict --format github t.std").ends_with(1);
    assert!(github.text().starts_with("::error title=m is not atomic in another order"));
    assert!(github.text().contains(not_here), "{}", github.text());
    let junit = folder.run("check --predict --format junit t.std").ends_with(1);
    assert!(junit.text().contains("classname=\"predicted\""), "{}", junit.text());
    assert!(junit.text().contains(not_here), "{}", junit.text());
}

#[test]
fn a_picture_shows_both_orders() {
    let folder = Folder::new().with("t.std", REVERSAL);
    folder.run("check --predict t.std --perfetto p.json").ends_with(1);
    let picture: serde_json::Value = serde_json::from_slice(&folder.bytes("p.json")).unwrap();
    let order = |pid: u64| {
        let all = picture["traceEvents"].as_array().unwrap().iter();
        let of = all.filter(|e| e["pid"] == pid && e["ph"] == "X");
        of.map(|e| e["args"]["event"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((order(1), order(2)), (vec![2, 4, 6, 9], vec![4, 6, 2, 9]));
}
