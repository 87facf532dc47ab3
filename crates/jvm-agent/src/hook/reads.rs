//! What follows a read of a field or an array element: one method for each type.
//!
//! The program reads first, and passes the value that it got. If the object is shared, its stripe
//! is taken, and the same variable is read again: if the value is still the one that the program
//! has, the program might as well have read just now, and the read is recorded with the stamp of
//! this moment. If not, another thread wrote in between, and the read is not recorded: an edge is
//! lost, none is invented. So a read needs one call, and none that holds the stripe around the
//! program's own instruction.

/// A type as fields and arrays have it.
struct Type {
    /// The end of the names of its methods.
    letter: char,
    /// How the program's value is passed.
    passed: &'static str,
    load: &'static str,
    /// Reads from an object and an offset.
    get: &'static str,
    /// Reads from an array and an index that are on the stack.
    element: &'static str,
    /// Makes something that can be compared of a value.
    comparable: &'static str,
    /// Jumps to `same` if the two values on the stack are equal.
    compare: &'static str,
}

const UNSAFE: &str = "jdk/internal/misc/Unsafe";
const WHOLE: &str = "if_icmpeq same\n";
const LONG: &str = "lcmp\nifeq same\n";
const FLOAT_BITS: &str = "invokestatic java/lang/Float.floatToRawIntBits (F)I\n";
const DOUBLE_BITS: &str = "invokestatic java/lang/Double.doubleToRawLongBits (D)J\n";

const fn whole(letter: char, get: &'static str, element: &'static str) -> Type {
    Type { letter, passed: "I", load: "iload", get, element, comparable: "", compare: WHOLE }
}

const BYTES: &str = "aload 0
instanceof [B
ifeq booleans
aload 0
checkcast [B
iload 1
baload
goto read
booleans:
aload 0
checkcast [Z
iload 1
baload
read:
";

const TYPES: &[Type] = &[
    whole('B', "getByte (Ljava/lang/Object;J)B", BYTES),
    whole('C', "getChar (Ljava/lang/Object;J)C", "aload 0\ncheckcast [C\niload 1\ncaload\n"),
    whole('S', "getShort (Ljava/lang/Object;J)S", "aload 0\ncheckcast [S\niload 1\nsaload\n"),
    whole('I', "getInt (Ljava/lang/Object;J)I", "aload 0\ncheckcast [I\niload 1\niaload\n"),
    Type {
        letter: 'J',
        passed: "J",
        load: "lload",
        get: "getLong (Ljava/lang/Object;J)J",
        element: "aload 0\ncheckcast [J\niload 1\nlaload\n",
        comparable: "",
        compare: LONG,
    },
    Type {
        letter: 'F',
        passed: "F",
        load: "fload",
        get: "getFloat (Ljava/lang/Object;J)F",
        element: "aload 0\ncheckcast [F\niload 1\nfaload\n",
        comparable: FLOAT_BITS,
        compare: WHOLE,
    },
    Type {
        letter: 'D',
        passed: "D",
        load: "dload",
        get: "getDouble (Ljava/lang/Object;J)D",
        element: "aload 0\ncheckcast [D\niload 1\ndaload\n",
        comparable: DOUBLE_BITS,
        compare: LONG,
    },
    Type {
        letter: 'L',
        passed: "Ljava/lang/Object;",
        load: "aload",
        get: "getReference (Ljava/lang/Object;J)Ljava/lang/Object;",
        element: "aload 0\ncheckcast [Ljava/lang/Object;\niload 1\naaload\n",
        comparable: "",
        compare: "if_acmpeq same\n",
    },
];

/// The type of a field or element, by its descriptor.
fn of(descriptor: &[u8]) -> &'static Type {
    let letter = match descriptor.first() {
        Some(b'Z') => 'B',
        Some(b'[') | None => 'L',
        Some(&letter) => char::from(letter),
    };
    TYPES.iter().find(|it| it.letter == letter).unwrap_or(&TYPES[TYPES.len() - 1])
}

/// The method that records a read of a field: name and descriptor.
pub fn of_field(descriptor: &[u8]) -> (String, String) {
    let it = of(descriptor);
    (format!("read{}", it.letter), format!("(Ljava/lang/Object;{}I)V", it.passed))
}

/// The method that records a read of an array element: name and descriptor.
pub fn of_element(descriptor: &[u8]) -> (String, String) {
    let it = of(descriptor);
    (format!("element{}", it.letter), format!("(Ljava/lang/Object;I{}I)V", it.passed))
}

/// All of them, in the language of the assembler.
pub fn text() -> String {
    TYPES.iter().map(|it| field(it) + &element(it)).collect()
}

fn slots(it: &Type) -> usize {
    if matches!(it.passed, "J" | "D") { 2 } else { 1 }
}

/// (object, value, site)
fn field(it: &Type) -> String {
    let Type { letter, passed, load, get, comparable, compare, .. } = it;
    let site = 1 + slots(it);
    let (thread, facts, word, id) = (site + 1, site + 2, site + 4, site + 6);
    format!(
        "method public,static,apart read{letter} (Ljava/lang/Object;{passed}I)V
thread {thread}
aload {thread}
call PacelineFilter.isThrottled (Ljava/lang/Thread;)Z
ifne done
aload 0
iload {site}
call PacelineFilter.fieldFacts (Ljava/lang/Object;I)J
lstore {facts}
lload {facts}
lconst_0
lcmp
iflt done
memory
aload 0
lload {facts}
call PacelineFilter.wordOffset (J)J
invokevirtual {UNSAFE}.getLong (Ljava/lang/Object;J)J
lstore {word}
lload {word}
l2i
get {thread} Token I
if_icmpeq done
aload 0
lload {word}
lload {facts}
aload {thread}
call PacelineHook.holdRead (Ljava/lang/Object;JJLjava/lang/Thread;)J
lstore {id}
lload {id}
lconst_0
lcmp
ifeq done
memory
aload 0
lload {facts}
call PacelineFilter.fieldOffset (J)J
invokevirtual {UNSAFE}.{get}
{comparable}{load} 1
{comparable}{compare}lload {facts}
call PacelineFilter.mayOrder (J)Z
ifeq changed
iload {site}
call PacelineAgent.inexact (I)V
same:
aload {thread}
iload {site}
lload {facts}
lload {id}
call PacelineHook.confirmRead (Ljava/lang/Thread;IJJ)V
done:
return
changed:
call PacelineCalls.cancel ()V
return
end
"
    )
}

/// (array, index, value, site)
fn element(it: &Type) -> String {
    let Type { letter, passed, load, element, comparable, compare, .. } = it;
    let site = 2 + slots(it);
    let (thread, hash, entry, id) = (site + 1, site + 2, site + 3, site + 5);
    format!(
        "method public,static,apart element{letter} (Ljava/lang/Object;I{passed}I)V
thread {thread}
aload {thread}
call PacelineFilter.isThrottled (Ljava/lang/Thread;)Z
ifne done
aload 0
invokestatic java/lang/System.identityHashCode (Ljava/lang/Object;)I
istore {hash}
iload {hash}
call PacelineObjects.ownerOf (I)J
lstore {entry}
lload {entry}
iload {hash}
aload {thread}
call PacelineObjects.isOwn (JILjava/lang/Thread;)Z
ifne done
aload 0
iload 1
iload {site}
aload {thread}
iload {hash}
lload {entry}
call PacelineHook.holdElement (Ljava/lang/Object;IILjava/lang/Thread;IJ)J
lstore {id}
lload {id}
lconst_0
lcmp
ifeq done
{element}{comparable}{load} 2
{comparable}{compare}call PacelineCalls.cancel ()V
return
same:
aload {thread}
iload {site}
iload 1
lload {id}
call PacelineHook.confirmElement (Ljava/lang/Thread;IIJ)V
done:
return
end
"
    )
}
