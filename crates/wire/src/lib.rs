//! What a recorder inside an observed process needs: the kinds of operations, the bytes of a
//! recorded stream, and a recorder for programs that record themselves.
//!
//! A recorder takes no locks that the program can see and puts no events in order. There is no
//! global counter either: the recorder keeps some thousand *stripes*, each a counter with a lock
//! bit. An event that other threads can see takes the stripe of its target, happens, and leaves the
//! stripe one version further; its record carries stripe and version. So an event and its stamp are
//! one step, and threads that touch different things do not meet. The order of the trace is each
//! thread's own order together with each stripe's: it has no cycle, because both follow time, and
//! it contains every conflict of the real run. Any order of the records that keeps it is a trace
//! that the program could have shown with the same results. Finding one is the reader's work
//! (`paceline_trace::format::stream`).
//!
//! Nothing here knows a language, a virtual machine or a file.

mod decode;
mod error;
mod frame;
mod kind;
mod layout;
mod note;
mod output;
mod reader;
mod recorder;
pub mod select;
mod text;

pub use error::Error;
pub use frame::{Frame, Hello, NoteFrame, SiteFlags, SiteFrame, chunk_header, put_preamble};
pub use kind::{Kind, NameSpace};
pub use layout::{
    FRAME_HEADER_LEN, FrameCode, MAGIC, MAX_OBJECT, MAX_PAYLOAD, MAX_SITE, MAX_STRIPES,
    MAX_VERSION, ORDER_ONLY, SITE_BITS, VERSION, VERSION_BITS, is_stamped, kind_code,
    kind_with_code, pack, stamp, unpack, unstamp,
};
pub use note::NoteKind;
pub use output::{Output, SiteText};
pub use reader::{FrameReader, Next};
pub use recorder::{Flusher, Recorder, SiteNo, Target, ThreadRecorder};
pub use text::{show_bytes, show_name};
