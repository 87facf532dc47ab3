//! From what a record is about (a site's target, an object, an index) to a dense id and a readable
//! name: `Account#12.balance`, `Account#12`, `int[]#7[3]`, `Account.count`.
//!
//! Two targets are the same only if the site's name for them, the object and the index are: a name
//! is for reading, and never makes one of two. Since names are put together only when they are
//! shown, that has to follow from their parts: `#` and `[` stand in a name for what they mean and
//! nothing else, and two fields have two texts where their objects are shown with the same text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use paceline_wire as wire;

use crate::composed::{Class, Composed, FieldKey, Shown};
use crate::event::{Kind, NameSpace};
use crate::id_table::Ids;
use crate::interner::Interner;
use crate::symbols::Symbols;

/// What several sites may be about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TargetNo(pub(super) u32);

/// What a record is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TargetKey {
    key: FieldKey,
    /// The index, for elements.
    index: u64,
}

impl TargetKey {
    #[inline(always)]
    pub(super) fn new(number: TargetNo, object: u64, index: u64) -> TargetKey {
        TargetKey { key: FieldKey::new(number.0, object), index }
    }

    /// What an element is found by.
    #[inline(always)]
    fn element(self) -> (u64, u64) {
        (self.key.bits(), self.index)
    }
}

/// Targets are numbered like the sites of a stream, so they have room where sites have.
const _: () = assert!(FieldKey::NUMBER_BITS >= wire::SITE_BITS);
const _: () = assert!(FieldKey::MAX_OBJECT >= wire::MAX_OBJECT);

/// The targets of a stream. Fields are found among the variables themselves.
#[derive(Default)]
pub(super) struct Targets {
    /// Elements that are variables.
    elements: Ids<(u64, u64)>,
    /// Locks and whatever else is no variable.
    others: Ids<u64>,
    other_elements: Ids<(u64, u64)>,
    /// By name space and name.
    numbers: HashMap<(NameSpace, u32), TargetNo>,
    /// The names, by number.
    names: Vec<u32>,
    /// By object of a class that is not known yet: what it has variables of.
    without_class: HashMap<u64, Vec<TargetNo>>,
    /// How a field is shown in objects that are shown with this text.
    fields: HashMap<(u32, TargetNo), u32>,
    /// The field that has this text.
    shown: HashMap<(u32, u32), TargetNo>,
}

impl Targets {
    /// The number of what sites of this kind with this name are about.
    pub(super) fn number(&mut self, kind: Kind, name: u32) -> TargetNo {
        // There are no more of them than sites, so that they have room where sites have.
        let next = TargetNo(self.names.len() as u32);
        let number = *self.numbers.entry((kind.name_space(), name)).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    /// The class of an object is known. Its variables may have come before.
    pub(super) fn object(
        &mut self,
        object: u64,
        class: u32,
        names: &[Box<[u8]>],
        vars: &mut Composed,
    ) {
        let known = vars.class(object);
        // A second frame says the same.
        if known != Class::UNKNOWN && known != Class::AWAITED {
            return;
        }
        vars.set_class(object, Class(class));
        if known == Class::AWAITED {
            for number in self.without_class.remove(&object).unwrap_or_default() {
                self.show(number, object, names, vars);
            }
        }
    }

    /// Prefetches what looking for a field will need.
    #[inline(always)]
    pub(super) fn prefetch_field(&self, target: TargetKey, vars: &Composed) -> u32 {
        vars.prefetch(target.key)
    }

    /// The same for an element.
    #[inline(always)]
    pub(super) fn prefetch_element(&self, target: TargetKey) -> u32 {
        self.elements.prefetch(target.element())
    }

    /// The same for what is no variable.
    #[inline(always)]
    pub(super) fn prefetch_other(&self, target: TargetKey) -> u32 {
        self.others.prefetch(target.key.bits())
    }

    /// The variable that is a field, known or new.
    #[inline(always)]
    pub(super) fn field(
        &mut self,
        target: TargetKey,
        names: &[Box<[u8]>],
        vars: &mut Composed,
    ) -> u32 {
        match vars.field(target.key) {
            Some(id) => id,
            None => self.new_field(target, names, vars),
        }
    }

    #[inline(never)]
    fn new_field(&mut self, target: TargetKey, names: &[Box<[u8]>], vars: &mut Composed) -> u32 {
        self.show_target(target, names, vars);
        vars.add_field(target.key)
    }

    /// The variable that is an element, known or new.
    #[inline(always)]
    pub(super) fn element(
        &mut self,
        target: TargetKey,
        names: &[Box<[u8]>],
        vars: &mut Composed,
    ) -> u32 {
        match self.elements.get(target.element()) {
            Some(id) => id,
            None => self.new_element(target, names, vars),
        }
    }

    #[inline(never)]
    fn new_element(&mut self, target: TargetKey, names: &[Box<[u8]>], vars: &mut Composed) -> u32 {
        self.show_target(target, names, vars);
        let id = vars.add_element(target.key, target.index);
        self.elements.insert(target.element(), id);
        id
    }

    /// The id of what is no variable, known or new.
    pub(super) fn other(
        &mut self,
        kind: Kind,
        target: TargetKey,
        is_indexed: bool,
        names: &[Box<[u8]>],
        symbols: &mut Arc<Symbols>,
    ) -> u32 {
        let element = target.element();
        let known = match is_indexed {
            true => self.other_elements.get(element),
            false => self.others.get(target.key.bits()),
        };
        known.unwrap_or_else(|| {
            let symbols = Arc::make_mut(symbols);
            let (number, object) = (target.key.number(), target.key.object());
            let name = self.name(TargetNo(number), object, names, symbols.vars.composed());
            let name = Name { index: is_indexed.then_some(target.index), ..name };
            let id = symbols.name_space(kind).map_or(0, |space| name.intern(space));
            match is_indexed {
                true => self.other_elements.insert(element, id),
                false => self.others.insert(target.key.bits(), id),
            }
            id
        })
    }

    /// There are no more records: what is known need not be found again.
    pub(super) fn close(&mut self) {
        self.elements = Ids::default();
    }

    /// Sees to it that a new variable has a name.
    #[inline(always)]
    fn show_target(&mut self, target: TargetKey, names: &[Box<[u8]>], vars: &mut Composed) {
        let (number, object) = (target.key.number(), target.key.object());
        let mut class = vars.class(object);
        if class == Class::UNKNOWN {
            vars.set_class(object, Class::AWAITED);
            class = Class::AWAITED;
        }
        if class == Class::AWAITED {
            self.without_class.entry(object).or_default().push(TargetNo(number));
        }
        if !vars.is_shown(number, class) {
            self.show(TargetNo(number), object, names, vars);
        }
    }

    /// How a field is shown in this object and all others of its class.
    #[cold]
    fn show(&mut self, number: TargetNo, object: u64, names: &[Box<[u8]>], vars: &mut Composed) {
        let class = vars.class(object);
        if vars.is_shown(number.0, class) {
            return;
        }
        let name = self.name(number, object, names, vars);
        let text = (object > 0).then(|| vars.text(&without(b"#", name.shown_class())));
        let shown_in = text.unwrap_or(STATIC);
        let field = match self.fields.get(&(shown_in, number)) {
            Some(&field) => field,
            None => self.field_text(shown_in, number, &name, vars),
        };
        vars.show(number.0, class, Shown { class: text, field });
    }

    fn name<'a>(
        &self,
        number: TargetNo,
        object: u64,
        names: &'a [Box<[u8]>],
        vars: &Composed,
    ) -> Name<'a> {
        let text = |name: u32| names.get(name as usize).map(|name| &**name);
        let target = text(self.names[number.0 as usize]).unwrap_or_default();
        // What stands for a class that is not known is no name.
        Name { target, object, class: text(vars.class(object).0), index: None }
    }

    /// How a field is shown in objects that are shown with the text `class`.
    fn field_text(
        &mut self,
        class: u32,
        number: TargetNo,
        name: &Name,
        vars: &mut Composed,
    ) -> u32 {
        let full = without(b"#[", name.target).into_owned();
        let marks = (0..).map(|count| [&full[..], &vec![b'\''; count]].concat());
        let short = (class != STATIC).then(|| without(b"#[", name.field(false)).into_owned());
        let mut candidates = short.into_iter().chain(marks).map(|text| vars.text(&text));
        let is_own = |text: &u32| *self.shown.entry((class, *text)).or_insert(number) == number;
        let field = candidates.find(is_own).unwrap_or(0);
        self.fields.insert((class, number), field);
        field
    }
}

/// Stands for the class of what has no object.
const STATIC: u32 = u32::MAX;

/// A text without some bytes, which mean something in names.
fn without<'a>(special: &[u8], text: &'a [u8]) -> Cow<'a, [u8]> {
    if !text.iter().any(|byte| special.contains(byte)) {
        return Cow::Borrowed(text);
    }
    text.iter().map(|&byte| if special.contains(&byte) { b'_' } else { byte }).collect()
}

/// What a name is made of.
struct Name<'a> {
    /// The site's name for it.
    target: &'a [u8],
    /// The object, or 0.
    object: u64,
    /// The name of its class.
    class: Option<&'a [u8]>,
    /// The index.
    index: Option<u64>,
}

impl Name<'_> {
    /// A name of its own. Fields that differ only in the class that declares them are rare, so
    /// that class is shown only then.
    /// Likewise the number of an object that is a class.
    fn intern(&self, names: &mut Interner) -> u32 {
        let mut name = self.put_together(false);
        if names.get(&name).is_some() {
            name = self.put_together(true);
        }
        while names.get(&name).is_some() {
            name.push(b'\'');
        }
        names.intern(&name)
    }

    fn put_together(&self, in_full: bool) -> Vec<u8> {
        let mut name = match self.object {
            0 => self.target.to_vec(),
            object => self.of_object(object, in_full),
        };
        if let Some(index) = self.index {
            name.extend_from_slice(format!("[{index}]").as_bytes());
        }
        name
    }

    fn of_object(&self, object: u64, in_full: bool) -> Vec<u8> {
        let mut name = self.shown_class().to_vec();
        // Of a class there is mostly one, so the number of its object says nothing.
        if in_full || !name.ends_with(b".class") {
            name.extend_from_slice(format!("#{object}").as_bytes());
        }
        let field = self.field(in_full);
        if !field.is_empty() {
            name.push(b'.');
            name.extend_from_slice(field);
        }
        name
    }

    /// What stands before the number of the object: its class, or the one that declares the field.
    fn shown_class(&self) -> &[u8] {
        let declared_in = self.dot().map_or(&b"object"[..], |dot| &self.target[..dot]);
        self.class.unwrap_or(declared_in)
    }

    fn field(&self, in_full: bool) -> &[u8] {
        match self.dot() {
            Some(dot) if !in_full => &self.target[dot + 1..],
            _ => self.target,
        }
    }

    fn dot(&self) -> Option<usize> {
        self.target.iter().rposition(|&b| b == b'.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of classes and fields, by number.
    const NAMES: [&str; 9] = [
        "",
        "p.Account",
        "p.Account.balance",
        "p.Account.count",
        "B.x",
        "A.x",
        "int[]",
        "B",
        "a#1[2]",
    ];

    struct Model {
        targets: Targets,
        symbols: Arc<Symbols>,
        names: Vec<Box<[u8]>>,
    }

    impl Model {
        fn new() -> Model {
            let names = NAMES.iter().map(|name| name.as_bytes().into()).collect();
            let (targets, symbols) = (Targets::default(), Arc::default());
            let mut model = Model { targets, symbols, names };
            model.object(12, 1);
            model.object(7, 6);
            model.object(1, 7);
            model
        }

        fn object(&mut self, object: u64, class: u32) {
            let symbols = Arc::make_mut(&mut self.symbols);
            self.targets.object(object, class, &self.names, symbols.vars.composed_mut());
        }

        fn id(&mut self, kind: Kind, name: u32, object: u64, index: Option<u64>) -> u32 {
            let Model { targets, symbols, names } = self;
            let target = TargetKey::new(targets.number(kind, name), object, index.unwrap_or(0));
            if kind.name_space() != NameSpace::Variable {
                return targets.other(kind, target, index.is_some(), names, symbols);
            }
            let vars = Arc::make_mut(symbols).vars.composed_mut();
            match index {
                None => targets.field(target, names, vars),
                Some(_) => targets.element(target, names, vars),
            }
        }

        fn name(&mut self, name: u32, object: u64, index: Option<u64>) -> String {
            let id = self.id(Kind::Read, name, object, index);
            String::from_utf8_lossy(&self.symbols.vars.name(id)).into_owned()
        }
    }

    #[test]
    fn names_read_well() {
        let mut model = Model::new();
        assert_eq!(model.name(2, 12, None), "p.Account#12.balance");
        assert_eq!(model.name(0, 12, None), "p.Account#12");
        assert_eq!(model.name(0, 7, Some(3)), "int[]#7[3]");
        assert_eq!(model.name(3, 0, None), "p.Account.count");
        assert_eq!(model.name(2, 9, None), "p.Account#9.balance");
        assert_eq!(model.name(1, 0, Some(4)), "p.Account[4]");
        let lock = model.id(Kind::Acquire, 0, 12, None);
        assert_eq!(model.symbols.locks.name(lock), b"p.Account#12");
    }

    #[test]
    fn a_class_may_be_known_later() {
        let mut model = Model::new();
        let id = model.id(Kind::Write, 0, 20, Some(5));
        assert_eq!(&*model.symbols.vars.name(id), b"object#20[5]");
        model.object(20, 6);
        assert_eq!(&*model.symbols.vars.name(id), b"int[]#20[5]");
        assert_eq!(model.name(0, 20, Some(5)), "int[]#20[5]");
    }

    #[test]
    fn two_targets_have_two_names() {
        let mut model = Model::new();
        assert_eq!(model.name(4, 1, None), "B#1.x");
        assert_eq!(model.name(5, 1, None), "B#1.A.x");
        assert_eq!(model.name(4, 1, None), "B#1.x");
        assert_eq!(model.name(5, 2, None), "A#2.x");
        assert_eq!(model.name(8, 0, None), "a_1_2]");
        let mut locks = Interner::default();
        let lock = Name { target: b"B.x", object: 1, class: None, index: None };
        let names = [(); 4].map(|()| lock.intern(&mut locks)).map(|id| locks.name(id));
        assert_eq!(names, [&b"B#1.x"[..], b"B#1.B.x", b"B#1.B.x'", b"B#1.B.x''"]);
        let class = |object| Name { target: b"", object, class: Some(b"B.class"), index: None };
        let names = [3, 4].map(|object| class(object).intern(&mut locks)).map(|id| locks.name(id));
        assert_eq!(names, [&b"B.class"[..], b"B.class#4"]);
    }

    #[test]
    fn a_target_is_its_kind_its_object_and_its_index() {
        let mut model = Model::new();
        let targets =
            [(2, 12, None), (2, 13, None), (0, 12, Some(0)), (0, 12, Some(1)), (0, 12, None)];
        for again in [false, true] {
            for (i, &(name, object, index)) in targets.iter().enumerate() {
                let kind = if again { Kind::AtomicWrite } else { Kind::Read };
                assert_eq!(model.id(kind, name, object, index), i as u32);
            }
        }
        assert_eq!(model.id(Kind::Acquire, 2, 12, None), 0);
        assert_eq!(model.id(Kind::Notify, 2, 12, None), 0);
        assert_eq!((model.symbols.vars.len(), model.symbols.locks.len()), (targets.len(), 1));
    }
}
