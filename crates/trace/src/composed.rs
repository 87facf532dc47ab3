//! Fields of objects, static fields and elements, as a reader of recorded streams
//! knows them. A program has millions of them, most of which are touched a few times and never
//! again, so each has to be small: what it is (which field of which object) and a link, twelve
//! bytes, from which it is both found and named.
//!
//! Recorders number objects from one on, so an object is an index into a table, and its fields are
//! a short list that starts there. Fields of an object are mostly touched one after the other for
//! the first time, so they are neighbours, and an object that is used now was made a short while
//! ago: memory is used in the order of time, which a hash table would not do. Objects with many
//! fields, and static fields, are looked up by hashing nevertheless.
//!
//! A name is put together when it is asked for: the class of the object and the kind of the field
//! have their texts once.

use std::fmt;

use crate::id_table::Ids;
use crate::interner::Interner;

/// A field of an object: the number of the field and that of the object. 0 is no object: the field
/// is static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldKey(u64);

impl FieldKey {
    /// How many bits the number of the field has; the rest is the object.
    pub(crate) const NUMBER_BITS: u32 = 24;
    /// The highest number of an object.
    pub(crate) const MAX_OBJECT: u64 = u64::MAX >> Self::NUMBER_BITS;

    #[inline(always)]
    pub(crate) fn new(number: u32, object: u64) -> FieldKey {
        FieldKey(u64::from(number) | object << Self::NUMBER_BITS)
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0 as u32 & ((1 << Self::NUMBER_BITS) - 1)
    }

    #[inline(always)]
    pub(crate) fn object(self) -> u64 {
        self.0 >> Self::NUMBER_BITS
    }

    /// Both numbers in one word, for tables.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// A field, or an element of an object.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Var {
    key: FieldKey,
    /// The next field of the object, or [`NONE`]; for an element, where its index is.
    link: u32,
}

const _: () = assert!(size_of::<Var>() == 12);

/// In a link: this is an element. No variable has such a number.
const ELEMENT: u32 = 1 << 31;
/// The end of a list.
const NONE: u32 = ELEMENT - 1;
/// Instead of a list: the fields of this object are looked up by hashing.
const HASHED: u32 = u32::MAX;
/// The most fields in a list, so that a look-up is bounded; few objects have more.
const LONGEST_LIST: usize = 8;

/// What is known about an object.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object {
    class: Class,
    /// Its first field.
    first: u32,
}

const NO_OBJECT: Object = Object { class: Class::UNKNOWN, first: NONE };

/// A class, as the recorder has numbered its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Class(pub(crate) u32);

impl Class {
    /// Not recorded yet.
    pub(crate) const UNKNOWN: Class = Class(u32::MAX);
    /// Not recorded yet, and there are variables with names that wait for it.
    pub(crate) const AWAITED: Class = Class(u32::MAX - 1);
    /// What has no object.
    const STATIC: Class = Class(u32::MAX - 2);
}

/// How the fields of one number are shown in objects of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    /// The text before the object's number; none for what has no object.
    pub(crate) class: Option<u32>,
    /// The text of the field.
    pub(crate) field: u32,
}

/// Objects by number.
#[derive(Clone, Default)]
struct Objects {
    near: Vec<Object>,
    /// How many of those are known.
    known: u64,
    /// Those with numbers that are too far apart for a table.
    far: Vec<Object>,
    far_ids: Ids<u64>,
}

/// Where an object is in a table, if it is there.
#[inline(always)]
fn index_of(object: u64) -> usize {
    usize::try_from(object).unwrap_or(usize::MAX)
}

impl Objects {
    #[inline(always)]
    fn get(&self, object: u64) -> Object {
        match self.near.get(index_of(object)) {
            Some(near) if *near != NO_OBJECT || self.far.is_empty() => *near,
            Some(_) | None => self.get_far(object),
        }
    }

    #[cold]
    fn get_far(&self, object: u64) -> Object {
        self.far_ids.get(object).map_or(NO_OBJECT, |at| self.far[at as usize])
    }

    fn get_mut(&mut self, object: u64) -> &mut Object {
        if !self.far.is_empty()
            && let Some(at) = self.far_ids.get(object)
        {
            return &mut self.far[at as usize];
        }
        if object >= self.near.len() as u64 {
            if object > 4 * self.known + 4096 {
                return self.add_far(object);
            }
            self.near.resize(index_of(object) + 1, NO_OBJECT);
        }
        let near = &mut self.near[index_of(object)];
        self.known += u64::from(*near == NO_OBJECT);
        near
    }

    fn add_far(&mut self, object: u64) -> &mut Object {
        let at = self.far.len();
        self.far_ids.insert(object, at as u32);
        self.far.push(NO_OBJECT);
        &mut self.far[at]
    }
}

/// All of them, numbered in the order of their first appearance.
#[derive(Clone, Default)]
pub(crate) struct Composed {
    vars: Vec<Var>,
    objects: Objects,
    /// The fields of objects that have many, and static ones.
    hashed: Ids<u64>,
    /// The indexes of elements.
    indexes: Vec<u64>,
    /// By field and class: the index of how it is shown.
    kinds: Ids<u64>,
    shown: Vec<Shown>,
    /// What names are made of.
    texts: Interner,
}

impl fmt::Debug for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Composed({} variables)", self.len())
    }
}

impl Composed {
    pub(crate) fn len(&self) -> usize {
        self.vars.len()
    }

    /// A text for [`Shown`].
    pub(crate) fn text(&mut self, text: &[u8]) -> u32 {
        self.texts.intern(text)
    }

    /// The class of an object.
    pub(crate) fn class(&self, object: u64) -> Class {
        if object == 0 { Class::STATIC } else { self.objects.get(object).class }
    }

    /// What is known about the class of an object from now on.
    pub(crate) fn set_class(&mut self, object: u64, class: Class) {
        self.objects.get_mut(object).class = class;
    }

    /// Whether it is known how this field is shown in objects of this class.
    #[inline(always)]
    pub(crate) fn is_shown(&self, number: u32, class: Class) -> bool {
        self.kinds.get(kind(number, class)).is_some()
    }

    /// Sets how a field is shown in objects of this class, once. Two fields have two texts where
    /// their objects have the same: a name stands for one variable.
    pub(crate) fn show(&mut self, number: u32, class: Class, shown: Shown) {
        self.kinds.insert(kind(number, class), self.shown.len() as u32);
        self.shown.push(shown);
    }

    /// Prefetches what looking for a field will need.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: FieldKey) -> u32 {
        let object = key.object();
        let first = self.objects.near.get(index_of(object)).map_or(NONE, |object| object.first);
        self.vars.get(first as usize).map_or(first, |var| var.link)
    }

    /// The variable that is this field of this object.
    #[inline(always)]
    pub(crate) fn field(&self, key: FieldKey) -> Option<u32> {
        let object = key.object();
        let mut at = self.first(object);
        while let Some(var) = self.vars.get(at as usize) {
            if { var.key } == key {
                return Some(at);
            }
            at = var.link;
        }
        if at == HASHED { self.hashed.get(key.bits()) } else { None }
    }

    #[inline(always)]
    fn first(&self, object: u64) -> u32 {
        if object == 0 { HASHED } else { self.objects.get(object).first }
    }

    /// Adds a field that is not there.
    ///
    /// # Panics
    /// If there are 2^31 - 2 variables already.
    pub(crate) fn add_field(&mut self, key: FieldKey) -> u32 {
        let object = key.object();
        let id = self.next_id();
        let mut link = self.first(object);
        if link != HASHED && self.is_long(link) {
            self.hash(object);
            link = HASHED;
        }
        if link == HASHED {
            self.hashed.insert(key.bits(), id);
            link = NONE;
        } else {
            self.objects.get_mut(object).first = id;
        }
        self.vars.push(Var { key, link });
        id
    }

    /// Adds an element. The caller keeps the index by which it is found.
    ///
    /// # Panics
    /// If there are 2^31 - 2 variables already.
    pub(crate) fn add_element(&mut self, key: FieldKey, index: u64) -> u32 {
        let id = self.next_id();
        self.vars.push(Var { key, link: ELEMENT | self.indexes.len() as u32 });
        self.indexes.push(index);
        id
    }

    fn next_id(&self) -> u32 {
        let id = u32::try_from(self.vars.len()).ok().filter(|&id| id < NONE);
        id.expect("fewer than two billion variables")
    }

    /// The fields of a list.
    fn list(&self, first: u32) -> impl Iterator<Item = (u32, Var)> {
        let mut at = first;
        std::iter::from_fn(move || {
            let var = *self.vars.get(at as usize)?;
            Some((std::mem::replace(&mut at, var.link), var))
        })
    }

    fn is_long(&self, first: u32) -> bool {
        self.list(first).nth(LONGEST_LIST - 1).is_some()
    }

    /// From now on the fields of an object are looked up by hashing.
    #[cold]
    fn hash(&mut self, object: u64) {
        let fields: Vec<(u32, Var)> = self.list(self.first(object)).collect();
        fields.into_iter().for_each(|(id, var)| self.hashed.insert({ var.key }.bits(), id));
        self.objects.get_mut(object).first = HASHED;
    }

    /// Appends the name of a variable: `class#object.field[index]`.
    ///
    /// # Panics
    /// If there is no such variable.
    pub(crate) fn put_name(&self, id: u32, out: &mut Vec<u8>) {
        let Var { key, link } = self.vars[id as usize];
        let (number, object) = (key.number(), key.object());
        let shown = self.kinds.get(kind(number, self.class(object)));
        let Some(Shown { class, field }) = shown.map(|at| self.shown[at as usize]) else { return };
        let field = self.texts.name(field);
        if let Some(class) = class {
            out.extend_from_slice(self.texts.name(class));
            out.push(b'#');
            put_number(out, object);
            if !field.is_empty() {
                out.push(b'.');
            }
        }
        out.extend_from_slice(field);
        if link & ELEMENT != 0 {
            out.push(b'[');
            put_number(out, self.indexes[(link & NONE) as usize]);
            out.push(b']');
        }
    }
}

/// What is shown in the same way: a field in objects of a class.
#[inline(always)]
fn kind(number: u32, class: Class) -> u64 {
    FieldKey::new(number, u64::from(class.0)).bits()
}

/// Appends a number, in less time than formatting takes: recordings hold millions of names.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: Class = Class(3);

    fn name(composed: &Composed, id: u32) -> String {
        let mut name = Vec::new();
        composed.put_name(id, &mut name);
        String::from_utf8(name).expect("text")
    }

    /// What is put is found, and nothing else.
    fn check(keys: &[FieldKey]) {
        let mut composed = Composed::default();
        for (id, &key) in keys.iter().enumerate() {
            assert_eq!(composed.field(key), None);
            assert_eq!(composed.add_field(key), id as u32);
            composed.prefetch(key);
        }
        for (id, &key) in keys.iter().enumerate() {
            assert_eq!(composed.field(key), Some(id as u32));
        }
    }

    #[test]
    fn fields_are_found() {
        let keys = |numbers: u32, objects: &[u64]| -> Vec<FieldKey> {
            let of = |number| objects.iter().map(move |&object| FieldKey::new(number, object));
            (0..numbers).flat_map(of).collect()
        };
        let many: Vec<u64> = (0..5000).collect();
        check(&keys(3, &many));
        check(&keys(LONGEST_LIST as u32, &many));
        check(&keys(40, &[0, 1, 2, FieldKey::MAX_OBJECT]));
    }

    #[test]
    fn objects_with_any_numbers_are_found() {
        let far = (1..3000).map(|i| i * 1_000_003);
        let numbers: Vec<u64> = far.chain(0..300_000).chain([FieldKey::MAX_OBJECT]).collect();
        let mut objects = Objects::default();
        for (i, &object) in numbers.iter().enumerate() {
            assert!(objects.get(object) == NO_OBJECT);
            objects.get_mut(object).first = i as u32;
        }
        for (i, &object) in numbers.iter().enumerate() {
            assert_eq!(objects.get(object).first, i as u32);
            assert_eq!(objects.get_mut(object).first, i as u32);
        }
        assert!(objects.near.len() >= 300_000 && objects.near.len() < 2_000_000);
    }

    #[test]
    fn names_are_put_together() {
        let mut composed = Composed::default();
        let [account, balance, nothing] =
            [&b"p.Account"[..], b"balance", b""].map(|text| composed.text(text));
        for (number, class, shown) in [
            (1, CLASS, Shown { class: Some(account), field: balance }),
            (2, CLASS, Shown { class: Some(account), field: nothing }),
            (1, Class::STATIC, Shown { class: None, field: account }),
        ] {
            assert!(!composed.is_shown(number, class));
            composed.show(number, class, shown);
            assert!(composed.is_shown(number, class));
        }
        composed.set_class(12, CLASS);
        let balance = composed.add_field(FieldKey::new(1, 12));
        assert_eq!(name(&composed, balance), "p.Account#12.balance");
        let element = composed.add_element(FieldKey::new(2, 12), u64::MAX);
        assert_eq!(name(&composed, element), "p.Account#12[18446744073709551615]");
        let count = composed.add_field(FieldKey::new(1, 0));
        assert_eq!(name(&composed, count), "p.Account");
        let element = composed.add_element(FieldKey::new(1, 0), 0);
        assert_eq!(name(&composed, element), "p.Account[0]");
        assert_eq!(composed.len(), 4);
    }
}
