//! One line of a RoadRunner log, taken apart. The hot path is [`take_apart`]; what it refuses is
//! looked at again by [`explain`], which knows what kind of nothing it is.

use crate::error::show_bytes;
use crate::lines::LONGEST_LINE;

macro_rules! operations {
    ($($variant:ident $form:ident = $($name:literal)|+,)*) => {
        /// What a line says was done.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Operation {
            $($variant,)*
        }

        impl Operation {
            #[inline(always)]
            fn from_name(name: &[u8]) -> Option<Operation> {
                $($(if name == $name.as_bytes() {
                    return Some(Operation::$variant);
                })+)*
                None
            }

            fn form(self) -> Form {
                match self {
                    $(Operation::$variant => Form::$form,)*
                }
            }
        }

        const NAMES: &[&str] = &[$($($name,)+)*];
    };
}

// The commonest first: names are tried in this order.
operations! {
    Read Access = "Rd" | "ARd",
    Write Access = "Wr" | "AWr",
    Enter Method = "Enter",
    Exit Method = "Exit",
    Acquire Lock = "Acquire",
    Release Lock = "Release",
    VolatileRead Volatile = "VRd",
    VolatileWrite Volatile = "VWr",
    Start Thread = "Start",
    Join Thread = "Join",
    Wait Lock = "Wait",
    Notify LockAndFlag = "Notify",
    Barrier LockAndFlag = "Barrier",
    Sleep Nothing = "Sleep",
    Interrupt Thread = "Interrupt",
    Interrupted Nothing = "Interrupted",
    ClassInitialized Class = "ClassInited",
    // Spelt so by RoadRunner.
    ClassAccessed Class = "ClassAccssed",
}

/// What follows the name of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `(t,object.field)` or `(t,array[index])`, perhaps values, the tool's state, the location.
    Access,
    /// The same without a location.
    Volatile,
    /// `(t,class.method(arguments)result)`, and ` from …` on entry.
    Method,
    /// `(t,object)`.
    Lock,
    /// `(t,object,flag)`.
    LockAndFlag,
    /// `(t,u)`.
    Thread,
    /// `(t,class)`.
    Class,
    /// `(t)`.
    Nothing,
}

/// The parts of an event line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts<'a> {
    pub operation: Operation,
    pub thread: &'a [u8],
    /// Empty where the operation takes none.
    pub operand: &'a [u8],
    /// The third part of a notify or barrier; otherwise empty.
    pub flag: &'a [u8],
    /// The location of an access, where it has one; otherwise empty.
    pub location: &'a [u8],
}

/// Takes an event line apart. Whether the names are names is for the caller to ask, once for each
/// new one: [`is_thread`], [`is_object`], [`is_method`].
#[inline]
pub(super) fn take_apart(line: &[u8]) -> Option<Parts<'_>> {
    let text = event_text(line)?;
    let open = text.iter().take(16).position(|&b| b == b'(')?;
    let operation = Operation::from_name(&text[..open])?;
    let inside = &text[open + 1..];
    let mut parts = Parts { operation, thread: b"", operand: b"", flag: b"", location: b"" };
    if operation.form() == Form::Nothing {
        parts.thread = inside.strip_suffix(b")")?;
        return Some(parts);
    }
    let comma = inside.iter().position(|&b| b == b',')?;
    parts.thread = &inside[..comma];
    let rest = &inside[comma + 1..];
    match operation.form() {
        Form::Access => (parts.operand, parts.location) = access(rest)?,
        Form::Volatile => parts.operand = volatile(rest)?,
        Form::Method => parts.operand = method(operation, rest)?,
        Form::LockAndFlag => (parts.operand, parts.flag) = flagged(rest.strip_suffix(b")")?)?,
        Form::Lock | Form::Thread | Form::Class | Form::Nothing => {
            parts.operand = rest.strip_suffix(b")")?;
        }
    }
    Some(parts)
}

/// What follows `@` and the indentation, which shows the depth of calls and means nothing here.
#[inline(always)]
fn event_text(line: &[u8]) -> Option<&[u8]> {
    let indented = line.strip_prefix(b"@ ")?;
    let start = indented.iter().position(|&b| b != b' ')?;
    Some(&indented[start..])
}

/// A field's name holds no parenthesis, but a value after it may: `x_I)[3 -> 4]  Final
/// A.java:1:2`.
#[inline(always)]
fn access(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let close = memchr::memchr(b')', rest)?;
    let (operand, tail) = (&rest[..close], &rest[close + 1..]);
    if tail.is_empty() {
        return Some((operand, b""));
    }
    let location = memchr::memrchr(b' ', tail)? + 1;
    (matches!(tail[0], b' ' | b'[') && !holds_event(tail)).then_some((operand, &tail[location..]))
}

fn volatile(rest: &[u8]) -> Option<&[u8]> {
    let close = memchr::memchr(b')', rest)?;
    let tail = &rest[close + 1..];
    let fine = matches!(tail.first(), None | Some(b' ' | b'[')) && !holds_event(tail);
    fine.then_some(&rest[..close])
}

/// The descriptor has the first closing parenthesis, the event the second.
#[inline(always)]
fn method(operation: Operation, rest: &[u8]) -> Option<&[u8]> {
    let (method, tail) = method_part(rest)?;
    let caller = operation == Operation::Enter && tail.starts_with(b" from ");
    (tail.is_empty() || caller && !holds_event(tail)).then_some(method)
}

#[inline(always)]
fn method_part(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let descriptor = memchr::memchr(b')', rest)? + 1;
    let close = descriptor + memchr::memchr(b')', &rest[descriptor..])?;
    Some((&rest[..close], &rest[close + 1..]))
}

fn flagged(inside: &[u8]) -> Option<(&[u8], &[u8])> {
    let comma = memchr::memrchr(b',', inside)?;
    Some((&inside[..comma], &inside[comma + 1..]))
}

/// Whether another event seems to start in the middle of a line.
fn holds_event(text: &[u8]) -> bool {
    memchr::memchr_iter(b'@', text).any(|i| {
        let event = event_text(&text[i..]).unwrap_or_default();
        memchr::memchr(b'(', event).is_some_and(|open| is_known(&event[..open]))
    })
}

fn is_known(name: &[u8]) -> bool {
    Operation::from_name(name).is_some()
}

/// The longest name: far beyond any real one.
const LONGEST_NAME: usize = 1 << 16;

/// RoadRunner numbers its threads; -1 is one that has lost its number to another.
pub(super) fn is_thread(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b"-").unwrap_or(name);
    (1..=20).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// A lock, a field of an object, an array element.
pub(super) fn is_object(name: &[u8]) -> bool {
    let odd = |b: &u8| b.is_ascii_whitespace() || matches!(b, 0x0b | b'(' | b')' | b',');
    (1..=LONGEST_NAME).contains(&name.len()) && !name.iter().any(odd)
}

/// A method with its descriptor, `p/A.f([I)V`. Some languages allow blanks in names.
pub(super) fn is_method(name: &[u8]) -> bool {
    let odd = |b: &u8| matches!(b, b'\t' | b'\r' | b'\n' | 0x0b | 0x0c);
    let open = memchr::memchr(b'(', name).unwrap_or(0);
    let close = memchr::memrchr(b')', name).unwrap_or(0);
    let one_pair = 0 < open && open < close && memchr::memrchr(b'(', name) == Some(open);
    one_pair
        && name.len() <= LONGEST_NAME
        && is_type(&name[close + 1..])
        && !name.iter().any(odd)
        && !holds_event(name)
}

/// A type as a descriptor spells it: `V`, `[I`, `Ljava/lang/String;`.
fn is_type(text: &[u8]) -> bool {
    let element = text.iter().position(|&b| b != b'[').map_or(&b""[..], |i| &text[i..]);
    match element {
        [b'L', class @ .., b';'] => !class.is_empty() && !class.contains(&b';'),
        [one] => b"VZBCSIJFD".contains(one),
        _ => false,
    }
}

/// What a line is that [`take_apart`] or the checks after it have refused.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// Output of the observed program, or of RoadRunner about itself.
    Foreign,
    /// An event and the program's output in one line.
    Glued,
    /// A line of the print tool that is no event; its name.
    Remark(&'static str),
    /// A broken event.
    Malformed(String),
}

/// Says what a refused line is.
#[cold]
pub(super) fn explain(line: &[u8]) -> Refused {
    let Some(text) = event_text(line) else {
        return if holds_event(line) { Refused::Glued } else { Refused::Foreign };
    };
    if let Some(name) = remark(text) {
        return Refused::Remark(name);
    }
    let Some((name, inside)) = call(text) else {
        return if holds_event(text) { Refused::Glued } else { Refused::Foreign };
    };
    if line.len() > LONGEST_LINE {
        return Refused::Malformed(format!("the line is longer than {LONGEST_LINE} bytes"));
    }
    match Operation::from_name(name) {
        None => Refused::Malformed(format!(
            "unknown operation {}; known: {}",
            show_bytes(name),
            NAMES.join(" ")
        )),
        Some(operation) => match broken(operation, inside) {
            Some(why) => Refused::Malformed(format!("{why}: {}", show_bytes(text))),
            None => Refused::Glued,
        },
    }
}

/// `Name(…`, taken apart.
fn call(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let open = memchr::memchr(b'(', text)?;
    let name = &text[..open];
    (!name.is_empty() && name.iter().all(u8::is_ascii_alphabetic))
        .then_some((name, &text[open + 1..]))
}

/// Why the part of an event up to its closing parenthesis is broken; `None` if it is not.
fn broken(operation: Operation, inside: &[u8]) -> Option<&'static str> {
    let end = inside.iter().position(|b| matches!(b, b',' | b')')).unwrap_or(inside.len());
    if !is_thread(&inside[..end]) {
        return Some("the thread must be a number");
    }
    let rest = &inside[end..];
    if operation.form() == Form::Nothing {
        return (!rest.starts_with(b")")).then_some("there must be nothing but a thread");
    }
    let Some(operand) = rest.strip_prefix(b",") else { return Some("there is no operand") };
    let Some(close) = memchr::memchr(b')', operand) else {
        return Some("there is no closing parenthesis");
    };
    let shortest = &operand[..close];
    match operation.form() {
        Form::Access | Form::Volatile | Form::Lock => {
            (!is_object(shortest)).then_some("not the name of an object or variable")
        }
        Form::LockAndFlag => (!is_flagged(operation, shortest))
            .then_some("an object and a flag must follow the thread"),
        Form::Method => (!method_part(operand).is_some_and(|(name, _)| is_method(name)))
            .then_some("not a method with its descriptor"),
        Form::Thread => (!is_thread(shortest)).then_some("the other thread must be a number"),
        Form::Class | Form::Nothing => None,
    }
}

fn is_flagged(operation: Operation, inside: &[u8]) -> bool {
    let barrier = operation == Operation::Barrier;
    let flags: [&[u8]; 2] = if barrier { [b"Enter", b"Exit"] } else { [b"true", b"false"] };
    flagged(inside).is_some_and(|(name, flag)| is_object(name) && flags.contains(&flag))
}

/// The lines of the print tool that are not of the form `Name(…)`.
fn remark(text: &[u8]) -> Option<&'static str> {
    let ends_with_thread = text.ends_with(b"]") || text.ends_with(b"].") || text.ends_with(b" .");
    if ends_with_thread && memchr::memmem::find(text, b"[tid = ").is_some() {
        return Some(if text.starts_with(b"stopped ") {
            "thread stopped"
        } else {
            "thread created"
        });
    }
    if text.starts_with(b"test acquire ") || text.starts_with(b"test release ") {
        return Some("lock tested");
    }
    (text == b"pre  sleep").then_some("sleep")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The location or the flag is last.
    fn parts(line: &str) -> Option<(Operation, &str, &str, &str)> {
        let show = |bytes| std::str::from_utf8(bytes).unwrap();
        let p = take_apart(line.as_bytes())?;
        let last = if p.flag.is_empty() { p.location } else { p.flag };
        Some((p.operation, show(p.thread), show(p.operand), show(last)))
    }

    #[test]
    fn lines_of_every_form() {
        use Operation::*;
        for (line, expected) in [
            ("@  Rd(0,@06.p/A.x_I)  Final  A.java:5:1", (Read, "0", "@06.p/A.x_I", "A.java:5:1")),
            ("@      AWr(12,@08[1])  Final  A.java:5", (Write, "12", "@08[1]", "A.java:5")),
            (
                "@  Wr(0,@06.x_I)[3 -> (a) b]  [R=0 W=1]  A.java:5:1",
                (Write, "0", "@06.x_I", "A.java:5:1"),
            ),
            ("@  VRd(1,null.A.x_I)  null", (VolatileRead, "1", "null.A.x_I", "")),
            ("@  VWr(1,null.A.x_I)", (VolatileWrite, "1", "null.A.x_I", "")),
            ("@  Enter(0,A.f([I)V) from null", (Enter, "0", "A.f([I)V", "")),
            ("@  Enter(0,A.f(IJ)[La,b;) from A.java:3 (x)", (Enter, "0", "A.f(IJ)[La,b;", "")),
            ("@  Exit(0,A.a b(I)V)", (Exit, "0", "A.a b(I)V", "")),
            ("@ Acquire(0,@03)", (Acquire, "0", "@03", "")),
            ("@  Notify(0,@03,true)", (Notify, "0", "@03", "true")),
            ("@  Barrier(0,@03,Enter)", (Barrier, "0", "@03", "Enter")),
            ("@  Sleep(0)", (Sleep, "0", "", "")),
            ("@  Join(0,-1)", (Join, "0", "-1", "")),
        ] {
            assert_eq!(parts(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_event_is_recognised() {
        use Refused::*;
        for (line, expected) in [
            ("hello", Foreign),
            ("", Foreign),
            ("@", Foreign),
            ("@Rd(0,@06.x_I)", Foreign),
            ("@ mail me", Foreign),
            ("@  a b(c)", Foreign),
            ("hello@  Rd(0,@06.x_I)  Final  A.java:5:1", Glued),
            ("@ hello@  Release(0,@06)", Glued),
            ("@  Release(0,@06)hello", Glued),
            ("@  Rd(0,@06.x_I)hello", Glued),
            ("@  Exit(0,A.f()V)hello()", Glued),
            ("@  Rd(0,@06.x_I)  Final  A.java:5:1hello", Glued),
            ("@  Rd(0,@06.x_I)  Final  A.java:5:1@  Exit(0,A.f()V)", Glued),
            ("@  Thread[main,5,main][tid = 0] started .", Remark("thread created")),
            (
                "@  Thread[pool(1),5,main][tid = 1] started by Thread[main,5,main][tid = 0].",
                Remark("thread created"),
            ),
            ("@   stopped Thread[main,5,main][tid = 0]", Remark("thread stopped")),
            ("@  test acquire @03", Remark("lock tested")),
            ("@  pre  sleep", Remark("sleep")),
        ] {
            assert_eq!(explain(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn broken_events_are_explained() {
        for (line, why) in [
            ("@  Foo(0,@03)", "unknown operation"),
            ("@  Rd(", "thread must be a number"),
            ("@  Rd(a,@03.x)", "thread must be a number"),
            ("@  Rd(0)", "no operand"),
            ("@  Rd(0,@03.x", "no closing parenthesis"),
            ("@  Rd(0,)", "not the name of an object"),
            ("@  Rd(0,a b)", "not the name of an object"),
            ("@  Acquire(0,@0@  Release(0,@03)", "not the name of an object"),
            ("@  Enter(0,foo)", "not a method"),
            ("@  Exit(0,foo/Ba@  Exit(1,foo/Bar.x()V)", "not a method"),
            ("@  Exit(0,foo()Vhello)", "not a method"),
            ("@  Exit(0,foo()V", "not a method"),
            ("@  Start(0,x)", "other thread must be a number"),
            ("@  Notify(0,@03)", "an object and a flag"),
            ("@  Notify(0,@03,maybe)", "an object and a flag"),
            ("@  Barrier(0,@03,true)", "an object and a flag"),
            ("@  Sleep(0,1)", "nothing but a thread"),
        ] {
            let Refused::Malformed(message) = explain(line.as_bytes()) else {
                panic!("{line}: {:?}", explain(line.as_bytes()));
            };
            assert!(message.contains(why), "{line}: {message}");
        }
    }
}
