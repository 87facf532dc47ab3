//! How the trace was recorded: a recorded stream without any records, since that has a form for it.

use std::io::{Cursor, Read};

use paceline_wire::{Hello, Output};

use super::{NOTES, checksum};
use crate::format::stream::StreamReader;
use crate::recording::Recording;
use crate::source::{Batch, Source as _};

/// The part of a file: marker, length, stream, checksum of all that.
pub(super) fn encode(recording: &Recording) -> Vec<u8> {
    let mut stream = Vec::new();
    let hello = Hello {
        pid: recording.pid,
        front_end: recording.front_end.as_bytes(),
        version: recording.version.as_bytes(),
        recorder: recording.recorder.as_bytes(),
        command: recording.command.as_bytes(),
        ..Hello::default()
    };
    let mut output = Output::new(&mut stream, &hello);
    for note in &recording.notes {
        output.note(note.kind, note.text.as_bytes(), note.number);
    }
    // Writing to memory does not fail.
    let _ = output.finish();
    let mut part = NOTES.to_vec();
    part.extend_from_slice(&(stream.len() as u32).to_le_bytes());
    part.extend_from_slice(&stream);
    let sum = checksum(&part);
    part.extend_from_slice(&sum.to_le_bytes());
    part
}

/// What follows the marker and the length: `None` if it is not what a writer makes.
pub(super) fn decode(stream: &[u8], sum: [u8; 4]) -> Option<Recording> {
    let len = (stream.len() as u32).to_le_bytes();
    if checksum(&[&NOTES, &len, stream].concat()).to_le_bytes() != sum {
        return None;
    }
    let input: Box<dyn Read + Send> = Box::new(Cursor::new(stream.to_vec()));
    let mut reader = StreamReader::new(input);
    let mut batch = Batch::default();
    reader.read(&mut batch).ok()?;
    let is_whole = batch.events.is_empty() && reader.skipped().cut_off.is_none();
    reader.skipped().recording.clone().filter(|_| is_whole)
}
