//! Places: what an expression denotes, written as a root and the fields followed from it.
//!
//! This is the paper's *locking expression*, `LE ::= v | this | LE.f | LE[c]` (section 4.1), with
//! two additions: static fields and class objects are roots too. Two locks are equal when their
//! places are. A bytecode local has no name, so the root is what the local holds: a parameter,
//! the result of the instruction at some position, a fresh object, or the merge of several values
//! at a join (a phi). An expression that is longer than [`STEPS`] steps is the paper's `*`.
//!
//! A place is sixteen bytes and owns nothing: no table of expressions is needed, and methods can
//! be read in parallel.

/// How many fields or elements a place may follow: the size bound of the paper.
pub const STEPS: usize = 3;

const PAYLOAD: u32 = 28;
const PAYLOAD_MASK: u32 = (1 << PAYLOAD) - 1;

/// A name, numbered: a class, a method name, a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub u32);

/// A field, numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId(pub u32);

/// Where a place starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// Not known, or null: the paper's `*`.
    Unknown,
    /// A parameter; 0 is `this` in an instance method.
    Param(u32),
    /// What the instruction at this position computed.
    Value(u32),
    /// The object allocated at this position.
    New(u32),
    /// The merge of several values; numbered within the method.
    Phi(u32),
    /// The content of a static field.
    Static(FieldId),
    /// A class object.
    Class(Name),
    /// An integer constant.
    Int(i32),
    /// A string constant.
    Text(Name),
    /// The lambda made at this position.
    Lambda(u32),
}

/// A root in four bytes. Besides starting a place it says which parameter, instruction or phi a
/// value comes from: two reads of `this.f` denote one place but have two origins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(u32);

impl Origin {
    /// No value that is followed: null, or the second slot of a long.
    pub const UNKNOWN: Origin = Origin(0);

    /// Numbers that do not fit make the root unknown: it is never taken for another one.
    pub fn new(root: Root) -> Origin {
        let (tag, payload) = match root {
            Root::Unknown => (0, 0),
            Root::Param(n) => (1, n),
            Root::Value(n) => (2, n),
            Root::New(n) => (3, n),
            Root::Phi(n) => (4, n),
            Root::Static(f) => (5, f.0),
            Root::Class(n) => (6, n.0),
            Root::Int(n) => (7, n.wrapping_add(1 << (PAYLOAD - 1)) as u32),
            Root::Text(n) => (8, n.0),
            Root::Lambda(n) => (9, n),
        };
        if payload > PAYLOAD_MASK { Origin(0) } else { Origin(tag << PAYLOAD | payload) }
    }

    /// The root.
    pub fn get(self) -> Root {
        let payload = self.0 & PAYLOAD_MASK;
        match self.0 >> PAYLOAD {
            1 => Root::Param(payload),
            2 => Root::Value(payload),
            3 => Root::New(payload),
            4 => Root::Phi(payload),
            5 => Root::Static(FieldId(payload)),
            6 => Root::Class(Name(payload)),
            7 => Root::Int(payload as i32 - (1 << (PAYLOAD - 1))),
            8 => Root::Text(Name(payload)),
            9 => Root::Lambda(payload),
            _ => Root::Unknown,
        }
    }
}

/// How a place goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// Into a field.
    Field(FieldId),
    /// To the array element with this index.
    Element(Root),
    /// To whatever locks a call of this object, a lambda, takes.
    Invoke,
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// A step in four bytes; zero is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PackedSelector(u32);

const NONE: PackedSelector = PackedSelector(0);
const STEP_BITS: u32 = 30;
const INDEX_BITS: u32 = 26;

impl PackedSelector {
    fn new(step: Selector) -> Option<PackedSelector> {
        match step {
            Selector::Field(f) if f.0 < 1 << STEP_BITS => {
                Some(PackedSelector(1 << STEP_BITS | f.0))
            }
            Selector::Field(_) => None,
            Selector::Element(root) => Self::element(Origin::new(root)),
            Selector::Invoke => Some(PackedSelector(3 << STEP_BITS)),
        }
    }

    /// An index has 26 bits; constants are shifted so that they have no sign.
    fn element(index: Origin) -> Option<PackedSelector> {
        let tag = index.0 >> PAYLOAD;
        let payload = match index.get() {
            Root::Unknown => return None,
            Root::Int(n) => n.wrapping_add(1 << (INDEX_BITS - 1)) as u32,
            Root::Param(_)
            | Root::Value(_)
            | Root::New(_)
            | Root::Phi(_)
            | Root::Static(_)
            | Root::Class(_)
            | Root::Text(_)
            | Root::Lambda(_) => index.0 & PAYLOAD_MASK,
        };
        let fits = payload < 1 << INDEX_BITS;
        fits.then_some(PackedSelector(2 << STEP_BITS | tag << INDEX_BITS | payload))
    }

    fn get(self) -> Option<Selector> {
        let rest = self.0 & ((1 << STEP_BITS) - 1);
        match self.0 >> STEP_BITS {
            1 => Some(Selector::Field(FieldId(rest))),
            2 => Some(Selector::Element(Self::index(rest))),
            3 => Some(Selector::Invoke),
            _ => None,
        }
    }

    fn index(rest: u32) -> Root {
        let (tag, payload) = (rest >> INDEX_BITS, rest & ((1 << INDEX_BITS) - 1));
        if tag == 7 {
            return Root::Int(payload as i32 - (1 << (INDEX_BITS - 1)));
        }
        Origin(tag << PAYLOAD | payload).get()
    }
}

/// A root and up to [`STEPS`] steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockExpr {
    root: Origin,
    steps: [PackedSelector; STEPS],
}

const _: () = assert!(size_of::<LockExpr>() == 16);

impl LockExpr {
    /// The paper's `*`.
    pub const UNKNOWN: LockExpr = LockExpr { root: Origin(0), steps: [NONE; STEPS] };

    /// A root without steps.
    pub fn root_only(root: Root) -> LockExpr {
        LockExpr { root: Origin::new(root), steps: [NONE; STEPS] }
    }

    /// The parameter with this number.
    pub fn param(number: u32) -> LockExpr {
        LockExpr::root_only(Root::Param(number))
    }

    /// Where it starts.
    pub fn root(&self) -> Root {
        self.root.get()
    }

    /// Whether this is the paper's `*`.
    pub fn is_unknown(&self) -> bool {
        self.root.0 == 0
    }

    /// Its steps.
    pub fn steps(&self) -> impl Iterator<Item = Selector> + '_ {
        self.steps.iter().map_while(|s| s.get())
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps.iter().take_while(|&&s| s != NONE).count()
    }

    /// The place one step further, or `*` when that is too long or unknown.
    pub fn then(mut self, step: Selector) -> LockExpr {
        let Some(packed) = PackedSelector::new(step) else { return LockExpr::UNKNOWN };
        let len = self.len();
        if self.is_unknown() || len == STEPS {
            return LockExpr::UNKNOWN;
        }
        self.steps[len] = packed;
        self
    }

    /// This place with its root replaced by another place: the steps are kept.
    pub fn on(&self, base: LockExpr) -> LockExpr {
        self.steps().fold(base, LockExpr::then)
    }

    /// The place without its first step.
    pub fn after_first(&self, base: LockExpr) -> LockExpr {
        self.steps().skip(1).fold(base, LockExpr::then)
    }

    /// The first step.
    pub fn first(&self) -> Option<Selector> {
        self.steps[0].get()
    }

    /// The paper's DEPENDS(e, x) for a root x, given by its code: as the start of e, or as an index
    /// in it.
    pub fn depends_on(&self, root: u32) -> bool {
        self.root_codes().any(|code| code == root)
    }

    /// DEPENDS(e, y.f): whether the place goes through a field.
    pub fn goes_through(&self, field: FieldId) -> bool {
        self.root() == Root::Static(field) || self.steps().any(|s| s == Selector::Field(field))
    }

    /// DEPENDS(e, y\[i\]): whether the place goes through an array element.
    pub fn goes_through_array(&self) -> bool {
        self.indexes().next().is_some()
    }

    fn indexes(&self) -> impl Iterator<Item = Root> + '_ {
        self.steps().filter_map(|step| match step {
            Selector::Element(root) => Some(root),
            Selector::Field(_) | Selector::Invoke => None,
        })
    }

    /// A number for the root alone: equal for equal roots.
    pub fn root_code(&self) -> u32 {
        self.root.0
    }

    /// The numbers of the root and of every index.
    pub fn root_codes(&self) -> impl Iterator<Item = u32> + '_ {
        [self.root.0].into_iter().chain(self.indexes().map(|i| Origin::new(i).0))
    }

    /// Whether the place means the same to the callers of its method: it starts with a parameter,
    /// a static field or a class object, and so do its indexes.
    pub fn is_visible_outside(&self) -> bool {
        is_visible(self.root())
            && self.indexes().all(|i| matches!(i, Root::Int(_)) || is_visible(i))
    }

    /// Whether it starts with a static field or a class object.
    pub fn is_global(&self) -> bool {
        matches!(self.root(), Root::Static(_) | Root::Class(_))
    }

    /// Whether it ends with a call of a lambda.
    pub fn is_callback(&self) -> bool {
        self.steps().any(|s| s == Selector::Invoke)
    }

    /// The paper's TRANSLATELOCK (figure 7): this place of a called method, in the terms of the
    /// caller, whose arguments are `args` (the receiver first).
    pub fn translate(&self, args: &[LockExpr]) -> LockExpr {
        let base = match self.root() {
            Root::Param(n) => args.get(n as usize).copied().unwrap_or(LockExpr::UNKNOWN),
            Root::Static(_) | Root::Class(_) => LockExpr { root: self.root, steps: [NONE; STEPS] },
            Root::Unknown
            | Root::Value(_)
            | Root::New(_)
            | Root::Phi(_)
            | Root::Int(_)
            | Root::Text(_)
            | Root::Lambda(_) => LockExpr::UNKNOWN,
        };
        self.steps().fold(base, |place, step| place.then(translate_step(step, args)))
    }

    /// The same place with every number replaced: used once, when a class joins the program.
    pub fn renumber(
        &self,
        mut field: impl FnMut(FieldId) -> FieldId,
        name: impl Fn(Name) -> Name,
    ) -> LockExpr {
        let root = match self.root() {
            Root::Static(f) => Root::Static(field(f)),
            Root::Class(n) => Root::Class(name(n)),
            Root::Text(n) => Root::Text(name(n)),
            root @ (Root::Unknown
            | Root::Param(_)
            | Root::Value(_)
            | Root::New(_)
            | Root::Phi(_)
            | Root::Int(_)
            | Root::Lambda(_)) => root,
        };
        self.steps().fold(LockExpr::root_only(root), |place, step| {
            place.then(match step {
                Selector::Field(f) => Selector::Field(field(f)),
                step @ (Selector::Element(_) | Selector::Invoke) => step,
            })
        })
    }
}

fn is_visible(root: Root) -> bool {
    matches!(root, Root::Param(_) | Root::Static(_) | Root::Class(_))
}

/// An index must stay one root: an argument with steps of its own is too long.
fn translate_step(step: Selector, args: &[LockExpr]) -> Selector {
    match step {
        Selector::Element(Root::Param(n)) => {
            let index = args.get(n as usize).filter(|p| p.len() == 0);
            Selector::Element(index.map_or(Root::Unknown, LockExpr::root))
        }
        Selector::Field(_) | Selector::Element(_) | Selector::Invoke => step,
    }
}

impl std::fmt::Debug for LockExpr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.root())?;
        self.steps().try_for_each(|s| write!(f, ".{s:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(n: u32) -> Selector {
        Selector::Field(FieldId(n))
    }

    #[test]
    fn roots_and_steps_survive_packing() {
        let roots = [
            Root::Unknown,
            Root::Param(3),
            Root::Value(65535),
            Root::Phi(9),
            Root::Int(-7),
            Root::Static(FieldId(12)),
            Root::Text(Name(4)),
        ];
        for root in roots {
            assert_eq!(LockExpr::root_only(root).root(), root);
        }
        for index in [Root::Int(-3), Root::Int(5), Root::Param(1), Root::Value(77)] {
            let place = LockExpr::param(0).then(Selector::Element(index));
            assert_eq!(place.steps().collect::<Vec<_>>(), [Selector::Element(index)]);
        }
    }

    #[test]
    fn a_constant_that_does_not_fit_is_unknown_and_not_another_one() {
        assert_eq!(LockExpr::root_only(Root::Int(i32::MAX)), LockExpr::UNKNOWN);
        let big = LockExpr::param(0).then(Selector::Element(Root::Int(1 << 26)));
        assert_eq!(big, LockExpr::UNKNOWN);
    }

    #[test]
    fn the_size_bound_gives_the_unknown_lock() {
        let long = (0..4).fold(LockExpr::param(0), |p, n| p.then(field(n)));
        assert!(long.is_unknown());
    }

    #[test]
    fn translation_replaces_parameters_and_keeps_globals() {
        let args = [LockExpr::root_only(Root::Value(8)), LockExpr::param(2)];
        let lock = LockExpr::param(1).then(field(4));
        assert_eq!(lock.translate(&args), LockExpr::param(2).then(field(4)));
        assert!(LockExpr::param(7).translate(&args).is_unknown());
        assert!(LockExpr::root_only(Root::New(3)).translate(&args).is_unknown());
        let global = LockExpr::root_only(Root::Static(FieldId(3)));
        assert_eq!(global.translate(&args), global);
    }

    #[test]
    fn an_index_is_translated_too() {
        let lock = LockExpr::param(0).then(Selector::Element(Root::Param(1)));
        let args = [LockExpr::param(3), LockExpr::root_only(Root::Int(1))];
        assert_eq!(lock.translate(&args), LockExpr::param(3).then(Selector::Element(Root::Int(1))));
    }

    #[test]
    fn depends_looks_at_the_root_and_at_every_index() {
        let lock = LockExpr::param(0).then(field(1)).then(Selector::Element(Root::Phi(2)));
        let depends = |root| lock.depends_on(LockExpr::root_only(root).root_code());
        assert!(depends(Root::Param(0)) && depends(Root::Phi(2)));
        assert!(!depends(Root::Phi(1)));
        assert!(lock.goes_through(FieldId(1)) && !lock.goes_through(FieldId(2)));
        assert!(!lock.is_visible_outside());
    }
}
