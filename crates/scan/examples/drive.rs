use paceline_scan::*;
use std::time::Instant;
fn main() {
    let mut options = Options::default();
    let (mut inputs, mut libs, mut lib) = (vec![], vec![], false);
    for a in std::env::args().skip(1) {
        match a.as_str() {
            "--lib" => lib = true,
            "--low" => options.min_confidence = Confidence::Low,
            "--all" => { options.suppressions.library_locks = false; options.min_confidence = Confidence::Low }
            "--pairs" => options.pairs = true,
            p => {
                let i = match p.strip_prefix("jrt:") {
                    Some(r) => { let (m, f) = r.split_once(':').unwrap(); Input::Module { image: f.into(), name: m.into() } }
                    None => Input::Path(p.into()),
                };
                if lib { libs.push(i) } else { inputs.push(i) }
            }
        }
    }
    let start = Instant::now();
    let r = scan(&inputs, &libs, &options, &mut |p| { if !matches!(p, Progress::Reading(n) if n % 20480 != 0) { eprintln!("{:?} {:?}", start.elapsed(), p) } });
    print!("{r}");
    eprintln!("{:?} {:?} errors {}", start.elapsed(), r.counts, r.errors.len());
}
