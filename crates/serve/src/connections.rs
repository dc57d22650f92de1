//! Connections: how many there may be, how long one may take without doing anything, and what a
//! request's body may be. Knows nothing of what is asked for.
//!
//! A connection has a [`Seat`]. While all are taken, each new one gets that on which nothing has
//! gone on for longest: no head of a request that came whole, no answer that was finished, no
//! [`STEP`] of one that was taken. So those that wait for their request, its body or their reader
//! hold no seat that another one needs.

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

/// Maximum number of bytes of a request's body: a pose of thousands of joints.
const MAX_BODY: usize = 256 << 10;
/// How many bytes of an answer have to be taken for the connection to count as one on which
/// something goes on.
const STEP: usize = 64 << 10;

/// What bounds connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many there may be at once. Files that the process may open are not without end.
    most: usize,
    /// How long a client may take to say what it wants, the first time and between two requests.
    patience: Duration,
    /// How long the body of a request may take to come.
    body: Duration,
    /// How long a client may take nothing of what is sent to it.
    stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            most: 256,
            patience: seconds(10),
            body: seconds(5),
            stall: seconds(30),
        }
    }
}

impl Limits {
    /// With so many at once at most, if that is said.
    pub(super) fn of(most: Option<usize>) -> Self {
        let limits = Self::default();
        Self {
            most: most.unwrap_or(limits.most),
            ..limits
        }
    }

    /// How many streams of one kind may keep their seats: with both kinds, half of all seats stay
    /// for others.
    pub(super) fn streams(&self) -> usize {
        (self.most / 4).clamp(1, super::MOST_CLIENTS)
    }
}

/// How long to wait where nothing can be accepted, for lack of files mostly.
const PAUSE: Duration = Duration::from_secs(1);

/// How many connections may wait to be accepted: more come at once in a flood than the 128 of
/// tokio's own `bind`, and beyond it the system drops them, so that an honest client tries again
/// after a second.
const BACKLOG: u32 = 4096;

/// Listens on `address`.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // As tokio's `bind` does: a server can be started again at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Answers requests until the future is dropped. Connections end with it.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits) {
    // A seat that was given up is not counted any more; its socket may be open for a moment, and is
    // counted here. So that a new connection needs not wait for that, there are more sockets than
    // seats.
    let seats = Seats::new(limits.most - limits.most / 8);
    let sockets = Arc::new(Semaphore::new(limits.most));
    let mut open = tokio::task::JoinSet::new();
    loop {
        let (stream, address) = accepted(&listener).await;
        while open.try_join_next().is_some() {}
        let Some(seat) = seats.take(address.ip()).map(Arc::new) else {
            continue;
        };
        // Never closed, and whoever gave up a seat ends its connection, so there is one in the end.
        let Ok(socket) = sockets.clone().acquire_owned().await else {
            return;
        };
        let router = TowerToHyperService::new(router.clone());
        open.spawn(async move {
            let mut builder = Builder::new(TokioExecutor::new()).http1_only();
            builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.patience);
            let connection =
                Connection { stream, stall: limits.stall, stalled: None, taken: 0, seat: seat.clone(), _socket: socket };
            let of_connection = seat.clone();
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let (router, seat) = (router.clone(), of_connection.clone());
                async move { Ok::<_, Infallible>(answer(&router, seat, request.map(Body::new), limits.body).await) }
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
            Err(error) if is_of_one(&error) => {}
            Err(error) => {
                tracing::debug!("no connection can be accepted: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Answers a request whose body came whole, or says why it was not waited for.
async fn answer(
    router: &TowerToHyperService<Router>,
    seat: Arc<Seat>,
    request: Request<Body>,
    patience: Duration,
) -> Response {
    let (mut head, body) = request.into_parts();
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
    seat.touch();
    head.extensions.insert(seat.clone());
    let response = match router
        .call(Request::from_parts(head, Body::from(body)))
        .await
    {
        Ok(response) => response,
        Err(never) => match never {},
    };
    seat.touch();
    response.map(|body| Body::new(Sent { body, seat }))
}

/// The whole body of a request.
///
/// # Errors
/// The answer to one that is too large, or ends early.
async fn whole(body: Body) -> Result<Bytes, Response> {
    let too_large = || {
        let text = format!(
            "The body of the request is larger than {} KiB.\n",
            MAX_BODY >> 10
        );
        ending(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
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

/// An answer after which the connection ends.
fn ending(status: StatusCode, text: String) -> Response {
    (
        status,
        [(header::CONNECTION, HeaderValue::from_static("close"))],
        text,
    )
        .into_response()
}

/// The body of an answer, which notes when it is sent.
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
        // The connection may have another request.
        self.seat.keep(false);
    }
}

/// Whether an error of accepting is about one client that left.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// A connection that ends if its client takes nothing for long. Its seat is free when it is
/// dropped, upgraded or not.
struct Connection {
    stream: TcpStream,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// How many bytes were taken since that last counted.
    taken: usize,
    seat: Arc<Seat>,
    _socket: OwnedSemaphorePermit,
}

impl Connection {
    /// What became of a write, or that it took too long.
    fn watched(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.stalled = None;
            self.taken += written.as_ref().copied().unwrap_or_default();
            if self.taken >= STEP {
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

    /// What comes of a request; all until the connection ends.
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
            most: 8,
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
        let address = started(Limits {
            most: 4,
            ..Limits::default()
        })
        .await;
        let mut reader = TcpStream::connect(address).await.unwrap();
        reader
            .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let (mut read, mut chunk, mut idle) = (0, vec![0; 4 << 20], Vec::new());
        loop {
            match reader.read(&mut chunk).await.unwrap() {
                0 => break,
                count => read += count,
            }
            if idle.len() < 30 {
                idle.push(TcpStream::connect(address).await.unwrap());
                sleep(Duration::from_millis(2)).await;
            }
        }
        assert!(read > 64 << 20, "{read}");
    }
}
