//! The methods that take the place of modelled calls: they make the call, with events around it.

use crate::rewrite::calls::table;
use crate::rewrite::model::{
    Call, Kept, Shape, chain_name, chains, wrapper_descriptor, wrapper_name,
};
use crate::rewrite::names::parameters;
use paceline_wire::Kind;

/// Two objects, as parameters.
const OBJECTS: &str = "(Ljava/lang/Object;Ljava/lang/Object;)";

const OBJECTS_AND_INDEX: &str = "(Ljava/lang/Object;Ljava/lang/Object;J)";

/// All of them, in the language of the assembler.
pub fn text() -> String {
    let single = table().calls.iter().enumerate().map(|(i, call)| wrapper(i, call));
    single.chain(chains().iter().map(|numbers| choice(numbers))).collect()
}

/// The method that chooses among several, by the class of the object.
fn choice(numbers: &[usize]) -> String {
    let Some(first) = numbers.first().map(|&n| &table().calls[n]) else { return String::new() };
    let locals = locals(first);
    let descriptor = wrapper_descriptor(first);
    let parameters: String = locals
        .load
        .lines()
        .filter(|it| !it.starts_with("checkcast"))
        .fold(String::new(), |all, line| all + line + "\n");
    let give = give_result(first, &locals);
    let keep = keep_result(first, &locals);
    let mut text = String::new();
    let mut sites = 0;
    for (place, &number) in numbers.iter().enumerate() {
        let call = &table().calls[number];
        for class in &call.only {
            text += &format!("aload 0\ninstanceof {class}\nifne meant{place}\n");
        }
    }
    text += &[invocation(first, &locals), keep.clone(), give.clone()].concat();
    for (place, &number) in numbers.iter().enumerate() {
        let site = locals.site;
        text += &format!(
            "meant{place}:\n{parameters}iload {site}\nbipush {sites}\niadd\n\
             call PacelineWrappers.{} {descriptor}\n{keep}{give}",
            wrapper_name(number)
        );
        sites += table().calls[number].kinds.len();
    }
    format!("method public,static {} {descriptor}\n{text}end\n", chain_name(numbers))
}

/// Where the parameters are, and what else a wrapper keeps in local variables.
struct Locals {
    /// Loads all parameters, as the call wants them.
    load: String,
    site: usize,
    result: usize,
    index: usize,
    version: usize,
    thrown: usize,
}

fn slots(descriptor: &[u8]) -> usize {
    if matches!(descriptor, b"J" | b"D") { 2 } else { 1 }
}

fn load_of(descriptor: &[u8]) -> &'static str {
    match descriptor {
        b"I" | b"Z" | b"B" | b"S" | b"C" => "iload",
        b"J" => "lload",
        b"D" => "dload",
        b"F" => "fload",
        _ => "aload",
    }
}

fn locals(call: &Call) -> Locals {
    let mut next = 0;
    let mut load = String::new();
    if !call.is_static {
        load.push_str(&format!("aload 0\ncheckcast {}\n", call.class));
        next = 1;
    }
    for parameter in parameters(call.descriptor.as_bytes()) {
        load.push_str(&format!("{} {next}\n", load_of(parameter)));
        next += slots(parameter);
    }
    Locals {
        load,
        site: next,
        result: next + 1,
        index: next + 3,
        version: next + 5,
        thrown: next + 7,
    }
}

fn returned(call: &Call) -> &str {
    call.descriptor.rsplit(')').next().unwrap_or("V")
}

fn wrapper(number: usize, call: &Call) -> String {
    let locals = locals(call);
    let name = wrapper_name(number);
    let descriptor = wrapper_descriptor(call);
    let body = [guard(call, &locals), body(call, &locals)].concat();
    format!("method public,static {name} {descriptor}\n{body}end\n")
}

/// Other objects are called as if nothing were.
fn guard(call: &Call, locals: &Locals) -> String {
    let Some((last, others)) = call.only.split_last() else { return String::new() };
    let test = |class: &String, jump: &str| format!("aload 0\ninstanceof {class}\n{jump} ");
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    let mut text: String = others.iter().map(|class| test(class, "ifne meant\n")).collect();
    text.push_str(&test(last, "ifne meant\n"));
    format!("{text}{invoke}{keep}{give}meant:\n")
}

/// The call itself; its result is on the stack.
fn invocation(call: &Call, locals: &Locals) -> String {
    let how = match (call.is_static, call.is_interface) {
        (true, _) => "invokestatic",
        (false, true) => "invokeinterface",
        (false, false) => "invokevirtual",
    };
    format!("{}{how} {}.{} {}\n", locals.load, call.class, call.name, call.descriptor)
}

/// Pushes the object that the events are about.
fn target(call: &Call) -> String {
    match call.kept {
        Kept::CurrentThread => {
            "invokestatic java/lang/Thread.currentThread ()Ljava/lang/Thread;\n".into()
        }
        Kept::Keyed if !call.class.ends_with("Map") => {
            "aload 0\ncall PacelineKeys.mapBehind (Ljava/lang/Object;)Ljava/lang/Object;\n".into()
        }
        Kept::Receiver | Kept::Keyed | Kept::Indexed | Kept::Reached => "aload 0\n".into(),
    }
}

fn record(call: &Call, locals: &Locals, which: usize) -> String {
    let site = locals.site;
    let step = if which == 0 { "" } else { "iconst_1\niadd\n" };
    let target = target(call);
    format!(
        "{target}iload {site}\n{step}call PacelinePlatform.{} (Ljava/lang/Object;I)V\n",
        call.model.recorder()
    )
}

fn keep_result(call: &Call, locals: &Locals) -> String {
    store_or_load(call, locals, "store")
}

fn load_result(call: &Call, locals: &Locals) -> String {
    store_or_load(call, locals, "load")
}

fn store_or_load(call: &Call, locals: &Locals, what: &str) -> String {
    match returned(call) {
        "V" => String::new(),
        descriptor => {
            let letter = &load_of(descriptor.as_bytes())[..1];
            format!("{letter}{what} {}\n", locals.result)
        }
    }
}

fn give_result(call: &Call, locals: &Locals) -> String {
    match returned(call) {
        "V" => "return\n".into(),
        descriptor => {
            let letter = &load_of(descriptor.as_bytes())[..1];
            format!("{}{letter}return\n", load_result(call, locals))
        }
    }
}

/// Jumps over what follows if the call did not succeed.
fn unless_success(call: &Call, locals: &Locals, label: &str) -> String {
    let test = match load_of(returned(call).as_bytes()) {
        "iload" => "ifeq",
        "lload" => "lconst_0\nlcmp\nifeq",
        _ => "ifnull",
    };
    format!("{}{test} {label}\n", load_result(call, locals))
}

/// Jumps over what follows if the result is not what was expected.
fn unless_met(call: &Call, locals: &Locals, label: &str) -> String {
    let kind = returned(call);
    let load = load_of(kind.as_bytes());
    // The parameter in front of the last one, behind which is the site.
    let expected = locals.site - 2 * slots(kind.as_bytes());
    let compared = match load {
        "iload" => "(II)Z",
        "lload" => "(JJ)Z",
        _ => "(Ljava/lang/Object;Ljava/lang/Object;)Z",
    };
    let result = load_result(call, locals);
    format!("{result}{load} {expected}\ncall PacelineVariables.met {compared}\nifeq {label}\n")
}

/// Puts the index of an element or entry into its local.
fn find_index(call: &Call, locals: &Locals) -> String {
    let index = locals.index;
    match call.kept {
        Kept::Keyed => {
            let map = target(call);
            format!("{map}aload 1\ncall PacelineKeys.keyOf {OBJECTS}J\nlstore {index}\n")
        }
        Kept::Indexed => format!("iload 1\ni2l\nlstore {index}\n"),
        Kept::Receiver | Kept::CurrentThread | Kept::Reached => {
            format!("lconst_0\nlstore {index}\n")
        }
    }
}

fn body(call: &Call, locals: &Locals) -> String {
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    match call.shape {
        Shape::Before => format!("{}{invoke}{keep}{give}", record(call, locals, 0)),
        Shape::After => format!("{invoke}{keep}{}{give}", record(call, locals, 0)),
        Shape::AfterSuccess => {
            let unless = unless_success(call, locals, "failed");
            format!("{invoke}{keep}{unless}{}failed:\n{give}", record(call, locals, 0))
        }
        Shape::Around => {
            let (first, second) = (record(call, locals, 0), record(call, locals, 1));
            format!("{first}{invoke}{keep}{second}{give}")
        }
        Shape::Wait => {
            let (first, second) = (record(call, locals, 0), record(call, locals, 1));
            let thrown = locals.thrown;
            format!(
                "{first}from:\n{invoke}to:\n{keep}{second}{give}\
                 handler:\nastore {thrown}\n{second}aload {thrown}\nathrow\ncatch from to handler\n"
            )
        }
        Shape::Inside => inside(call, locals, "", ""),
        Shape::InsideEither => {
            let unless = unless_success(call, locals, "failed");
            let failed = ["failed:\n", &commit(call, locals, "iconst_1\niadd\n"), &give].concat();
            inside(call, locals, &unless, &failed)
        }
        Shape::Exchange => {
            let unless = unless_met(call, locals, "failed");
            let failed = ["failed:\n", &commit(call, locals, "iconst_1\niadd\n"), &give].concat();
            inside(call, locals, &unless, &failed)
        }
        Shape::Entry => entry(call, locals, &second_unless_success(call, locals)),
        Shape::EntryIfNull => {
            let jump = format!("{}ifnull first\n", load_result(call, locals));
            entry(call, locals, &second_site(locals, &jump))
        }
        Shape::Loose => loose(call, locals),
        Shape::Absent => [there(call, locals), loose(call, locals)].concat(),
        Shape::Locked => locked(call, locals),
        Shape::Gets => {
            let Locals { site, result, .. } = *locals;
            let record = format!(
                "aload {result}\niload {site}\ncall PacelinePlatform.record (Ljava/lang/Object;I)V\n"
            );
            format!("{invoke}{keep}{record}{give}")
        }
        Shape::EndSeen => {
            let unless = unless_success(call, locals, "ended");
            format!(
                "{invoke}{keep}{unless}{give}ended:\naload 0\ncall PacelinePlatform.joined (Ljava/lang/Object;)V\n{give}"
            )
        }
        Shape::Belongs => {
            let result = locals.result;
            let link = "call PacelinePlatform.belongs (Ljava/lang/Object;Ljava/lang/Object;)V\n";
            format!("{invoke}{keep}aload 0\naload {result}\n{link}{give}")
        }
        Shape::Noted => {
            format!(
                "aload 0\ncall PacelineAgent.unmodelled (Ljava/lang/Object;)V\n{invoke}{keep}{give}"
            )
        }
        Shape::ToWrite => to_write(call, locals),
        Shape::ToRead => to_read(call, locals),
        Shape::ToOptimistic => to_optimistic(call, locals),
    }
}

/// Jumps if the stamp in the first parameter is not one of a mode.
fn unless_stamp(mode: &str, label: &str) -> String {
    let owner = "java/util/concurrent/locks/StampedLock";
    format!("lload 1\ninvokestatic {owner}.is{mode}Stamp (J)Z\nifeq {label}\n")
}

/// The call, after events that say that it succeeds: a thread that waits for the lock may get it
/// inside.
/// It fails for stamps that are not valid; then the events were wrong.
fn recorded_before(call: &Call, locals: &Locals) -> String {
    let unless = unless_success(call, locals, "failed");
    let give = give_result(call, locals);
    let invoke = [invocation(call, locals), keep_result(call, locals)].concat();
    format!(
        "recorded:\n{invoke}{unless}{give}failed:\niload {}\ncall PacelineAgent.inexact (I)V\n{give}",
        locals.site
    )
}

fn to_write(call: &Call, locals: &Locals) -> String {
    let invoke = [invocation(call, locals), keep_result(call, locals)].concat();
    let unless = unless_success(call, locals, "same");
    let held = unless_stamp("ReadLock", "free");
    let (first, second) = (record(call, locals, 0), record(call, locals, 1));
    let write = unless_stamp("WriteLock", "changed");
    let give = give_result(call, locals);
    format!("{invoke}{unless}{write}goto same\nchanged:\n{held}{first}free:\n{second}same:\n{give}")
}

fn to_read(call: &Call, locals: &Locals) -> String {
    let (first, second) = (record(call, locals, 0), record(call, locals, 1));
    let write = unless_stamp("WriteLock", "other");
    let invoke = [invocation(call, locals), keep_result(call, locals)].concat();
    let unless = unless_success(call, locals, "same");
    let free = unless_stamp("OptimisticRead", "same");
    let give = give_result(call, locals);
    let recorded = recorded_before(call, locals);
    format!("{write}{first}{second}{recorded}other:\n{invoke}{unless}{free}{second}same:\n{give}")
}

fn to_optimistic(call: &Call, locals: &Locals) -> String {
    let (first, second) = (record(call, locals, 0), record(call, locals, 1));
    let write = unless_stamp("WriteLock", "other");
    let read = unless_stamp("ReadLock", "free");
    let invoke = [invocation(call, locals), keep_result(call, locals)].concat();
    let give = give_result(call, locals);
    let recorded = recorded_before(call, locals);
    format!("{write}{first}{recorded}other:\n{read}{second}goto recorded\nfree:\n{invoke}{give}")
}

/// Writes the event of a call that is held.
fn commit(call: &Call, locals: &Locals, step: &str) -> String {
    let Locals { site, index, .. } = *locals;
    match call.kept {
        Kept::Receiver | Kept::CurrentThread => {
            format!("iload {site}\n{step}call PacelineCalls.commit (I)V\n")
        }
        Kept::Keyed | Kept::Indexed => {
            format!("iload {site}\n{step}lload {index}\ncall PacelineCalls.commitAt (IJ)V\n")
        }
        Kept::Reached if step.is_empty() => {
            format!("lload {index}\ncall PacelineVariables.commitVariable (J)V\n")
        }
        Kept::Reached => {
            format!("iconst_0\nlload {index}\ncall PacelineVariables.commitEither (ZJ)V\n")
        }
    }
}

fn inside(call: &Call, locals: &Locals, unless: &str, failed: &str) -> String {
    let Locals { site, index, thrown, .. } = *locals;
    let target = target(call);
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    let commit = commit(call, locals, "");
    let begin = match call.kept {
        Kept::Receiver | Kept::CurrentThread => {
            format!("{target}call PacelineCalls.begin (Ljava/lang/Object;)V\n")
        }
        Kept::Keyed | Kept::Indexed => format!(
            "{}{target}lload {index}\ncall PacelineCalls.beginAt (Ljava/lang/Object;J)V\n",
            find_index(call, locals)
        ),
        Kept::Reached => format!(
            "aload 0\naload 1\niload {site}\niconst_1\n\
             call PacelineVariables.beginVariable (Ljava/lang/Object;Ljava/lang/Object;II)J\nlstore {index}\n"
        ),
    };
    let again = match (call.kept, &call.kinds[..]) {
        (Kept::Receiver, [Kind::AtomicRead]) => format!(
            "{target}iload {site}\ncall PacelineFilter.isRedundantRead (Ljava/lang/Object;I)Z\nifeq new\n\
             {invoke}{keep}{give}new:\n"
        ),
        _ => String::new(),
    };
    format!(
        "{again}{begin}from:\n{invoke}to:\n{keep}{unless}{commit}{give}{failed}\
         handler:\nastore {thrown}\ncall PacelineCalls.cancel ()V\naload {thrown}\nathrow\ncatch from to handler\n"
    )
}

/// Goes on with the second site, unless the code jumps to `first`.
fn second_site(locals: &Locals, jump: &str) -> String {
    let site = locals.site;
    format!("{jump}iload {site}\niconst_1\niadd\nistore {site}\nfirst:\n")
}

/// The same if there is a second kind, for calls that return false or null.
fn second_unless_success(call: &Call, locals: &Locals) -> String {
    if call.kinds.len() < 2 || call.shape == Shape::Absent {
        return String::new();
    }
    let failed = unless_success(call, locals, "second");
    second_site(locals, &format!("{failed}goto first\nsecond:\n"))
}

/// Returns what is there for the key, if anything is: that is only a read. If nothing is, the look
/// was not part of what the program does.
fn there(call: &Call, locals: &Locals) -> String {
    let Locals { site, result, index, thrown, .. } = *locals;
    let find = find_index(call, locals);
    let get = format!("{}.get (Ljava/lang/Object;)Ljava/lang/Object;", call.class);
    format!(
        "{find}aload 1\naload 0\nlload {index}\ncall PacelineKeys.beginEntry {OBJECTS_AND_INDEX}V\n\
         looked:\naload 0\ncheckcast {}\naload 1\ninvokeinterface {get}\nastore {result}\nseen:\n\
         aload {result}\nifnull absent\n\
         iload {site}\niconst_1\niadd\nlload {index}\ncall PacelineKeys.commitEntry (IJ)V\n\
         aload {result}\nareturn\n\
         unseen:\nastore {thrown}\ncall PacelineKeys.cancelEntry ()V\naload {thrown}\nathrow\n\
         catch looked seen unseen\nabsent:\ncall PacelineKeys.cancelEntry ()V\n",
        call.class
    )
}

/// A call about an entry: it runs no code of the application but that of keys. `choose` may go on
/// with the second site.
fn entry(call: &Call, locals: &Locals, choose: &str) -> String {
    let Locals { site, index, thrown, .. } = *locals;
    let find = find_index(call, locals);
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    let target = target(call);
    if call.kept == Kept::Receiver {
        return format!(
            "aload 1\n{target}call PacelineKeys.beginMuted {OBJECTS}V\n\
             from:\n{invoke}to:\n{keep}{choose}iload {site}\ncall PacelineKeys.commitMuted (I)V\n{give}\
             handler:\nastore {thrown}\ncall PacelineKeys.cancelEntry ()V\naload {thrown}\nathrow\n\
             catch from to handler\n"
        );
    }
    format!(
        "{find}aload 1\n{target}lload {index}\ncall PacelineKeys.beginEntry {OBJECTS_AND_INDEX}V\n\
         from:\n{invoke}to:\n{keep}{choose}iload {site}\nlload {index}\ncall PacelineKeys.commitEntry (IJ)V\n{give}\
         handler:\nastore {thrown}\ncall PacelineKeys.cancelEntry ()V\naload {thrown}\nathrow\ncatch from to handler\n"
    )
}

/// A call that may run code of the application.
fn loose(call: &Call, locals: &Locals) -> String {
    let Locals { site, index, version, thrown, .. } = *locals;
    let target = target(call);
    let find = find_index(call, locals);
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    let (look, compare) = match call.kept {
        Kept::Receiver | Kept::CurrentThread => (
            format!("{target}call PacelineCalls.beginCallback (Ljava/lang/Object;)J\n"),
            format!(
                "{target}lload {version}\niload {site}\ncall PacelineCalls.endCallback (Ljava/lang/Object;JI)V\n"
            ),
        ),
        Kept::Reached => (
            format!("aload 0\naload 1\ncall PacelineVariables.version {OBJECTS}J\n"),
            format!(
                "aload 0\naload 1\nlload {version}\niload {site}\n\
                 call PacelineVariables.stampOnReturn (Ljava/lang/Object;Ljava/lang/Object;JI)V\n"
            ),
        ),
        Kept::Keyed | Kept::Indexed => (
            format!(
                "{target}lload {index}\ncall PacelineCalls.beginCallbackAt (Ljava/lang/Object;J)J\n"
            ),
            format!(
                "{target}lload {index}\nlload {version}\niload {site}\n\
                 call PacelineCalls.endCallbackAt (Ljava/lang/Object;JJI)V\n"
            ),
        ),
    };
    let choose = second_unless_success(call, locals);
    format!(
        "{find}{look}lstore {version}\nfrom:\n{invoke}to:\n{keep}{choose}{compare}{give}\
         handler:\nastore {thrown}\nlload {version}\ncall PacelineCalls.cancelCallback (J)V\naload {thrown}\nathrow\n\
         catch from to handler\n"
    )
}

/// The call inside of a block that is synchronized on the object.
fn locked(call: &Call, locals: &Locals) -> String {
    let Locals { site, thrown, .. } = *locals;
    let invoke = invocation(call, locals);
    let keep = keep_result(call, locals);
    let give = give_result(call, locals);
    let release = format!(
        "iload {site}\niconst_1\niadd\ncall PacelineHook.release (I)V\naload 0\nmonitorexit\n"
    );
    format!(
        "aload 0\ncall PacelineHook.beforeLock (Ljava/lang/Object;)V\naload 0\nmonitorenter\nfrom:\n\
         iload {site}\ncall PacelineHook.locked (I)V\n{invoke}{keep}{release}to:\n{give}\
         handler:\nastore {thrown}\n{release}aload {thrown}\nathrow\ncatch from to handler\n"
    )
}
