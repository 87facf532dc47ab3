//! From what a record is about (a site's target, an object, an index) to a dense id and a readable
//! name: `Account#12.balance`, `Account#12`, `int[]#7[3]`, `Account.count`.
//!
//! Two targets are the same only if the site's name for them, the object and the index are: a name
//! is for reading, and never makes one of two.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::wire;
use crate::event::Kind;
use crate::symbols::Interner;

/// Two words, mixed: targets come from counters, and nobody attacks this table.
#[derive(Clone, Copy, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd134_2543_de82_ef95;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// What several sites may be about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TargetNo(u32);

/// The targets of a stream.
#[derive(Default)]
pub(super) struct Targets {
    /// By what the first word of a record would be if sites were targets, and index.
    ids: Table<(u64, u64), u32>,
    /// By name space (a kind stands for its own) and name.
    numbers: HashMap<(u8, u32), TargetNo>,
    /// The name of each object's class.
    classes: Table<u64, u32>,
}

/// Kinds with targets of the same sort.
fn space(kind: Kind) -> u8 {
    match kind {
        Kind::Read | Kind::Write | Kind::AtomicRead | Kind::AtomicWrite | Kind::AtomicUpdate => 0,
        Kind::Acquire
        | Kind::Release
        | Kind::AcquireShared
        | Kind::ReleaseShared
        | Kind::PreWait
        | Kind::PostWait
        | Kind::Notify => 1,
        Kind::Post | Kind::Take => 2,
        Kind::BarrierEnter | Kind::BarrierExit => 3,
        Kind::Fork | Kind::Join => 4,
        Kind::Begin | Kind::End => 5,
        Kind::Yield => 6,
    }
}

impl Targets {
    /// The number of what sites of this kind with this name are about.
    pub(super) fn number(&mut self, kind: Kind, name: u32) -> TargetNo {
        // There are no more of them than sites, so that they have room where sites have.
        let next = TargetNo(self.numbers.len() as u32);
        *self.numbers.entry((space(kind), name)).or_insert(next)
    }

    /// The class of an object is known.
    pub(super) fn object(&mut self, object: u64, class: u32) {
        self.classes.insert(object, class);
    }

    /// The id of a target: known, or to be made with a name by `make`, which is given the class.
    #[inline]
    pub(super) fn id(
        &mut self,
        target: TargetNo,
        object: u64,
        index: u64,
        make: impl FnOnce(Option<u32>) -> u32,
    ) -> u32 {
        let classes = &self.classes;
        let key = (wire::pack(target.0, object), index);
        *self.ids.entry(key).or_insert_with(|| make(classes.get(&object).copied()))
    }
}

/// The parts of a name.
pub(super) struct Parts<'a> {
    /// The site's name for it.
    pub(super) target: &'a [u8],
    /// The object and the name of its class.
    pub(super) object: Option<(u64, Option<&'a [u8]>)>,
    /// The index.
    pub(super) index: Option<u64>,
}

impl Parts<'_> {
    /// A name of its own. Fields that differ only in the class that declares them are rare, so
    /// that class is told only then.
    pub(super) fn intern(&self, names: &mut Interner) -> u32 {
        let mut name = self.name(false);
        if names.get(&name).is_some() {
            name = self.name(true);
        }
        while names.get(&name).is_some() {
            name.push(b'\'');
        }
        names.intern(&name)
    }

    fn name(&self, in_full: bool) -> Vec<u8> {
        let mut name = match self.object {
            None => self.target.to_vec(),
            Some((object, class)) => self.of_object(object, class, in_full),
        };
        if let Some(index) = self.index {
            name.extend_from_slice(format!("[{index}]").as_bytes());
        }
        name
    }

    fn of_object(&self, object: u64, class: Option<&[u8]>, in_full: bool) -> Vec<u8> {
        let dot = self.target.iter().rposition(|&b| b == b'.');
        let declared_in = dot.map_or(&b"object"[..], |dot| &self.target[..dot]);
        let mut name = class.unwrap_or(declared_in).to_vec();
        name.extend_from_slice(format!("#{object}").as_bytes());
        let field = match dot {
            Some(dot) if !in_full => &self.target[dot + 1..],
            _ => self.target,
        };
        if !field.is_empty() {
            name.push(b'.');
            name.extend_from_slice(field);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(
        names: &mut Interner,
        target: &str,
        object: Option<(u64, Option<&str>)>,
        index: Option<u64>,
    ) -> String {
        let object = object.map(|(id, class)| (id, class.map(str::as_bytes)));
        let id = Parts { target: target.as_bytes(), object, index }.intern(names);
        String::from_utf8_lossy(names.name(id)).into_owned()
    }

    #[test]
    fn names_read_well() {
        let names = &mut Interner::default();
        let account = Some((12, Some("p.Account")));
        assert_eq!(name(names, "p.Account.balance", account, None), "p.Account#12.balance");
        assert_eq!(name(names, "", account, None), "p.Account#12");
        assert_eq!(name(names, "", Some((7, Some("int[]"))), Some(3)), "int[]#7[3]");
        assert_eq!(name(names, "p.Account.count", None, None), "p.Account.count");
        assert_eq!(name(names, "p.Account.x", Some((9, None)), None), "p.Account#9.x");
        assert_eq!(name(names, "lock", Some((9, None)), None), "object#9.lock");
    }

    #[test]
    fn two_targets_have_two_names() {
        let names = &mut Interner::default();
        let object = Some((1, Some("B")));
        assert_eq!(name(names, "B.x", object, None), "B#1.x");
        assert_eq!(name(names, "A.x", object, None), "B#1.A.x");
        assert_eq!(name(names, "B.x", object, None), "B#1.B.x");
        assert_eq!(name(names, "B.x", object, None), "B#1.B.x'");
    }

    #[test]
    fn a_target_is_its_kind_its_object_and_its_index() {
        let mut targets = Targets::default();
        let field = targets.number(Kind::Read, 1);
        assert_eq!(targets.number(Kind::AtomicWrite, 1), field);
        let lock = targets.number(Kind::Acquire, 1);
        assert_ne!(lock, field);
        targets.object(5, 77);
        let ids = [(field, 5, 0), (field, 6, 0), (field, 5, 1), (lock, 5, 0)];
        for (i, &(target, object, index)) in ids.iter().enumerate() {
            let class = (object == 5).then_some(77);
            let made = targets.id(target, object, index, |given| {
                assert_eq!(given, class);
                i as u32
            });
            assert_eq!(made, i as u32);
        }
        for (i, &(target, object, index)) in ids.iter().enumerate() {
            assert_eq!(targets.id(target, object, index, |_| u32::MAX), i as u32);
        }
    }
}
