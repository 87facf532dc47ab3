//! The table of modelled methods, read from its text.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::model::{Call, Kept, Model, Shape};
use paceline_wire::Kind;

const TABLE: &str = include_str!("calls.table");

/// What the table says.
#[derive(Default)]
pub struct Table {
    /// The modelled methods.
    pub calls: Vec<Call>,
    /// Classes that order threads or access variables in a way that is not modelled, with slashes,
    /// and which of their methods do; all if none is named.
    pub unmodelled: HashMap<String, Vec<String>>,
    /// Classes that need no model, and which of their methods; all if none is named.
    pub known: HashMap<String, Vec<String>>,
}

/// The table.
pub fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| read(TABLE).unwrap_or_default())
}

/// The head of a part: everything but the method.
#[derive(Clone)]
struct Part {
    class: String,
    is_interface: bool,
    is_static: bool,
    kept: Kept,
    model: Model,
    also: Vec<String>,
    only: Vec<String>,
}

fn read(text: &str) -> Option<Table> {
    let mut table = Table::default();
    let mut part: Option<Part> = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<String> = line.split_whitespace().map(expand).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => {}
            [kind @ ("class" | "interface" | "static"), class, kept, model] => {
                part = Some(Part {
                    class: class.to_owned(),
                    is_interface: kind == "interface",
                    is_static: kind == "static",
                    kept: kept_named(kept)?,
                    model: model_named(model)?,
                    also: Vec::new(),
                    only: Vec::new(),
                });
            }
            ["also", ref classes @ ..] => part.as_mut()?.also = owned(classes),
            ["only", ref classes @ ..] => part.as_mut()?.only = owned(classes),
            ["known", class, ref methods @ ..] => {
                table.known.insert(class.to_owned(), owned(methods));
            }
            ["unmodelled", class, ref methods @ ..] => {
                table.unmodelled.insert(class.to_owned(), owned(methods));
            }
            [shape, kinds, descriptor, ref names @ ..] => {
                let part = part.as_ref()?;
                let kinds = kinds_named(kinds)?;
                let shape = shape_named(shape)?;
                table
                    .calls
                    .extend(names.iter().map(|name| call(part, shape, &kinds, descriptor, name)));
            }
            _ => return None,
        }
    }
    Some(table)
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn expand(word: &str) -> String {
    word.replace("$C/", "java/util/concurrent/")
        .replace("$L/", "java/util/concurrent/locks/")
        .replace("$A/", "java/util/concurrent/atomic/")
        .replace('@', "Ljava/lang/Object;")
        .replace('~', "Ljava/util/concurrent/TimeUnit;")
}

fn call(part: &Part, shape: Shape, kinds: &[Kind], descriptor: &str, name: &str) -> Call {
    let Part { class, is_interface, is_static, kept, model, also, only } = part.clone();
    Call {
        class,
        is_interface,
        is_static,
        also,
        only,
        name: name.to_owned(),
        descriptor: descriptor.to_owned(),
        shape,
        kinds: kinds.to_vec(),
        kept,
        model,
    }
}

fn kinds_named(words: &str) -> Option<Vec<Kind>> {
    if words == "-" {
        return Some(Vec::new());
    }
    let named = |word: &str| Kind::ALL.iter().copied().find(|kind| format!("{kind:?}") == word);
    words.split(',').map(named).collect()
}

fn kept_named(word: &str) -> Option<Kept> {
    [Kept::Receiver, Kept::Keyed, Kept::Indexed, Kept::CurrentThread, Kept::Reached]
        .into_iter()
        .find(|kept| format!("{kept:?}") == word)
}

fn model_named(word: &str) -> Option<Model> {
    Model::ALL.iter().copied().find(|model| format!("{model:?}") == word)
}

fn shape_named(word: &str) -> Option<Shape> {
    Shape::ALL.iter().copied().find(|shape| format!("{shape:?}") == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let table = read(TABLE).expect("a well-formed table");
        assert!(table.calls.len() > 300);
        assert!(table.calls.iter().any(|c| c.name == "lock" && c.model == Model::Taken));
        assert!(table.unmodelled.contains_key("java/util/concurrent/StructuredTaskScope"));
    }

    #[test]
    fn what_needs_no_model_is_known() {
        let known = &read(TABLE).expect("a well-formed table").known;
        assert!(known["java/util/concurrent/Callable"].is_empty());
        assert!(known["java/util/concurrent/ConcurrentHashMap"].contains(&"<init>".to_owned()));
    }

    #[test]
    fn no_two_lines_are_about_the_same_call() {
        let mut seen: HashMap<_, Vec<&String>> = HashMap::new();
        for call in &table().calls {
            for class in std::iter::once(&call.class).chain(&call.also) {
                let meant = seen.entry((class, &call.name, &call.descriptor)).or_default();
                let again = call.only.iter().any(|only| meant.contains(&only));
                let alone = meant.is_empty() || !call.only.is_empty();
                assert!(alone && !again, "{class}.{} is there twice", call.name);
                meant.extend(&call.only);
            }
        }
    }
}
