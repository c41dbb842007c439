//! What a connection is made of: the one place that knows that it is plain TCP.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Where bytes come in.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// Where bytes go out.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Makes a connection ready to use. Encryption belongs here: whatever wraps the stream and can be split fits.
pub(crate) async fn wrap(stream: TcpStream) -> io::Result<(Reader, Writer)> {
    // Frames are batched already; waiting for more would only delay them.
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok((Box::new(reader), Box::new(writer)))
}
