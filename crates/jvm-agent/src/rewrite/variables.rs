//! Accesses through a VarHandle or by reflection: a method of ours in the same class takes the
//! place of each.
//!
//! Calls of a VarHandle have whatever types the code wants, and those of a `Field` ask which class
//! calls; so there can be no method for them in the hook. The one that is added holds the stripe
//! of the variable, makes the call, and writes the record; an exception gives the stripe back. What
//! the handle or `Field` reaches is found out when it is used.

use super::model::Model;
use super::names::{VARIABLES_HOOK, parameters};
use crate::classfile::insn::op;
use crate::classfile::pool::Reference;
use crate::classfile::{Members, Outcome, Pool, put2, put4};
use paceline_wire::Kind;

const HANDLE: &[u8] = b"java/lang/invoke/VarHandle";
const FIELD: &[u8] = b"java/lang/reflect/Field";
const ARRAY: &[u8] = b"java/lang/reflect/Array";

/// By what a variable is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Handle,
    /// Whether its accesses are plain depends on the field.
    Field,
    /// By static methods.
    Array,
}

impl Way {
    fn of(owner: &[u8]) -> Option<Way> {
        match owner {
            HANDLE => Some(Way::Handle),
            FIELD => Some(Way::Field),
            ARRAY => Some(Way::Array),
            _ => None,
        }
    }

    fn class(self) -> &'static [u8] {
        match self {
            Way::Handle => HANDLE,
            Way::Field => FIELD,
            Way::Array => ARRAY,
        }
    }

    /// The descriptor of the object that is called, if there is one.
    fn receiver(self) -> Vec<u8> {
        match self {
            Way::Handle | Way::Field => [b"L", self.class(), b";"].concat(),
            Way::Array => Vec::new(),
        }
    }
}

/// How an access is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcomes {
    /// It always does the same.
    One(Kind),
    /// The first if the variable is plain, else the second.
    Declared(Kind, Kind),
    /// An update if it returns true, else a read.
    Success,
    /// An update if it returns what it expected, else a read.
    Exchange,
}

/// A call that accesses a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    way: Way,
    mode: Vec<u8>,
    descriptor: Vec<u8>,
    outcomes: Outcomes,
    /// Whether the variable is the element of an array, by its second coordinate.
    indexed: bool,
}

/// What is known about a call of such a class.
pub enum Known {
    /// An access of a variable.
    Access(Access),
    /// It neither accesses nor orders anything.
    Harmless,
    /// It is not modelled.
    Unmodelled,
}

/// What a call means; none if it is of another class.
pub fn find(called: &Reference) -> Option<Known> {
    let way = Way::of(called.owner)?;
    match way {
        Way::Handle if !is_harmless(called.name) => {
            Some(handled(called).map_or(Known::Unmodelled, Known::Access))
        }
        Way::Handle => Some(Known::Harmless),
        Way::Field | Way::Array => {
            Some(reflected(way, called).map_or(Known::Harmless, Known::Access))
        }
    }
}

/// Whether a method of a VarHandle neither accesses nor orders anything.
fn is_harmless(name: &[u8]) -> bool {
    let harmless: &[&[u8]] = &[
        b"varType",
        b"coordinateTypes",
        b"accessModeType",
        b"isAccessModeSupported",
        b"describeConstable",
        b"hasInvokeExactBehavior",
        b"withInvokeExactBehavior",
        b"withInvokeBehavior",
        b"equals",
        b"hashCode",
        b"toString",
        b"getClass",
    ];
    harmless.contains(&name)
}

/// An access by reflection: `get` or `set`, perhaps with the name of a primitive type behind it.
fn reflected(way: Way, called: &Reference) -> Option<Access> {
    const PRIMITIVES: &[&[u8]] =
        &[b"", b"Boolean", b"Byte", b"Char", b"Short", b"Int", b"Long", b"Float", b"Double"];
    let is_write = called.name.starts_with(b"set");
    let kind = called.name.get(3..).filter(|_| is_write || called.name.starts_with(b"get"))?;
    if !PRIMITIVES.contains(&kind) {
        return None;
    }
    let outcomes = match (way, is_write) {
        (Way::Field, false) => Outcomes::Declared(Kind::Read, Kind::AtomicRead),
        (Way::Field, true) => Outcomes::Declared(Kind::Write, Kind::AtomicWrite),
        (Way::Handle | Way::Array, false) => Outcomes::One(Kind::Read),
        (Way::Handle | Way::Array, true) => Outcomes::One(Kind::Write),
    };
    let (mode, descriptor) = (called.name.to_vec(), called.descriptor.to_vec());
    Some(Access { way, mode, descriptor, outcomes, indexed: way == Way::Array })
}

/// The values that a mode takes after the coordinates, and how it is recorded.
fn mode(name: &[u8]) -> Option<(usize, Outcomes)> {
    let is = |start: &[u8]| name.starts_with(start);
    Some(match name {
        b"get" => (0, Outcomes::One(Kind::Read)),
        b"set" => (1, Outcomes::One(Kind::Write)),
        b"getVolatile" | b"getOpaque" | b"getAcquire" => (0, Outcomes::One(Kind::AtomicRead)),
        b"setVolatile" | b"setOpaque" | b"setRelease" => (1, Outcomes::One(Kind::AtomicWrite)),
        _ if is(b"compareAndExchange") => (2, Outcomes::Exchange),
        _ if is(b"compareAndSet") || is(b"weakCompareAndSet") => (2, Outcomes::Success),
        _ if is(b"getAnd") => (1, Outcomes::One(Kind::AtomicUpdate)),
        _ => return None,
    })
}

fn handled(called: &Reference) -> Option<Access> {
    let (values, outcomes) = mode(called.name)?;
    let types = parameters(called.descriptor);
    let coordinates = &types[..types.len().checked_sub(values)?];
    let indexed = match coordinates {
        [] => false,
        [object] if is_object(object) => false,
        [array, b"I" | b"S" | b"B" | b"C"] if is_object(array) => true,
        _ => return None,
    };
    // Where the types differ, the platform converts: then it cannot be seen what was found.
    let returned = returned(called.descriptor);
    let unseen = outcomes == Outcomes::Exchange && returned != types[coordinates.len()];
    let outcomes = if unseen { Outcomes::One(Kind::AtomicUpdate) } else { outcomes };
    let (mode, descriptor) = (called.name.to_vec(), called.descriptor.to_vec());
    Some(Access { way: Way::Handle, mode, descriptor, outcomes, indexed })
}

fn returned(descriptor: &[u8]) -> &[u8] {
    descriptor.rsplit(|&b| b == b')').next().unwrap_or_default()
}

fn is_object(descriptor: &[u8]) -> bool {
    matches!(descriptor.first(), Some(b'L' | b'['))
}

impl Access {
    /// The kinds of its sites, in their order.
    pub fn kinds(&self) -> &'static [Kind] {
        match self.outcomes {
            Outcomes::One(Kind::Read) => &[Kind::Read],
            Outcomes::One(Kind::Write) => &[Kind::Write],
            Outcomes::One(Kind::AtomicRead) => &[Kind::AtomicRead],
            Outcomes::One(Kind::AtomicWrite) => &[Kind::AtomicWrite],
            Outcomes::One(_) => &[Kind::AtomicUpdate],
            Outcomes::Declared(Kind::Write, _) => &[Kind::Write, Kind::AtomicWrite],
            Outcomes::Declared(..) => &[Kind::Read, Kind::AtomicRead],
            Outcomes::Success | Outcomes::Exchange => &[Kind::AtomicUpdate, Kind::AtomicRead],
        }
    }

    /// Whether its sites are about elements, and not about what the handle says.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// How its real site is made.
    pub fn model(&self) -> Model {
        if self.kinds().len() == 2 { Model::ReachedEither } else { Model::Reached }
    }

    /// The instruction that makes the call.
    pub fn opcode(&self) -> u8 {
        match self.way {
            Way::Handle | Way::Field => op::INVOKEVIRTUAL,
            Way::Array => op::INVOKESTATIC,
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self.outcomes, Outcomes::One(Kind::Read | Kind::Write))
    }

    /// The descriptor of the method in its place: the object called, the parameters, the site.
    fn bridge_descriptor(&self) -> Vec<u8> {
        let given = parameters(&self.descriptor).concat();
        [b"(", &self.way.receiver()[..], &given, b"I)", returned(&self.descriptor)].concat()
    }
}

/// The methods that a class gets.
#[derive(Default)]
pub struct Bridges(Vec<Access>);

/// Private, static and synthetic.
const ACCESS: u16 = 0x100a;

impl Bridges {
    /// The instruction that takes the place of a call; the site is on the stack.
    pub fn call(
        &mut self,
        access: &Access,
        class: &[u8],
        is_interface: bool,
        pool: &mut Pool,
    ) -> Outcome<u16> {
        let known = self.0.iter().position(|it| it == access);
        let number = known.unwrap_or_else(|| {
            self.0.push(access.clone());
            self.0.len() - 1
        });
        let (name, descriptor) = (name(number), access.bridge_descriptor());
        if is_interface {
            pool.add_interface_method(class, &name, &descriptor)
        } else {
            pool.add_method(class, &name, &descriptor)
        }
    }

    /// Adds the methods to those of the class.
    pub fn add(&self, members: &mut Members, pool: &mut Pool) -> Outcome<()> {
        for (number, access) in self.0.iter().enumerate() {
            let code = body(access, pool)?;
            let head = [
                ACCESS,
                pool.add_text(&name(number))?,
                pool.add_text(&access.bridge_descriptor())?,
                1,
                pool.add_text(b"Code")?,
            ];
            head.iter().for_each(|&n| put2(&mut members.bytes, n));
            put4(&mut members.bytes, code.len() as u32);
            members.bytes.extend_from_slice(&code);
            members.count += 1;
        }
        Ok(())
    }
}

fn name(number: usize) -> Vec<u8> {
    format!("$paceline{number}").into_bytes()
}

/// Where the parameters of a bridge are.
struct Locals {
    /// Loads the object called and the parameters.
    load: Vec<u8>,
    /// The slots of the parameters.
    slots: Vec<u8>,
    site: u8,
    word: u8,
}

const LLOAD: u8 = 0x16;
const LSTORE: u8 = 0x37;
const ILOAD: u8 = 0x15;

fn locals(access: &Access) -> Locals {
    let (mut load, mut next) = match access.way {
        Way::Handle | Way::Field => (vec![op::ALOAD, 0], 1u8),
        Way::Array => (Vec::new(), 0),
    };
    let mut slots = Vec::new();
    for parameter in parameters(&access.descriptor) {
        load.extend([ILOAD + letter(parameter), next]);
        slots.push(next);
        next = next.saturating_add(if is_wide(parameter) { 2 } else { 1 });
    }
    Locals { load, slots, site: next, word: next.saturating_add(1) }
}

fn is_wide(descriptor: &[u8]) -> bool {
    matches!(descriptor, b"J" | b"D")
}

/// Which of the instructions for `int`, `long`, `float`, `double` and objects is meant.
fn letter(descriptor: &[u8]) -> u8 {
    match descriptor {
        b"J" => 1,
        b"F" => 2,
        b"D" => 3,
        _ if is_object(descriptor) => 4,
        _ => 0,
    }
}

/// The Code attribute of a bridge.
fn body(access: &Access, pool: &mut Pool) -> Outcome<Vec<u8>> {
    let locals = locals(access);
    let mut code = Vec::new();
    if access.way == Way::Handle {
        // The types are loaded now: that may run code of the application, which must not find us
        // holding.
        with(&mut code, op::LDC_W, pool.add_method_type(&access.descriptor)?);
        code.push(op::POP);
    }
    begin(&mut code, access, &locals, pool)?;
    let from = code.len() as u16;
    code.extend_from_slice(&locals.load);
    let method = pool.add_method(access.way.class(), &access.mode, &access.descriptor)?;
    with(&mut code, access.opcode(), method);
    let to = code.len() as u16;
    commit(&mut code, access, &locals, pool)?;
    code.push(match returned(&access.descriptor) {
        b"V" => op::RETURN,
        other => op::IRETURN + letter(other),
    });
    let handler = code.len() as u16;
    hook(&mut code, b"cancelVariable", b"()V", pool)?;
    code.push(op::ATHROW);
    attribute(&code, [from, to, handler], locals.word.saturating_add(2), pool)
}

fn with(code: &mut Vec<u8>, opcode: u8, constant: u16) {
    code.push(opcode);
    put2(code, constant);
}

fn hook(code: &mut Vec<u8>, name: &[u8], descriptor: &[u8], pool: &mut Pool) -> Outcome<()> {
    with(code, op::INVOKESTATIC, pool.add_method(VARIABLES_HOOK, name, descriptor)?);
    Ok(())
}

fn begin(code: &mut Vec<u8>, access: &Access, locals: &Locals, pool: &mut Pool) -> Outcome<()> {
    const ICONST_0: u8 = 3;
    const OBJECT: &str = "Ljava/lang/Object;";
    let atomic = ICONST_0 + u8::from(!access.is_plain());
    let mut given = String::new();
    if access.way != Way::Array {
        code.extend([op::ALOAD, 0]);
        given += OBJECT;
    }
    match coordinates(access) {
        0 => code.push(op::ACONST_NULL),
        _ => code.extend([op::ALOAD, locals.slots[0]]),
    }
    given += OBJECT;
    if access.indexed {
        code.extend([ILOAD, locals.slots[1]]);
        given += "I";
    }
    code.extend([ILOAD, locals.site]);
    let (name, given) = match (access.way, access.indexed) {
        (Way::Field, _) => ("beginReflected", given + "I"),
        (Way::Array, _) => ("beginItem", given + "II"),
        (Way::Handle, true) => ("beginElement", given + "II"),
        (Way::Handle, false) => ("beginVariable", given + "II"),
    };
    if access.way != Way::Field {
        code.push(atomic);
    }
    hook(code, name.as_bytes(), format!("({given})J").as_bytes(), pool)?;
    code.extend([LSTORE, locals.word]);
    Ok(())
}

/// How many parameters say which variable it is.
fn coordinates(access: &Access) -> usize {
    match access.way {
        Way::Handle => parameters(&access.descriptor).len() - values(access),
        Way::Field => 1,
        Way::Array => 2,
    }
}

fn values(access: &Access) -> usize {
    mode(&access.mode).map_or(0, |(values, _)| values)
}

/// Writes the record; the result of the call stays on the stack.
fn commit(code: &mut Vec<u8>, access: &Access, locals: &Locals, pool: &mut Pool) -> Outcome<()> {
    let either = match access.outcomes {
        Outcomes::One(_) | Outcomes::Declared(..) => false,
        Outcomes::Success => {
            code.push(op::DUP);
            true
        }
        Outcomes::Exchange => {
            met(code, access, locals, pool)?;
            true
        }
    };
    code.extend([LLOAD, locals.word]);
    if access.indexed {
        code.extend([ILOAD, locals.slots[1]]);
    }
    match (either, access.indexed) {
        (false, false) => hook(code, b"commitVariable", b"(J)V", pool),
        (false, true) => hook(code, b"commitElement", b"(JI)V", pool),
        (true, false) => hook(code, b"commitEither", b"(ZJ)V", pool),
        (true, true) => hook(code, b"commitEitherElement", b"(ZJI)V", pool),
    }
}

/// Pushes whether the result is what was expected.
fn met(code: &mut Vec<u8>, access: &Access, locals: &Locals, pool: &mut Pool) -> Outcome<()> {
    let kind = returned(&access.descriptor);
    let expected = locals.slots[locals.slots.len() - 2];
    code.push(if is_wide(kind) { op::DUP2 } else { op::DUP });
    code.extend([ILOAD + letter(kind), expected]);
    let compared: &[u8] = match letter(kind) {
        1 => b"(JJ)Z",
        2 => b"(FF)Z",
        3 => b"(DD)Z",
        4 => b"(Ljava/lang/Object;Ljava/lang/Object;)Z",
        _ => b"(II)Z",
    };
    hook(code, b"met", compared, pool)
}

/// Puts a Code attribute together. Only the handler has a frame: no local, the exception.
fn attribute(code: &[u8], protected: [u16; 3], locals: u8, pool: &mut Pool) -> Outcome<Vec<u8>> {
    const FULL_FRAME: u8 = 255;
    const OBJECT: u8 = 7;
    let mut frames = Vec::new();
    put2(&mut frames, 1);
    frames.push(FULL_FRAME);
    put2(&mut frames, protected[2]);
    put2(&mut frames, 0);
    put2(&mut frames, 1);
    frames.push(OBJECT);
    put2(&mut frames, pool.add_class(b"java/lang/Throwable")?);
    let mut out = Vec::new();
    // The call needs its parameters, which `locals` is more than; before it there are at most five.
    put2(&mut out, u16::from(locals) + 8);
    put2(&mut out, locals.into());
    put4(&mut out, code.len() as u32);
    out.extend_from_slice(code);
    put2(&mut out, 1);
    protected.iter().for_each(|&n| put2(&mut out, n));
    put2(&mut out, 0);
    put2(&mut out, 1);
    put2(&mut out, pool.add_text(b"StackMapTable")?);
    put4(&mut out, frames.len() as u32);
    out.extend_from_slice(&frames);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(name: &'static str, descriptor: &'static str) -> Option<Known> {
        called_of(HANDLE, name, descriptor)
    }

    fn called_of(
        owner: &'static [u8],
        name: &'static str,
        descriptor: &'static str,
    ) -> Option<Known> {
        let interface = false;
        let (name, descriptor) = (name.as_bytes(), descriptor.as_bytes());
        find(&Reference { owner, name, descriptor, interface })
    }

    fn kinds(name: &'static str, descriptor: &'static str) -> &'static [Kind] {
        match called(name, descriptor) {
            Some(Known::Access(access)) => access.kinds(),
            _ => &[],
        }
    }

    #[test]
    fn modes_have_their_kinds() {
        let either = &[Kind::AtomicUpdate, Kind::AtomicRead];
        assert_eq!(kinds("get", "(LApp;)I"), &[Kind::Read]);
        assert_eq!(kinds("setRelease", "(LApp;I)V"), &[Kind::AtomicWrite]);
        assert_eq!(kinds("getAndBitwiseOrAcquire", "(I)I"), &[Kind::AtomicUpdate]);
        assert_eq!(kinds("weakCompareAndSetPlain", "(LApp;II)Z"), either);
        assert_eq!(kinds("compareAndExchange", "(LApp;II)I"), either);
        assert_eq!(kinds("compareAndExchange", "(LApp;II)V"), &[Kind::AtomicUpdate]);
    }

    #[test]
    fn accesses_by_reflection_have_the_kinds_of_both_sorts_of_fields() {
        let kinds = |owner, name, descriptor| match called_of(owner, name, descriptor) {
            Some(Known::Access(access)) => access.kinds(),
            _ => &[],
        };
        let object = "(Ljava/lang/Object;)Ljava/lang/Object;";
        assert_eq!(kinds(FIELD, "get", object), &[Kind::Read, Kind::AtomicRead]);
        let char_set = kinds(FIELD, "setChar", "(Ljava/lang/Object;C)V");
        assert_eq!(char_set, &[Kind::Write, Kind::AtomicWrite]);
        assert_eq!(kinds(ARRAY, "getInt", "(Ljava/lang/Object;I)I"), &[Kind::Read]);
        assert!(kinds(ARRAY, "getLength", "(Ljava/lang/Object;)I").is_empty());
        assert!(kinds(FIELD, "setAccessible", "(Z)V").is_empty());
    }

    #[test]
    fn other_coordinates_are_not_modelled() {
        assert!(matches!(called("get", "([II)I"), Some(Known::Access(it)) if it.indexed));
        assert!(matches!(
            called("get", "(Ljava/lang/foreign/MemorySegment;J)I"),
            Some(Known::Unmodelled)
        ));
        assert!(matches!(called("fullFence", "()V"), Some(Known::Unmodelled)));
        assert!(matches!(
            called("toMethodHandle", "(Ljava/lang/invoke/VarHandle$AccessMode;)V"),
            Some(Known::Unmodelled)
        ));
        assert!(matches!(called("varType", "()Ljava/lang/Class;"), Some(Known::Harmless)));
    }
}
