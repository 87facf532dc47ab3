//! What is inserted into classes of the platform: where threads start and end, where pools run
//! what they were given, and what reflection shows.

use super::hooks::Snippet;
use super::model::Model;
use super::names::PLATFORM_HOOK;
use super::site::{Name, Program, Site, Target};
use crate::classfile::code::Code;
use crate::classfile::insn::op;
use crate::classfile::{ClassFile, Member, Outcome, Pool, access};
use paceline_wire::Kind;

/// Where in a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At its start.
    Entry,
    /// Before each return.
    Return,
    /// Before each call of a method of that name; without parameters, if [`Given::Top`] is given.
    Call(&'static str),
    /// Behind each such call.
    AfterCall(&'static str),
    /// Around each read of a field of that name, which holds an object: see [`Given::Read`].
    Read(&'static str),
}

/// What a hook is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// Nothing.
    Nothing,
    /// `this`, or the first parameter of a static method.
    This,
    /// At a call, the object called, or behind it its result.
    Top,
    /// The first parameter.
    First,
    /// The second parameter, behind one that takes one slot.
    Second,
    /// The result, as an `int` or an object, and `this`; only before a return.
    ResultAndThis,
    /// At a read of a field, the object and what was read, which the hook gives back.
    Read,
    /// The second parameter, fields or methods, which the hook's result replaces.
    ReplaceFields,
    /// The same.
    ReplaceMethods,
}

/// A call of the hook to be put into a method.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// The method; none for all of the class.
    pub method: &'static str,
    /// Its descriptor, or the start of it.
    pub descriptor: &'static str,
    /// Where.
    pub place: Place,
    /// What it is given.
    pub given: Given,
    /// The method of the hook; it takes an object (if any is given), and a site if it makes
    /// events.
    pub call: &'static str,
    /// The kind of event that it makes.
    pub kind: Option<Kind>,
    /// How it is decided.
    pub model: Model,
}

/// What is done to a class of the platform.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The class.
    pub class: &'static str,
    /// Fields that it gets; only possible while it is loaded.
    pub fields: &'static [(&'static str, &'static str)],
    /// Calls that it gets; done by retransformation.
    pub hooks: &'static [Hook],
    /// Whether its monitors are observed, as those of the application are.
    pub monitors: bool,
}

/// The state of a thread for the hook. `hook/stub/java/lang/Thread.java` says what each is for.
pub const THREAD_FIELDS: &[(&str, &str)] = &[
    ("$pacelineToken", "I"),
    ("$pacelineBuffer", "J"),
    ("$pacelineHeld", "J"),
    ("$pacelineStamp", "J"),
    ("$pacelineDepth", "I"),
    ("$pacelineBegun", "I"),
    ("$pacelineBlocks", "J"),
    ("$pacelineBlockRoom", "I"),
    ("$pacelineLocks", "J"),
    ("$pacelineLockCount", "I"),
    ("$pacelineLockRoom", "I"),
    ("$pacelineNextId", "J"),
    ("$pacelineLastId", "J"),
    ("$pacelineTarget", "J"),
    ("$pacelineUsed", "J"),
    ("$pacelineUsedRoom", "I"),
    ("$pacelineCarrier", "I"),
    ("$pacelinePending", "I"),
    ("$pacelineAsideUsed", "I"),
    ("$pacelineAsideHeld", "J"),
    ("$pacelineAsideStamp", "J"),
    ("$pacelineAsideTarget", "J"),
    ("$pacelineMuted", "I"),
    ("$pacelineDiscard", "J"),
    ("$pacelineOuterPending", "I"),
    ("$pacelineOuterHeld", "J"),
    ("$pacelineOuterStamp", "J"),
    ("$pacelineOuterTarget", "J"),
    ("$pacelineTx", "J"),
    ("$pacelineNextTx", "J"),
    ("$pacelineLastTx", "J"),
    ("$pacelineChanges", "J"),
    ("$pacelineFilter", "J"),
    ("$pacelineChance", "J"),
    ("$pacelineThrottled", "J"),
    ("$pacelineWindow", "J"),
    ("$pacelineBudget", "I"),
];

const fn hook(
    method: &'static str,
    descriptor: &'static str,
    place: Place,
    given: Given,
    call: &'static str,
) -> Hook {
    Hook { method, descriptor, place, given, call, kind: None, model: Model::Plain }
}

const fn post(method: &'static str, descriptor: &'static str, given: Given) -> Hook {
    Hook {
        method,
        descriptor,
        place: Place::Entry,
        given,
        call: "record",
        kind: Some(Kind::Post),
        model: Model::Plain,
    }
}

const fn take(method: &'static str, descriptor: &'static str, place: Place, given: Given) -> Hook {
    Hook {
        method,
        descriptor,
        place,
        given,
        call: "record",
        kind: Some(Kind::Take),
        model: Model::Plain,
    }
}

const fn own_lock(method: &'static str, kind: Kind, place: Place, given: Given) -> Hook {
    let call = "recordOwnLock";
    Hook { method, descriptor: "(", place, given, call, kind: Some(kind), model: Model::Stamped }
}

const fn own_sync(method: &'static str) -> Hook {
    let call = "recordOwnSync";
    Hook { call, ..take(method, "(IJ)Z", Place::Return, Given::ResultAndThis) }
}

const fn hooked(class: &'static str, hooks: &'static [Hook]) -> Change {
    Change { class, fields: &[], hooks, monitors: false }
}

const fn monitored(class: &'static str) -> Change {
    Change { class, fields: &[], hooks: &[], monitors: true }
}

/// A stage of a CompletableFuture: it was pushed by one thread and runs in another.
const STAGE: &[Hook] = &[take("tryFire", "(I)", Place::Entry, Given::This), RESULT];

/// A thread that finds a result happens after the one that completed the future. That is recorded
/// after the read, and not where the method starts: the result may come in between.
const RESULT: Hook = Hook { call: "result", ..take("", "(", Place::Read("result"), Given::Read) };

const TWO_TASKS: &str = "(Ljava/util/concurrent/ForkJoinTask;Ljava/util/concurrent/ForkJoinTask;)V";
const TASKS: &str = "([Ljava/util/concurrent/ForkJoinTask;)V";
const CONTAINER: &str = "(Ljdk/internal/vm/ThreadContainer;)V";

/// All changes.
pub const CHANGES: &[Change] = &[
    Change {
        class: "java/lang/Thread",
        fields: THREAD_FIELDS,
        monitors: false,
        hooks: &[
            hook("start", "()V", Place::Entry, Given::This, "fork"),
            hook("start", CONTAINER, Place::Entry, Given::This, "fork"),
            hook("exit", "()V", Place::Entry, Given::This, "ended"),
            hook("join", "(J)V", Place::Return, Given::This, "joined"),
            hook("join", "(Ljava/time/Duration;)Z", Place::Return, Given::This, "joined"),
        ],
    },
    Change {
        class: "java/lang/VirtualThread",
        fields: &[],
        monitors: false,
        hooks: &[
            hook("start", CONTAINER, Place::Entry, Given::This, "fork"),
            hook("run", "(Ljava/lang/Runnable;)V", Place::Return, Given::This, "ended"),
        ],
    },
    Change {
        class: "jdk/internal/reflect/Reflection",
        fields: &[],
        monitors: false,
        hooks: &[
            hook(
                "filterFields",
                "(Ljava/lang/Class;[Ljava/lang/reflect/Field;)",
                Place::Entry,
                Given::ReplaceFields,
                "withoutAdded",
            ),
            hook(
                "filterMethods",
                "(Ljava/lang/Class;[Ljava/lang/reflect/Method;)",
                Place::Entry,
                Given::ReplaceMethods,
                "withoutAdded",
            ),
        ],
    },
    // What is given to a pool happens before it is run; what was run, before its result is got.
    hooked(
        "java/util/concurrent/ThreadPoolExecutor",
        &[
            post("execute", "(Ljava/lang/Runnable;)V", Given::First),
            take("runWorker", "(", Place::Call("run"), Given::Top),
            // A worker that has counted itself out, which it does in these, need not be the one
            // that ends the pool.
            post("getTask", "()", Given::This),
            post("processWorkerExit", "(", Given::This),
            post("tryTerminate", "()V", Given::This),
            take("awaitTermination", "(J", Place::Return, Given::This),
            take("isTerminated", "()Z", Place::Return, Given::This),
        ],
    ),
    hooked(
        "java/util/concurrent/ScheduledThreadPoolExecutor",
        &[
            post(
                "delayedExecute",
                "(Ljava/util/concurrent/RunnableScheduledFuture;)V",
                Given::First,
            ),
            post(
                "reExecutePeriodic",
                "(Ljava/util/concurrent/RunnableScheduledFuture;)V",
                Given::First,
            ),
        ],
    ),
    hooked(
        "java/util/concurrent/ThreadPerTaskExecutor",
        &[
            post("taskComplete", "(Ljava/lang/Thread;)V", Given::This),
            take("awaitTermination", "(", Place::Return, Given::This),
            take("isTerminated", "()Z", Place::Return, Given::This),
            take("close", "()V", Place::Return, Given::This),
        ],
    ),
    hooked(
        "java/util/concurrent/FutureTask",
        &[
            post("set", "(Ljava/lang/Object;)V", Given::This),
            post("setException", "(Ljava/lang/Throwable;)V", Given::This),
            post("cancel", "(Z)Z", Given::This),
            // Behind the look at its state, as with a CompletableFuture.
            take("report", "(I)", Place::Entry, Given::This),
            take("awaitDone", "(", Place::Return, Given::This),
            take("isDone", "()", Place::Return, Given::This),
            take("state", "()", Place::Return, Given::This),
        ],
    ),
    hooked(
        "java/util/concurrent/CyclicBarrier",
        &[
            take("dowait", "(", Place::Call("run"), Given::This),
            Hook { place: Place::AfterCall("run"), ..post("dowait", "(", Given::This) },
        ],
    ),
    hooked(
        "java/util/concurrent/CountedCompleter",
        &[
            Hook { call: "recordRoot", ..post("tryComplete", "()V", Given::This) },
            Hook { call: "recordRoot", ..post("propagateCompletion", "()V", Given::This) },
            Hook { call: "recordRoot", ..post("nextComplete", "()", Given::This) },
        ],
    ),
    hooked(
        "java/util/concurrent/ForkJoinPool",
        &[
            post("externalSubmit", "(Ljava/util/concurrent/ForkJoinTask;)", Given::First),
            post("poolSubmit", "(ZLjava/util/concurrent/ForkJoinTask;)", Given::Second),
            // A worker that finds nothing to do counts itself out in these; the last one makes the
            // pool quiescent, or ends it. Not all of them are in all versions.
            post("awaitWork", "(", Given::This),
            post("deactivate", "(", Given::This),
            post("helpQuiesce", "(", Given::This),
            post("helpQuiescePool", "(", Given::This),
            post("deregisterWorker", "(", Given::This),
            post("tryTerminate", "(", Given::This),
            take("awaitTermination", "(J", Place::Return, Given::This),
            take("awaitQuiescence", "(J", Place::Return, Given::This),
            take("isTerminated", "()Z", Place::Return, Given::This),
            take("isQuiescent", "()Z", Place::Return, Given::This),
            take("close", "()V", Place::Return, Given::This),
        ],
    ),
    hooked(
        "java/util/concurrent/ForkJoinTask",
        &[
            post("fork", "()", Given::This),
            take("doExec", "()", Place::Entry, Given::This),
            take("setDone", "()", Place::Entry, Given::This),
            post("setDone", "()", Given::This),
            post("trySetThrown", "(", Given::This),
            post("trySetException", "(", Given::This),
            take("awaitDone", "(", Place::Return, Given::This),
            take("join", "()", Place::Entry, Given::This),
            take("join", "()", Place::Return, Given::This),
            take("invoke", "()", Place::Return, Given::This),
            take("joinForPoolInvoke", "(", Place::Return, Given::This),
            take("get", "(", Place::Entry, Given::This),
            take("get", "(", Place::Return, Given::This),
            take("invokeAll", TWO_TASKS, Place::Return, Given::This),
            take("invokeAll", TWO_TASKS, Place::Return, Given::First),
            Hook { call: "recordAll", ..take("invokeAll", TASKS, Place::Return, Given::This) },
            take("quietlyJoin", "()", Place::Return, Given::This),
            take("quietlyInvoke", "()", Place::Return, Given::This),
            take("reportException", "(", Place::Entry, Given::This),
            take("reportExecutionException", "(", Place::Entry, Given::This),
            take("isDone", "()", Place::Return, Given::This),
            take("isCompletedNormally", "()", Place::Return, Given::This),
            take("isCompletedAbnormally", "()", Place::Return, Given::This),
            take("getException", "()", Place::Return, Given::This),
        ],
    ),
    hooked(
        "java/util/concurrent/CompletableFuture",
        &[
            post("completeNull", "()", Given::This),
            post("completeValue", "(", Given::This),
            post("completeThrowable", "(", Given::This),
            post("completeRelay", "(", Given::This),
            post("internalComplete", "(", Given::This),
            post("obtrudeValue", "(", Given::This),
            post("obtrudeException", "(", Given::This),
            post("unipush", "(", Given::First),
            post("bipush", "(Ljava/util/concurrent/CompletableFuture;", Given::Second),
            post("push", "(", Given::First),
            RESULT,
        ],
    ),
    hooked("java/util/concurrent/CompletableFuture$UniApply", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniAccept", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniRun", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniWhenComplete", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniHandle", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniExceptionally", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniRelay", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniCompose", STAGE),
    hooked("java/util/concurrent/CompletableFuture$UniComposeExceptionally", STAGE),
    hooked("java/util/concurrent/CompletableFuture$BiApply", STAGE),
    hooked("java/util/concurrent/CompletableFuture$BiAccept", STAGE),
    hooked("java/util/concurrent/CompletableFuture$BiRun", STAGE),
    hooked("java/util/concurrent/CompletableFuture$BiRelay", STAGE),
    hooked("java/util/concurrent/CompletableFuture$OrApply", STAGE),
    hooked("java/util/concurrent/CompletableFuture$OrAccept", STAGE),
    hooked("java/util/concurrent/CompletableFuture$OrRun", STAGE),
    hooked("java/util/concurrent/CompletableFuture$AnyOf", STAGE),
    // Locks of classes that the application makes from it: from wherever they are called, by
    // whatever name.
    hooked(
        "java/util/concurrent/locks/ReentrantLock",
        &[
            own_lock("lock", Kind::Acquire, Place::Return, Given::This),
            own_lock("lockInterruptibly", Kind::Acquire, Place::Return, Given::This),
            own_lock("tryLock", Kind::Acquire, Place::Return, Given::ResultAndThis),
            own_lock("unlock", Kind::Release, Place::Entry, Given::This),
            hook("newCondition", "()", Place::Return, Given::ResultAndThis, "ownCondition"),
        ],
    ),
    // Synchronizers of the application; their other methods are seen where they are called.
    hooked(
        "java/util/concurrent/locks/AbstractQueuedSynchronizer",
        &[own_sync("tryAcquireNanos"), own_sync("tryAcquireSharedNanos")],
    ),
    // What a publisher is given comes before the subscriber gets it, whose calls come one after
    // another, from whatever thread.
    hooked(
        "java/util/concurrent/SubmissionPublisher$BufferedSubscription",
        &[
            post("offer", "(Ljava/lang/Object;Z)", Given::This),
            post("startOnSignal", "(I)", Given::This),
            take("consumeNext", "(", Place::Call("onNext"), Given::This),
            Hook { place: Place::AfterCall("onNext"), ..post("consumeNext", "(", Given::This) },
            take("consumeSubscribe", "(", Place::Call("onSubscribe"), Given::This),
            Hook {
                place: Place::AfterCall("onSubscribe"),
                ..post("consumeSubscribe", "(", Given::This)
            },
            take("consumeComplete", "(", Place::Call("onComplete"), Given::This),
            take("consumeError", "(", Place::Call("onError"), Given::This),
        ],
    ),
    hooked("java/util/Timer", &[post("sched", "(Ljava/util/TimerTask;JJ)V", Given::First)]),
    hooked("java/util/TimerThread", &[take("mainLoop", "()V", Place::Call("run"), Given::Top)]),
    // Collections whose locks are part of what they promise.
    monitored("java/util/Vector"),
    monitored("java/util/Stack"),
    monitored("java/util/Hashtable"),
    monitored("java/util/Collections$SynchronizedCollection"),
    monitored("java/util/Collections$SynchronizedList"),
    monitored("java/util/Collections$SynchronizedSet"),
    monitored("java/util/Collections$SynchronizedSortedSet"),
    monitored("java/util/Collections$SynchronizedMap"),
    monitored("java/util/Collections$SynchronizedSortedMap"),
];

/// Puts the hooks for a method into its code; whether there were any.
pub fn insert<'a>(
    code: &mut Code<'a>,
    change: &Change,
    class: &ClassFile<'a>,
    member: &Member<'a>,
    pool: &mut Pool<'a>,
    program: &mut dyn Program,
) -> Outcome<bool> {
    let wanted = |h: &&Hook| {
        let named = h.method.is_empty() || h.method.as_bytes() == member.name;
        named && member.descriptor.starts_with(h.descriptor.as_bytes())
    };
    let mut any = change.monitors && monitors(code, class, member, pool, program)?;
    for hook in change.hooks.iter().filter(wanted) {
        // A name without a type may be that of a static method, too, which has no `this`.
        let any_type = matches!(hook.descriptor, "(" | "()");
        if hook.given == Given::This && any_type && member.is(access::STATIC) {
            continue;
        }
        let inserted = snippet(hook, class, member, pool, program)?;
        any |= put(code, hook, &inserted, pool)?;
    }
    Ok(any)
}

/// Observes the monitors of a class of the platform; whether there were any.
fn monitors<'a>(
    code: &mut Code<'a>,
    class: &ClassFile<'a>,
    member: &Member<'a>,
    pool: &mut Pool<'a>,
    program: &mut dyn Program,
) -> Outcome<bool> {
    let acquired = program.site(site_of(Kind::Acquire, class, member))?;
    let released = program.site(site_of(Kind::Release, class, member))?;
    let before = b"(Ljava/lang/Object;)V";
    let release = Snippet::new(pool).number(released)?.call(b"release", b"(I)V")?.code;
    let locked = Snippet::new(pool).number(acquired)?.call(b"locked", b"(I)V")?.code;
    let mut any = false;
    for instruction in &mut code.instructions {
        if instruction.opcode == op::MONITORENTER {
            instruction.before =
                Snippet::new(pool).ops(&[op::DUP]).call(b"beforeLock", before)?.code;
            instruction.behind.clone_from(&locked);
            any = true;
        } else if instruction.opcode == op::MONITOREXIT {
            instruction.before.clone_from(&release);
        }
    }
    if !member.is(access::SYNCHRONIZED) || member.is(access::STATIC) {
        return Ok(any);
    }
    code.entry = Snippet::new(pool).ops(&[op::ALOAD_0]).call(b"beforeLock", before)?.code;
    code.entry.extend_from_slice(&locked);
    code.unwind.clone_from(&release);
    for instruction in &mut code.instructions {
        if matches!(instruction.opcode, op::IRETURN..=op::RETURN) {
            instruction.before.extend_from_slice(&release);
        }
    }
    Ok(true)
}

fn put(code: &mut Code, hook: &Hook, inserted: &[u8], pool: &Pool) -> Outcome<bool> {
    let place = hook.place;
    if place == Place::Entry {
        code.entry.extend_from_slice(inserted);
        return Ok(true);
    }
    let mut any = false;
    for i in 0..code.instructions.len() {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let here = match place {
            Place::Entry => false,
            Place::Return => matches!(opcode, op::IRETURN..=op::RETURN),
            Place::Call(name) | Place::AfterCall(name) => {
                matches!(opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE)
                    && pool.reference(code.operand(at)?)?.name == name.as_bytes()
                    && (hook.given != Given::Top || without_parameters(pool, code.operand(at)?)?)
            }
            Place::Read(name) => {
                opcode == op::GETFIELD && pool.reference(code.operand(at)?)?.name == name.as_bytes()
            }
        };
        if here && matches!(place, Place::Read(_)) {
            code.instructions[i].before.push(op::DUP);
        }
        if here && matches!(place, Place::AfterCall(_) | Place::Read(_)) {
            code.instructions[i].behind.extend_from_slice(inserted);
        } else if here {
            code.instructions[i].before.extend_from_slice(inserted);
        }
        any |= here;
    }
    Ok(any)
}

fn without_parameters(pool: &Pool, method: u16) -> Outcome<bool> {
    Ok(pool.reference(method)?.descriptor.starts_with(b"()"))
}

const OBJECT: &str = "Ljava/lang/Object;";

fn snippet(
    hook: &Hook,
    class: &ClassFile,
    member: &Member,
    pool: &mut Pool,
    program: &mut dyn Program,
) -> Outcome<Vec<u8>> {
    let snippet = Snippet::new(pool);
    let (snippet, object) = match hook.given {
        Given::Nothing => (snippet, String::new()),
        Given::Top => (snippet.ops(&[op::DUP]), OBJECT.into()),
        Given::This => (snippet.ops(&[op::ALOAD_0]), OBJECT.into()),
        Given::ResultAndThis => {
            let result = if member.descriptor.ends_with(b";") { "Ljava/lang/Object;" } else { "I" };
            let given = format!("{result}Ljava/lang/Object;");
            (snippet.ops(&[op::DUP, op::ALOAD_0]), given)
        }
        Given::First => (snippet.ops(&[op::ALOAD_0 + 1]), OBJECT.into()),
        Given::Second => (snippet.ops(&[op::ALOAD_0 + 2]), OBJECT.into()),
        Given::Read => (snippet, [OBJECT, OBJECT].concat()),
        Given::ReplaceFields | Given::ReplaceMethods => {
            let of_fields = hook.given == Given::ReplaceFields;
            let kind = if of_fields { "Field" } else { "Method" };
            let descriptor = format!("([Ljava/lang/reflect/{kind};)[Ljava/lang/reflect/{kind};");
            let snippet = snippet.ops(&[op::ALOAD_0 + 1]);
            let snippet =
                snippet.call_in(PLATFORM_HOOK, hook.call.as_bytes(), descriptor.as_bytes())?;
            return Ok(snippet.ops(&[op::ASTORE_0 + 1]).code);
        }
    };
    let Some(kind) = hook.kind else {
        let descriptor = format!("({object})V");
        return Ok(snippet
            .call_in(PLATFORM_HOOK, hook.call.as_bytes(), descriptor.as_bytes())?
            .code);
    };
    let site = Site { model: hook.model as u8, ..site_of(kind, class, member) };
    let site = program.site(site)?;
    let returned = if hook.given == Given::Read { OBJECT } else { "V" };
    let descriptor = format!("({object}I){returned}");
    Ok(snippet
        .number(site)?
        .call_in(PLATFORM_HOOK, hook.call.as_bytes(), descriptor.as_bytes())?
        .code)
}

fn site_of(kind: Kind, class: &ClassFile, member: &Member) -> Site {
    let method: Name = [&super::names::dotted(class.name)[..], b".", member.name].concat().into();
    let file: Name = Name::from(&b""[..]);
    Site { kind: Some(kind), target: Target::Object, file, method, line: 0, model: 0 }
}
