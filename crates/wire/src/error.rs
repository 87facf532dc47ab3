//! What can be wrong with the bytes of a stream.

/// Why a stream cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not what a recorder sends.
    #[error("{0}")]
    Damaged(String),
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
