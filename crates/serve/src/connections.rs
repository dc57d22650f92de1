//! Connection management: limits on the number of connections, on idle time, and on request bodies.
//!
//! Each connection holds a [`Seat`]. If all are taken, a new connection evicts the one without
//! progress for the longest time, where progress is a complete request head, a finished response,
//! or [`PROGRESS_BYTES`] bytes of one that the client has read, or of a streamed request that it has
//! sent. Hence clients that are slow to send or to read can't block others (slow-loris attacks). This
//! module does not depend on what is requested.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep, timeout};

use super::seats::{Seat, Seats};

/// Maximum size of a request body, in bytes: a pose of thousands of joints.
const MAX_BODY: usize = 256 << 10;
/// Bytes of a response that the client has to read, or of a streamed request that it has to send, for
/// the connection to make progress.
const PROGRESS_BYTES: usize = 64 << 10;

/// Limits on connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of open connections; each takes a file descriptor.
    max_connections: usize,
    /// Time limit for a request's head, on the first request and between two requests.
    patience: Duration,
    /// Time limit for a request's body.
    body: Duration,
    /// Time limit for a client that reads nothing of a response.
    stall: Duration,
    /// Time for which a new connection keeps its seat whatever others do: enough to read and answer
    /// a request on a busy machine. It bounds new connections to 224 in this time.
    grace: Duration,
    /// Path of requests whose bodies the handler reads and limits itself, as they arrive.
    streamed: &'static str,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            max_connections: 256,
            patience: seconds(10),
            body: seconds(5),
            stall: seconds(30),
            grace: Duration::from_millis(200),
            streamed: "",
        }
    }
}

impl Limits {
    /// Returns the default limits, with another maximum of connections if one is given.
    pub(super) fn with_max_connections(max_connections: Option<usize>) -> Self {
        let limits = Self::default();
        Self {
            max_connections: max_connections.unwrap_or(limits.max_connections),
            ..limits
        }
    }

    /// Returns these limits, with a path of requests whose bodies the handler reads and limits.
    pub(super) fn streaming(self, path: &'static str) -> Self {
        Self {
            streamed: path,
            ..self
        }
    }

    /// Returns the maximum number of streams of one kind, whose seats can't be evicted: the two
    /// kinds together leave half of all seats for other requests.
    pub(super) fn streams(&self) -> usize {
        (self.max_connections / 4).clamp(1, super::MAX_STREAM_CLIENTS)
    }
}

/// Delay after a failure to accept, mostly for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Length of the accept queue. A flood exceeds the 128 of tokio's `bind`, and the system drops what
/// exceeds it, so that honest clients would retry only after a second.
const BACKLOG: u32 = 4096;

/// Returns a socket that listens on `address`.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // Like tokio's `bind`: a server can restart at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves requests until the future is dropped, which closes all connections.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits) {
    // The socket of an evicted connection may stay open for a moment, so sockets are counted
    // separately. There are more sockets than seats, so that a new connection need not wait for
    // that moment.
    let seats = Seats::new(
        limits.max_connections - limits.max_connections / 8,
        limits.grace,
    );
    let sockets = Arc::new(Semaphore::new(limits.max_connections));
    let mut open = tokio::task::JoinSet::new();
    loop {
        let (stream, address) = accepted(&listener).await;
        // A `JoinSet` keeps ended tasks until they are joined.
        while open.try_join_next().is_some() {}
        // Without a seat, because all are protected, the connection is closed at once.
        let Some(seat) = seats.take(address.ip()).await.map(Arc::new) else {
            continue;
        };
        // The semaphore is never closed, and evicted connections end, so this finishes.
        let Ok(socket) = sockets.clone().acquire_owned().await else {
            return;
        };
        let router = TowerToHyperService::new(router.clone());
        open.spawn(async move {
            let mut builder = Builder::new(TokioExecutor::new()).http1_only();
            builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.patience);
            let connection =
                Connection { stream, stall: limits.stall, stalled: None, taken: 0, seat: seat.clone(), _socket: socket };
            let connection_seat = seat.clone();
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let (router, seat) = (router.clone(), connection_seat.clone());
                async move { Ok::<_, Infallible>(answer(&router, seat, request.map(Body::new), limits).await) }
            });
            tokio::select! {
                ended = builder.serve_connection_with_upgrades(TokioIo::new(connection), service) => {
                    if let Err(error) = ended {
                        tracing::trace!("a connection ended: {error}");
                    }
                }
                () = seat.evicted() => tracing::debug!("a connection of {} made room for another one", seat.peer()),
            }
        });
    }
}

async fn accepted(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if concerns_one_client(&error) => {}
            Err(error) => {
                tracing::debug!("no connection can be accepted: {error}");
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// Answers a request after its body has arrived, or reports why it did not. A streamed body need
/// not have arrived, but must make progress.
async fn answer(
    router: &TowerToHyperService<Router>,
    seat: Arc<Seat>,
    request: Request<Body>,
    limits: Limits,
) -> Response {
    let (mut head, body) = request.into_parts();
    let patience = limits.body;
    if head.uri.path() == limits.streamed {
        let body = Body::new(Arriving::new(body, seat.clone(), limits.stall));
        return respond(router, seat, Request::from_parts(head, body)).await;
    }
    let body = match timeout(patience, whole(body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(refused)) => return refused,
        Err(_) => {
            let text = format!(
                "The body of the request did not come within {} s.\n",
                patience.as_secs()
            );
            return ending(StatusCode::REQUEST_TIMEOUT, text);
        }
    };
    head.extensions.insert(seat.clone());
    respond(router, seat, Request::from_parts(head, Body::from(body))).await
}

/// Passes a request to the router.
async fn respond(
    router: &TowerToHyperService<Router>,
    seat: Arc<Seat>,
    request: Request<Body>,
) -> Response {
    seat.touch();
    let response = match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    seat.touch();
    response.map(|body| Body::new(Sent { body, seat }))
}

/// Reads the whole body of a request.
///
/// # Errors
/// Returns the response for a body that is too large or ends early.
async fn whole(body: Body) -> Result<Bytes, Response> {
    let too_large = || {
        let text = format!(
            "The body of the request is larger than {} KiB.\n",
            MAX_BODY >> 10
        );
        ending(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    // A declared length is refused before anything is read.
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let (mut whole, mut parts) = (Vec::new(), body.into_data_stream());
    while let Some(part) = parts.next().await {
        let cut_off = |_| {
            ending(
                StatusCode::BAD_REQUEST,
                "The body of the request is cut off.\n".to_owned(),
            )
        };
        let part = part.map_err(cut_off)?;
        if whole.len() + part.len() > MAX_BODY {
            return Err(too_large());
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}

/// Returns a response that closes the connection.
fn ending(status: StatusCode, text: String) -> Response {
    (
        status,
        // The rest of the body was not read, so no other request can follow on this connection.
        [(header::CONNECTION, HeaderValue::from_static("close"))],
        text,
    )
        .into_response()
}

/// A body that arrives while it is handled: it fails if the client sends nothing for a while.
struct Arriving {
    body: Body,
    seat: Arc<Seat>,
    stall: Duration,
    stalled: Pin<Box<Sleep>>,
    /// Bytes received since the last progress was recorded.
    received: usize,
}

impl Arriving {
    fn new(body: Body, seat: Arc<Seat>, stall: Duration) -> Self {
        Self {
            body,
            seat,
            stall,
            stalled: Box::pin(sleep(stall)),
            received: 0,
        }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            let late = || axum::Error::new(io::Error::from(io::ErrorKind::TimedOut));
            return self
                .stalled
                .as_mut()
                .poll(context)
                .map(|()| Some(Err(late())));
        };
        let bytes = |frame: &Frame<Bytes>| frame.data_ref().map_or(0, Bytes::len);
        self.received += frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok())
            .map_or(0, bytes);
        if self.received >= PROGRESS_BYTES {
            self.received = 0;
            self.seat.touch();
        }
        let deadline = tokio::time::Instant::now() + self.stall;
        self.stalled.as_mut().reset(deadline);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response; makes the seat evictable again once it is sent.
struct Sent {
    body: Body,
    seat: Arc<Seat>,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        // The connection may get another request.
        self.seat.set_protected(false);
    }
}

/// Returns whether an accept error concerns only one client, which has left.
fn concerns_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// A connection that times out if its client stops reading. Dropping it frees its seat, whether it
/// was upgraded or not.
struct Connection {
    stream: TcpStream,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// Bytes written since the last progress was recorded.
    taken: usize,
    seat: Arc<Seat>,
    _socket: OwnedSemaphorePermit,
}

impl Connection {
    /// Records the progress of a write, or turns a stalled one into a time-out.
    fn watched(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.stalled = None;
            self.taken += written.as_ref().copied().unwrap_or_default();
            if self.taken >= PROGRESS_BYTES {
                self.taken = 0;
                self.seat.touch();
            }
            return Poll::Ready(written);
        }
        let stall = self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        stalled
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Reads need no time limit here: heads and bodies of requests have theirs.
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, from);
        self.watched(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, from);
        self.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    async fn started(limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let body = Bytes::from(vec![7; 64 << 20]);
        let post = |body: Bytes| async move { format!("{} bytes", body.len()) };
        let router = Router::new()
            .route("/", axum::routing::get(|| async { "here" }).post(post))
            .route("/slow", axum::routing::get(std::future::pending::<&str>))
            .route("/large", axum::routing::get(move || async move { body }));
        tokio::spawn(serve(listener, router, limits));
        address
    }

    /// Sends a request and returns everything received until the connection ends.
    async fn ask(address: SocketAddr, request: &[u8]) -> String {
        let (mut client, mut answer) = (TcpStream::connect(address).await.unwrap(), Vec::new());
        client.write_all(request).await.unwrap();
        let _ = timeout(Duration::from_secs(20), client.read_to_end(&mut answer))
            .await
            .unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    const HONEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn half_a_request_ends() {
        let address = started(Limits {
            patience: Duration::from_millis(50),
            ..Limits::default()
        })
        .await;
        let answer = ask(address, b"GET / HTTP/1.1\r\nHost: x").await;
        assert!(!answer.contains("200"), "{answer}");
    }

    #[tokio::test]
    async fn bodies_are_bounded_in_time_and_size() {
        let address = started(Limits {
            body: Duration::from_millis(100),
            ..Limits::default()
        })
        .await;
        let post = |length: &str, body: &[u8]| {
            [
                format!("POST / HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n").as_bytes(),
                body,
            ]
            .concat()
        };
        let whole = post("Connection: close\r\nContent-Length: 3", b"abc");
        assert!(ask(address, &whole).await.ends_with("3 bytes"));
        let never = ask(address, &post("Content-Length: 100", b"abc")).await;
        assert!(never.starts_with("HTTP/1.1 408 "), "{never}");
        let said = ask(address, &post("Content-Length: 99999999999", b"")).await;
        assert!(
            said.starts_with("HTTP/1.1 413 ") && said.contains("256 KiB"),
            "{said}"
        );
        let chunk = [
            b"40001\r\n".to_vec(),
            vec![b'x'; MAX_BODY + 1],
            b"\r\n".to_vec(),
        ]
        .concat();
        let chunks = ask(address, &post("Transfer-Encoding: chunked", &chunk)).await;
        assert!(
            chunks.is_empty() || chunks.starts_with("HTTP/1.1 413 "),
            "{chunks}"
        );
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_leaves_its_seat() {
        let address = started(Limits {
            stall: Duration::from_millis(50),
            ..Limits::default()
        })
        .await;
        let mut lazy = TcpStream::connect(address).await.unwrap();
        lazy.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        sleep(Duration::from_millis(500)).await;
        let mut answer = Vec::new();
        let read = timeout(Duration::from_secs(10), lazy.read_to_end(&mut answer))
            .await
            .unwrap();
        assert!(read.is_err() || answer.len() < 64 << 20, "{}", answer.len());
    }

    #[tokio::test]
    async fn no_kind_of_slowness_keeps_others_out() {
        let address = started(Limits {
            max_connections: 8,
            ..Limits::default()
        })
        .await;
        for kind in [
            &b""[..],
            b"GET / HTTP/1.1\r\nHost: x",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
            b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n",
            b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
        ] {
            let mut slow = Vec::new();
            for _ in 0..20 {
                let mut client = TcpStream::connect(address).await.unwrap();
                client.write_all(kind).await.unwrap();
                slow.push(client);
            }
            sleep(Duration::from_millis(50)).await;
            let begin = Instant::now();
            let answer = ask(address, HONEST).await;
            let kind = String::from_utf8_lossy(kind);
            assert!(
                answer.ends_with("here") && begin.elapsed() < Duration::from_secs(1),
                "{kind:?}: {answer}"
            );
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_keeps_its_seat() {
        /// More bytes than the system buffers: to read as many, the server must have sent some
        /// meanwhile.
        const REFILLED: usize = 12 << 20;
        let address = started(Limits {
            max_connections: 4,
            grace: Duration::ZERO,
            ..Limits::default()
        })
        .await;
        let mut reader = TcpStream::connect(address).await.unwrap();
        reader
            .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let (mut read, mut chunk, mut idle) = (0, vec![0; 1 << 20], Vec::new());
        loop {
            match reader.read(&mut chunk).await.unwrap() {
                0 => break,
                count => read += count,
            }
            if read / REFILLED > idle.len() {
                idle.push(TcpStream::connect(address).await.unwrap());
            }
        }
        // More idle clients than seats.
        assert!(read > 64 << 20 && idle.len() > 4, "{read} {}", idle.len());
    }
}
