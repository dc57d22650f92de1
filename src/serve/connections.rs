//! Connections: how many there may be, and how long one may take without doing anything. Knows nothing of what is asked for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// What bounds connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many there may be at once; more wait to be accepted. Files that the process may open are not without end.
    most: usize,
    /// How long a client may take to say what it wants, the first time and between two requests.
    patience: Duration,
    /// How long a client may take nothing of what is sent to it.
    stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: 256, patience: Duration::from_secs(10), stall: Duration::from_secs(30) }
    }
}

impl Limits {
    /// With so many at once at most, if that is said.
    pub(super) fn of(most: Option<usize>) -> Self {
        let limits = Self::default();
        Self { most: most.unwrap_or(limits.most), ..limits }
    }
}

/// How long to wait where nothing can be accepted, for lack of files mostly.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers requests until the future is dropped. Connections end with it.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits) {
    let seats = Arc::new(Semaphore::new(limits.most));
    let mut open = tokio::task::JoinSet::new();
    loop {
        // Never closed, so there is always a seat in the end.
        let Ok(seat) = seats.clone().acquire_owned().await else { return };
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) if is_of_one(&error) => {}
                Err(error) => {
                    tracing::debug!("no connection can be accepted: {error}");
                    sleep(PAUSE).await;
                }
            }
        };
        while open.try_join_next().is_some() {}
        let service = TowerToHyperService::new(router.clone());
        open.spawn(async move {
            let mut builder = Builder::new(TokioExecutor::new()).http1_only();
            builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.patience);
            let io = TokioIo::new(Connection { stream, stall: limits.stall, stalled: None, _seat: seat });
            if let Err(error) = builder.serve_connection_with_upgrades(io, service).await {
                tracing::trace!("a connection ended: {error}");
            }
        });
    }
}

/// Whether an error of accepting is about one client that left.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A connection that ends if its client takes nothing for long. Its seat is free when it is dropped, upgraded or not.
struct Connection {
    stream: TcpStream,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    _seat: OwnedSemaphorePermit,
}

impl Connection {
    /// What became of a write, or that it took too long.
    fn watched(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
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

    use super::*;

    async fn started(limits: Limits) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let body = vec![7; 64 << 20];
        let router = Router::new()
            .route("/", axum::routing::get(|| async { "here" }))
            .route("/large", axum::routing::get(move || async move { body }));
        tokio::spawn(serve(listener, router, limits));
        address
    }

    #[tokio::test]
    async fn half_a_request_ends() {
        let address = started(Limits { patience: Duration::from_millis(50), ..Limits::default() }).await;
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"GET / HTTP/1.1\r\nHost: x").await.unwrap();
        let mut rest = Vec::new();
        let _ = half.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).contains("200"), "{}", String::from_utf8_lossy(&rest));
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_leaves_its_seat() {
        let address = started(Limits { most: 1, stall: Duration::from_millis(50), ..Limits::default() }).await;
        let mut lazy = TcpStream::connect(address).await.unwrap();
        lazy.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut next = TcpStream::connect(address).await.unwrap();
        next.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        next.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("here"), "{answer}");
    }
}
