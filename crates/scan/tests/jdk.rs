//! The JDK's own `java.base`, with the bugs that are known to be there.
#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod java;

use paceline_scan::{Confidence, Input, Options, Suppressions, scan};

#[test]
fn the_known_composites_of_java_base_are_found() {
    let Some(image) = java::image() else { return };
    let input = Input::Module { image, name: "java.base".to_owned() };
    let suppressions = Suppressions { library_locks: false, ..Suppressions::default() };
    let options = Options { suppressions, min_confidence: Confidence::Low, ..Options::default() };
    let report = scan(&[input], &[], &options, &mut |_| {});
    assert_eq!(report.errors, []);
    assert!(report.counts.classes > 5000);
    let known = [
        "java/lang/StringBuffer.append(Ljava/lang/StringBuffer;)Ljava/lang/StringBuffer;",
        "java/util/Hashtable.equals(Ljava/lang/Object;)Z",
        "java/util/Vector.containsAll(Ljava/util/Collection;)Z",
    ];
    for method in known {
        let held = |w: &paceline_scan::Warning| {
            w.outer.iter().chain(&w.also_held).any(|o| o.site.method == method)
        };
        assert!(report.warnings.iter().any(held), "{method}");
    }
    for lambda in ["java/util/Vector.lambda$removeAll", "java/util/Vector.lambda$retainAll"] {
        let called =
            |w: &paceline_scan::Warning| w.second.iter().any(|s| s.method.starts_with(lambda));
        assert!(report.warnings.iter().any(called), "{lambda}");
    }
}
