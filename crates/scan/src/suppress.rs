//! Which warnings are not wanted: library locks, patterns of the user, annotations in the code.

/// Classes whose locks are mostly used on objects that no other thread sees; as in the paper,
/// warnings about them are hidden by default. An entry that ends with `/` or `$` covers all that
/// begins so.
const LIBRARY_LOCKS: &[&str] = &[
    "java/util/Vector",
    "java/util/Stack",
    "java/util/Hashtable",
    "java/util/Properties",
    "java/util/Random",
    "java/util/Timer",
    "java/util/Observable",
    "java/util/Collections$",
    "java/util/Vector$",
    "java/util/Hashtable$",
    "java/util/logging/",
    "java/util/zip/",
    "java/util/jar/",
    "java/util/concurrent/",
    "java/lang/StringBuffer",
    "java/lang/Throwable",
    "java/lang/Thread",
    "java/lang/ThreadGroup",
    "java/lang/ClassLoader",
    "java/lang/Object",
    "java/io/",
    "java/net/",
    "java/nio/",
    "java/security/",
    "java/text/",
    "sun/",
    "jdk/internal/",
];

/// Collections of the JDK that lock themselves. The paper found its errors in code like theirs.
const SEED_CLASSES: &[&str] = &[
    "java/util/Vector",
    "java/util/Stack",
    "java/util/Hashtable",
    "java/util/Collections$Synchronized",
    "java/lang/StringBuffer",
];

/// Whether a class is a self-locking collection of the JDK, or nested in one.
pub fn is_seed_class(class: &str) -> bool {
    SEED_CLASSES.iter().any(|seed| class.starts_with(seed))
}

/// Annotations that say that a lock or a method is not meant to be atomic, by their simple name.
const ANNOTATIONS: &[&str] = &["BenignLock", "NotAtomic", "NotThreadSafe"];

/// What is not to be reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suppressions {
    /// Hide locks that are taken in the classes of the JDK that are mostly used by one thread.
    pub library_locks: bool,
    /// Hide locks that fit one of these patterns: the class that takes them (`pkg/Class`), or the
    /// expression (`this.mutex`); `*` stands for any text.
    pub locks: Vec<String>,
    /// Hide warnings in methods that fit one of these patterns: `pkg/Class.method(desc)`.
    pub methods: Vec<String>,
    /// Further annotations that mark what is not meant to be atomic, by simple name.
    pub annotations: Vec<String>,
}

impl Default for Suppressions {
    fn default() -> Suppressions {
        Suppressions { library_locks: true, locks: vec![], methods: vec![], annotations: vec![] }
    }
}

impl Suppressions {
    /// Whether a lock is not to be reported.
    pub fn hides_lock(&self, taken_in: &str, expression: &str) -> bool {
        (self.library_locks && is_library_lock(taken_in))
            || self.locks.iter().any(|p| fits(p, taken_in) || fits(p, expression))
    }

    /// Whether a method is not to be reported.
    pub fn hides_method(&self, method: &str) -> bool {
        self.methods.iter().any(|p| fits(p, method))
    }

    /// Whether an annotation, given by its class, marks something as benign.
    pub fn is_benign(&self, annotation: &str) -> bool {
        let simple = annotation.rsplit(['/', '$']).next().unwrap_or_default();
        ANNOTATIONS.contains(&simple) || self.annotations.iter().any(|a| a == simple)
    }
}

fn is_library_lock(class: &str) -> bool {
    LIBRARY_LOCKS.iter().any(|entry| match entry.strip_suffix(['/', '$']) {
        Some(_) => class.starts_with(entry),
        None => class == *entry,
    })
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        assert!(
            fits("a/B.c*", "a/B.c()V") && fits("*.c()V", "a/B.c()V") && fits("a*c*V", "a/B.c()V")
        );
        assert!(fits("abc", "abc") && fits("*", ""));
        assert!(!fits("abc", "abcd") && !fits("a*b", "a") && !fits("ab*ba", "aba"));
    }

    #[test]
    fn library_locks_are_hidden_only_by_default() {
        let mut suppressions = Suppressions::default();
        assert!(suppressions.hides_lock("java/util/Vector", "arg1"));
        assert!(suppressions.hides_lock("java/util/Collections$SynchronizedList", "arg1"));
        assert!(!suppressions.hides_lock("java/util/Vectors", "arg1"));
        suppressions.library_locks = false;
        assert!(!suppressions.hides_lock("java/util/Vector", "arg1"));
        suppressions.locks = vec!["this.mutex".to_owned()];
        assert!(suppressions.hides_lock("a/B", "this.mutex"));
    }

    #[test]
    fn annotations_are_known_by_their_simple_names() {
        let suppressions =
            Suppressions { annotations: vec!["Mine".to_owned()], ..Suppressions::default() };
        assert!(suppressions.is_benign("net/jcip/annotations/NotThreadSafe"));
        assert!(suppressions.is_benign("a/Outer$Mine") && !suppressions.is_benign("a/Yours"));
    }
}
