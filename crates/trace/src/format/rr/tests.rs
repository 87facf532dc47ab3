//! RoadRunner logs: every kind of line, and what is mixed into them.

use super::*;
use crate::notation::Trace;

fn reader(text: &str, lenient: bool) -> RrReader {
    RrReader::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec())), lenient)
}

fn line_of(text: &str) -> String {
    Trace::collect(&mut reader(text, false)).unwrap().to_line()
}

#[test]
fn the_small_tool_writes_one_line_for_each_operation() {
    let log = "@  Enter(0,A.main([Ljava/lang/String;)V) from null\n\
               @   Start(0,1)\n\
               @  Wr(1,@02.A.x_I)  Final  A.java:3:4\n\
               @   VWr(0,null.A.y_Z)  Final\n\
               @   Join(0,1)\n\
               @   ARd(0,@03[7])  Final  A.java:9:1\n\
               @  Exit(0,A.main([Ljava/lang/String;)V)\n";
    let label = "A.main([Ljava/lang/String;)V";
    let expected = format!(
        "0:begin({label}) 0:fork(1) 1:w(@02.A.x_I) 0:aw(null.A.y_Z) 0:join(1) 0:r(@03[7]) 0:end({label})"
    );
    assert_eq!(line_of(log), expected);
}

#[test]
fn the_large_tool_writes_two_lines_for_what_takes_time() {
    let log = "@  main[tid = 0] started .\n\
               @  Start(0,1)\n\
               @  Thread-0[tid = 1] started by main[tid = 0].\n\
               @  Rd(1,@02.x_I)  Final  A.java:3:4\n\
               @  Start(0,1)\n\
               @  Join(0,1)\n\
               @  Acquire(1,@03)\n\
               @  Notify(1,@03,false)\n\
               @  Notify(1,@03,false)\n\
               @  Wait(1,@03)\n\
               @  ClassInited(0,A)\n\
               @  Wait(1,@03)\n\
               @  Release(1,@03)\n\
               @  Barrier(1,@04,Enter)\n\
               @  Barrier(1,@04,Exit)\n\
               @  pre  sleep\n\
               @  Sleep(1)\n\
               @   stopped Thread-0[tid = 1]\n\
               @  Join(0,1)\n\
               @  Wr(0,@02.x_I)  Final  A.java:5:4\n";
    let mut source = reader(log, false);
    let expected = "0:fork(1) 1:r(@02.x_I) 1:acq(@03) 1:notify(@03) 1:prewait(@03) 1:postwait(@03) \
                    1:rel(@03) 1:enter(@04) 1:exit(@04) 0:join(1) 0:w(@02.x_I)";
    assert_eq!(Trace::collect(&mut source).unwrap().to_line(), expected);
    let counts: Vec<_> = source.skipped().unmodelled.iter().map(|(&k, &v)| (k, v)).collect();
    let expected = [
        ("class initialised", 1),
        ("other half", 3),
        ("sleep", 2),
        ("thread created", 2),
        ("thread stopped", 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(source.skipped().foreign_lines, 0);
}

#[test]
fn an_interrupted_wait_has_its_lock_again() {
    let log = "@  Acquire(1,@03)\n@  Wait(1,@03)\n@  Interrupt(0,1)\n@  Interrupted(1)\n\
               @  Release(1,@03)\n@  Interrupted(1)\n";
    assert_eq!(line_of(log), "1:acq(@03) 1:prewait(@03) 1:postwait(@03) 1:rel(@03)");
}

#[test]
fn a_second_start_after_other_work_is_another_start() {
    // A thread number used twice, which the validation reports.
    let log = "@  Start(0,1)\n@  Rd(0,@02.x_I)\n@  Start(0,1)\n";
    assert_eq!(line_of(log), "0:fork(1) 0:r(@02.x_I) 0:fork(1)");
}

#[test]
fn sites_have_file_line_offset_and_method() {
    let log = "@  Rd(0,@02.x_I)  Final  A.java:3:4\n\
               @  Enter(0,A.f()V) from null\n\
               @   Rd(0,@02.x_I)  Final  A.java:3:4\n\
               @   Enter(0,A.g()V) from null\n\
               @    Rd(0,@02.x_I)  Final  B.java:8\n\
               @   Exit(0,A.g()V)\n\
               @   Rd(0,@02.x_I)  Final  A.java:3:4\n\
               @   Rd(0,@02.x_I)  Final  NullLoc\n\
               @   Acquire(0,@03)\n\
               @  Exit(0,A.f()V)\n\
               @  Rd(0,@02.x_I)  Final  ?:-1:-1\n";
    let trace = Trace::collect(&mut reader(log, false)).unwrap();
    let text = |id: TextId| String::from_utf8_lossy(trace.symbols.texts.name(id.0)).into_owned();
    let sites: Vec<String> = trace
        .events
        .iter()
        .map(|event| {
            let info = trace.symbols.site_info(event.site).unwrap();
            format!("{}:{}:{} {}", text(info.file), info.line, info.column, text(info.method))
        })
        .collect();
    let expected = [
        "A.java:3:4 ",
        ":0:0 A.f()V",
        "A.java:3:4 A.f()V",
        ":0:0 A.g()V",
        "B.java:8:0 A.g()V",
        ":0:0 A.g()V",
        "A.java:3:4 A.f()V",
        ":0:0 A.f()V",
        ":0:0 A.f()V",
        ":0:0 A.f()V",
        "?:0:0 ",
    ];
    assert_eq!(sites, expected);
    assert_eq!(trace.symbols.show_site(trace.events[1].site), "A.f()V");
    assert_eq!(trace.symbols.show_site(trace.events[0].site), "A.java:3");
}

#[test]
fn events_keep_the_numbers_of_their_lines() {
    let log = "[main: hello]\r\n@  Rd(0,@02.x_I)\r\n@  Rd(0,@02.x_I)\r\nprogram output\r\n\
               hello@  Rd(0,@02.x_I)\r\n@  Rd(0,@02.x_I)";
    let mut source = reader(log, false);
    let mut batch = Batch::default();
    source.read(&mut batch).unwrap();
    let lines: Vec<_> = (0..batch.events.len()).map(|i| batch.line(i).unwrap()).collect();
    assert_eq!(lines, [2, 3, 6]);
    assert_eq!((source.skipped().foreign_lines, source.skipped().lost_events), (3, 1));
    source.read(&mut batch).unwrap();
    assert!(batch.events.is_empty());
}

#[test]
fn a_broken_event_is_an_error_with_its_line() {
    let log = "@  Rd(0,@02.x_I)\nhello\n@  Rd(0,@02.x_I\n@  Rd(0,@02.y_I)\n";
    let error = Trace::collect(&mut reader(log, false)).expect_err("malformed");
    assert_eq!((error.at.line, error.rule()), (Some(3), Some(crate::Rule::ParseError)));
    let mut lenient = reader(log, true);
    let trace = Trace::collect(&mut lenient).unwrap();
    assert_eq!(trace.to_line(), "0:r(@02.x_I) 0:r(@02.y_I)");
    assert_eq!(lenient.skipped().malformed, 1);
    assert_eq!(lenient.skipped().examples[0].at.line, Some(3));
}

#[test]
fn names_may_be_long_and_of_any_bytes() {
    let long = [b"@02.".to_vec(), vec![0xff; 60_000]].concat();
    let log = [b"@  Rd(0,".to_vec(), long.clone(), b")\n".to_vec()].concat();
    let mut source = RrReader::new(Box::new(std::io::Cursor::new(log)), false);
    let trace = Trace::collect(&mut source).unwrap();
    assert_eq!(*trace.symbols.vars.name(0), *long);
}

#[test]
fn endless_program_output_is_one_foreign_line() {
    let log = "x".repeat(3 * LONGEST_LINE) + "\n@  Rd(0,@02.x_I)\n";
    let mut source = reader(&log, false);
    let mut batch = Batch::default();
    source.read(&mut batch).unwrap();
    assert_eq!((batch.events.len(), batch.line(0)), (1, Some(2)));
    assert_eq!(source.skipped().foreign_lines, 1);
}
