//! The JDK's own `java.base`, with the bugs that are known to be there.
#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod java;

use paceline_scan::{Confidence, Input, Options, Suppressions, Warning, scan};

/// The paper's own errors, in the code of the JDK that has the same shape. All are shown by default.
#[test]
fn the_known_composites_of_java_base_are_reported_by_default() {
    let Some(image) = java::image() else { return };
    let input = Input::Module { image, name: "java.base".to_owned() };
    let report = scan(&[input], &[], &Options::default(), &mut |_| {});
    assert_eq!(report.errors, []);
    assert!(report.counts.classes > 5000);
    let known = [
        "java/lang/StringBuffer.append(Ljava/lang/StringBuffer;)Ljava/lang/StringBuffer;",
        "java/util/Hashtable.equals(Ljava/lang/Object;)Z",
        "java/util/Hashtable.putAll(Ljava/util/Map;)V",
        "java/util/Vector.containsAll(Ljava/util/Collection;)Z",
        "java/util/Vector.removeAll(Ljava/util/Collection;)Z",
        "java/util/Vector.retainAll(Ljava/util/Collection;)Z",
    ];
    for method in known {
        let about = |w: &Warning| {
            let outer = w.outer.iter().chain(&w.also_held).map(|o| &o.site);
            let mut sites = outer.chain(&w.path).chain(&w.first).chain(&w.second);
            sites.any(|site| site.method == method)
        };
        let found: Vec<_> = report.warnings.iter().filter(|w| about(w)).collect();
        assert!(found.iter().any(|w| w.confidence >= Confidence::Medium), "{method}");
    }
}

/// Everything unsure as well: what the JDK's collections do through lambdas.
#[test]
fn lambdas_of_java_base_are_followed_to_their_locks() {
    let Some(image) = java::image() else { return };
    let input = Input::Module { image, name: "java.base".to_owned() };
    let suppressions = Suppressions { library_locks: false, ..Suppressions::default() };
    let options = Options { suppressions, min_confidence: Confidence::Low, ..Options::default() };
    let report = scan(&[input], &[], &options, &mut |_| {});
    for lambda in ["java/util/Vector.lambda$removeAll", "java/util/Vector.lambda$retainAll"] {
        let called = |w: &Warning| w.second.iter().any(|s| s.method.starts_with(lambda));
        assert!(report.warnings.iter().any(called), "{lambda}");
    }
}
