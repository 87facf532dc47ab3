//! What the scan reports: plain data, with everything a renderer needs as text and numbers.

use serde::Serialize;

use crate::archive::ScanError;
use crate::link::Link;
use crate::rules::Rule;

/// How sure the scan is that the pattern is really there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Only some of the possible callees take the lock, or the outer lock is held for long.
    Low,
    /// The lock is taken by most callees, or under a condition.
    Medium,
    /// Every call takes the lock.
    High,
}

impl Confidence {
    /// One level less.
    pub fn lower(self) -> Confidence {
        match self {
            Confidence::Low | Confidence::Medium => Confidence::Low,
            Confidence::High => Confidence::Medium,
        }
    }
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Site {
    /// The method, as the JVM writes it: `pkg/Class.method(desc)`.
    pub method: String,
    /// The source file with the folders of its package: `pkg/Class.java`.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl Site {
    /// The method with its types as they stand in the source: `pkg.Class.method(String, int)`.
    pub fn readable(&self) -> String {
        let (name, desc) = self.method.split_once('(').unwrap_or((&self.method, ")"));
        let (types, _) = crate::bytecode::parameters(&self.method.as_bytes()[name.len()..]);
        let types: Vec<String> = types.iter().map(|t| readable_type(t)).collect();
        let dotted = name.replace(['/', '$'], ".");
        if desc.is_empty() { dotted } else { format!("{dotted}({})", types.join(", ")) }
    }
}

/// A type of a descriptor as it stands in the source, without its package.
fn readable_type(desc: &[u8]) -> String {
    let dimensions = desc.iter().take_while(|&&b| b == b'[').count();
    let text = String::from_utf8_lossy(&desc[dimensions..]).into_owned();
    let name = match text.as_str() {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        class => class.trim_end_matches(';').rsplit(['/', '$']).next().unwrap_or(class),
    };
    let name = name.strip_prefix('L').filter(|_| !text.contains('/')).unwrap_or(name);
    name.to_owned() + &"[]".repeat(dimensions)
}

/// A lock, as a person would write it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Lock {
    /// The expression in the method that the warning names: `this.start`, `arg1`.
    pub expression: String,
    /// The class whose method takes it, with slashes.
    pub taken_in: String,
    /// The class that keeps the lock in a private field, when the code of the warning is not part
    /// of it and so cannot take the lock.
    pub owner: Option<String>,
}

/// The lock that is held around it all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Outer {
    /// The lock.
    pub expression: String,
    /// Where it is taken.
    pub site: Site,
}

/// What a trace says about a warning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Confirmation {
    /// The trace.
    pub trace: String,
    /// The lock's name there.
    pub lock: String,
    /// The events: the first release, another thread's acquire, the second acquire.
    pub events: [u64; 3],
}

/// One warning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Warning {
    /// The rule.
    pub rule: Rule,
    /// What is wrong, in one sentence.
    pub message: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// How the first use matters for the second.
    pub link: Link,
    /// Why it is not surer.
    pub doubts: Vec<String>,
    /// The lock or collection that is used twice.
    pub lock: Lock,
    /// The second lock of a pair.
    pub second_lock: Option<Lock>,
    /// The lock held all the time; none for collections.
    pub outer: Option<Outer>,
    /// The calls from the holder of the outer lock to the method with both uses.
    pub path: Vec<Site>,
    /// The first use: the call, and the calls below it down to the lock.
    pub first: Vec<Site>,
    /// The second use.
    pub second: Vec<Site>,
    /// Further locks that the same two uses take.
    pub also_locks: Vec<Lock>,
    /// Further second uses of the same lock that were merged into this warning.
    pub also: Vec<Site>,
    /// Further outer locks that are held around the same two uses.
    pub also_held: Vec<Outer>,
    /// Set when a trace shows another thread between the two uses.
    pub confirmed: Option<Confirmation>,
}

impl Warning {
    /// A warning about two uses, without anything else.
    pub(crate) fn new(
        rule: Rule,
        message: String,
        confidence: Confidence,
        lock: Lock,
        first: Vec<Site>,
        second: Vec<Site>,
    ) -> Warning {
        Warning {
            rule,
            message,
            confidence,
            link: Link::None,
            doubts: Vec::new(),
            lock,
            second_lock: None,
            outer: None,
            path: Vec::new(),
            first,
            second,
            also_locks: Vec::new(),
            also: Vec::new(),
            also_held: Vec::new(),
            confirmed: None,
        }
    }

    /// The place that the warning is about: the second use.
    pub fn site(&self) -> &Site {
        &self.second[0]
    }

    /// What to do about it.
    pub fn fix(&self) -> String {
        let second = self.second_lock.as_ref().unwrap_or(&self.lock);
        let owner = self.lock.owner.as_deref();
        self.rule.advice(&self.lock.expression, &second.expression, owner)
    }

    /// The same for the same warning after unrelated changes: lines do not count.
    pub fn fingerprint(&self) -> String {
        let outer = self.outer.as_ref().map_or("", |o| &o.site.method);
        let text = [self.rule.id(), &self.site().method, &self.lock.expression, outer].join("|");
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

/// What was read and found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Classes, those of libraries included.
    pub classes: usize,
    /// Methods.
    pub methods: usize,
    /// Source lines, as far as line tables say.
    pub lines: u64,
    /// Warnings hidden because they are not sure enough. There may be more: what is unsure already
    /// is not followed to further callers.
    pub unsure: usize,
    /// Warnings hidden by suppressions and annotations.
    pub suppressed: usize,
    /// Pairs of different locks that were not followed to further callers, to bound the work.
    pub cut: usize,
}

/// The result of a scan.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Report {
    /// The warnings, the surest first, then by file and line.
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub errors: Vec<ScanError>,
    /// How much there was.
    pub counts: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(method: &str) -> String {
        Site { method: method.to_owned(), file: None, line: None }.readable()
    }

    #[test]
    fn methods_are_shown_as_they_stand_in_the_source() {
        let method = "a/b/Outer$Inner.run(Ljava/lang/String;[[IZLTop;)V";
        assert_eq!(readable(method), "a.b.Outer.Inner.run(String, int[][], boolean, Top)");
        assert_eq!(readable("Top.run()V"), "Top.run()");
        assert_eq!(readable("damaged"), "damaged()");
    }
}
