//! The floor that reading is measured against: a plain scan of an STD file on one thread, byte by
//! byte, that splits lines and fields and hashes them, checks nothing and keeps nothing.
//!
//! `cargo run --release -p paceline-trace --example floor -- FILE.std`

use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

/// Small enough to stay in the second-level cache between the reading and the scan.
const CHUNK: usize = 256 << 10;

/// What the scan computes, so that no part of it can be left out.
#[derive(Default)]
struct Scan {
    lines: u64,
    digest: u64,
}

impl Scan {
    /// Scans whole lines of the form `THREAD|OP(OPERAND)|LOC` or `THREAD|OP|LOC`.
    fn lines(&mut self, text: &[u8]) {
        let mut bytes = text.iter();
        while !bytes.as_slice().is_empty() {
            let thread = hash_until(&mut bytes, b'|');
            let op = u64::from(bytes.as_slice().first().copied().unwrap_or(0));
            let has_operand = skip_op(&mut bytes);
            let operand = if has_operand { hash_until(&mut bytes, b')') } else { 0 };
            // Behind the closing parenthesis stands the bar; a bare operation has been read with it.
            let site = hash_until(&mut bytes, b'\n');
            let line = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ operand.wrapping_mul(0xd134_2543_de82_ef95)
                ^ op << 32
                ^ site;
            self.digest = self.digest.wrapping_add(line);
            self.lines += 1;
        }
    }
}

/// The hash of the bytes before `stop`, which is read as well.
#[inline(always)]
fn hash_until(bytes: &mut std::slice::Iter<'_, u8>, stop: u8) -> u64 {
    let mut hash = 0u64;
    for &byte in bytes {
        if byte == stop {
            break;
        }
        hash = hash.wrapping_mul(31).wrapping_add(u64::from(byte));
    }
    hash
}

/// Reads an operation's name and what stands behind it: says whether that opens an operand.
#[inline(always)]
fn skip_op(bytes: &mut std::slice::Iter<'_, u8>) -> bool {
    bytes.find(|&&byte| byte == b'(' || byte == b'|') == Some(&b'(')
}

fn scan(mut input: impl Read) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    loop {
        let got = input.read(&mut buffer[filled..])?;
        filled += got;
        if got == 0 {
            scan.lines(&buffer[..filled]);
            return Ok(scan);
        }
        let whole = buffer[..filled].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        scan.lines(&buffer[..whole]);
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
    }
}

fn main() -> io::Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        return Err(io::Error::other("usage: floor FILE.std"));
    };
    let started = Instant::now();
    let scan = scan(File::open(path)?)?;
    let seconds = started.elapsed().as_secs_f64();
    let rate = scan.lines as f64 / seconds / 1e6;
    println!(
        "{} lines, digest {:016x}, {seconds:.3} s, {rate:.1} M lines/s",
        scan.lines, scan.digest
    );
    Ok(())
}
