//! Files of patterns: any bytes are patterns, and a selection takes out blocks as wholes and leaves
//! everything else alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, drain};
use paceline_trace::format::std::StdReader;
use paceline_trace::select::{Selected, Selection, patterns_in};
use paceline_trace::{Blocks, Event, Op};

const TRACE: &[u8] = b"1|begin(p/Set.add(I)V)|1\n1|r(x)|2\n1|begin(run)|3\n1|begin|4\n1|end|5\n\
                       2|begin(A.main([Ljava/lang/String;)V)|6\n1|end(run)|7\n2|w(x)|8\n2|end|9\n\
                       1|end(p/Set.add(I)V)|10\n";

fuzz_target!(|data: &[u8]| {
    let half = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    let atomic = patterns_in(&data[..half]);
    let except = patterns_in(&data[half..]);
    let given = atomic.len() + except.len();
    for pattern in atomic.iter().chain(&except) {
        assert!(!pattern.is_empty() && !pattern.contains(&b'\n'));
    }
    for blocks in [Blocks::Declared, Blocks::Methods] {
        let all = drain(&mut StdReader::new(bytes(TRACE), false)).0;
        let selection = Selection::new(atomic.clone(), except.clone());
        let source = StdReader::new(bytes(TRACE), false);
        let mut selected = Selected::new(source, selection, blocks);
        let (events, outcome) = drain(&mut selected);
        assert!(outcome.is_ok());
        assert!(selected.marker().unmatched().len() <= given);
        let others = |events: &[Event]| -> Vec<Event> {
            events.iter().copied().filter(|e| !is_block(e)).collect()
        };
        assert_eq!(others(&events), others(&all));
        let count = |which: fn(&Event) -> bool| events.iter().filter(|e| which(e)).count();
        assert_eq!(
            count(|e| matches!(e.op, Op::Begin(_))),
            count(|e| matches!(e.op, Op::End(_)))
        );
    }
});

fn is_block(event: &Event) -> bool {
    matches!(event.op, Op::Begin(_) | Op::End(_))
}
