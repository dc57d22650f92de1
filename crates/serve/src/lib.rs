//! The web server: the viewer, robots and frames as JSON, files of assets, events and joint
//! positions.
//!
//! It shows what it receives through [`Site`] and reads files inside assets' directories. It writes
//! an asset's layer of named poses, and robots dropped on the page below a temporary folder. It does
//! not depend on ROS, nor on how robots are converted and rendered.

mod assets;
pub mod codes;
mod connections;
mod events;
mod fleet;
mod host;
mod joints;
mod media;
mod poses;
mod seats;
mod selection;
mod site;
mod tags;
mod uploads;
mod variant_cache;
mod variants;
mod viewer;
pub mod watch;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

use crate::variant_cache::VariantCache;
pub use assets::is_servable;
pub use fleet::Fleet;
pub use joints::{Base, Bases};
use seats::Seats;
pub use site::{
    AssetFrameView, Event, FrameView, FramesView, Presence, RobotState, RobotView, Site,
    TransformView, redact, redact_finding, seconds,
};
use tags::Tags;
pub use tags::hash;
use uploads::Uploads;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_resolve as resolve;
use urdf_usd_worker::{Limits, Workers};
use viewer::Page;
pub use viewer::{element, has_viewer, origin};

/// Maximum number of clients of joint states, and of events.
const MAX_STREAM_CLIENTS: usize = 64;
/// Maximum number of requests that block a thread for files. Others wait asynchronously, and are
/// dropped if their client leaves.
const MAX_BLOCKING_REQUESTS: usize = 16;
/// Number of ports after the requested one that [`Server::bind_near`] tries.
pub const NEXT_PORTS: u16 = 32;
/// Minimum size of a compressed response, in bytes: smaller ones are mostly headers.
const MIN_COMPRESSED_BYTES: u64 = 1024;

/// A listening socket that is not served yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    connections: Option<usize>,
    allows_writing: bool,
    embedders: Vec<String>,
    variant_cache: Arc<VariantCache>,
    uploads: Option<Uploads>,
    fleet: Option<Arc<Fleet>>,
}

impl Server {
    /// Listens on `address`.
    ///
    /// # Errors
    /// Returns [`codes::ADDRESS`], which names the address, the port and their parameters.
    pub async fn bind(address: SocketAddr) -> Result<Self, Diagnostic> {
        connections::listen(address)
            .and_then(Self::new)
            .map_err(|error| refused(address, &error))
    }

    /// Listens on `address`, or on the next free port if another program uses that one.
    ///
    /// # Errors
    /// Like [`Server::bind`], if none of the next [`NEXT_PORTS`] ports is free.
    pub async fn bind_near(address: SocketAddr) -> Result<Self, Diagnostic> {
        let last = address.port().saturating_add(NEXT_PORTS);
        for port in address.port()..=last {
            match connections::listen(SocketAddr::new(address.ip(), port)).and_then(Self::new) {
                Ok(server) => return Ok(server),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused(address, &error)),
            }
        }
        Err(refused(address, &ErrorKind::AddrInUse.into()))
    }

    fn new(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            connections: None,
            allows_writing: address.ip().is_loopback(),
            embedders: Vec::new(),
            variant_cache: Arc::default(),
            uploads: None,
            fleet: None,
        })
    }

    /// Limits the number of connections, each of which takes a file descriptor.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        Self {
            connections: Some(connections),
            ..self
        }
    }

    /// Sets whether clients on other machines may store and delete poses; local clients always may.
    #[must_use]
    pub fn allow_writing(self, allowed: bool) -> Self {
        Self {
            allows_writing: allowed || self.address.ip().is_loopback(),
            ..self
        }
    }

    /// Lets pages of these origins show the viewer in a frame; by default none may.
    #[must_use]
    pub fn embed_in(self, origins: Vec<String>) -> Self {
        Self {
            embedders: origins,
            ..self
        }
    }

    /// Renders variants in `workers`, each with a memory limit in MiB, instead of in this process.
    #[must_use]
    pub fn render_with(self, workers: Arc<Workers>, memory: Option<u64>) -> Self {
        Self {
            variant_cache: Arc::new(VariantCache::new(workers, memory)),
            ..self
        }
    }

    /// Converts robots that are dropped on the page, in `workers` within `limits`. They may use the
    /// packages that `resolve` finds, besides their own.
    #[must_use]
    pub fn convert_uploads(
        self,
        workers: Arc<Workers>,
        resolve: resolve::Options,
        limits: Limits,
    ) -> Self {
        Self {
            uploads: Some(Uploads::new(workers, resolve, limits)),
            ..self
        }
    }

    /// Serves the index of a fleet.
    #[must_use]
    pub fn serve_fleet(self, fleet: Option<Arc<Fleet>>) -> Self {
        Self { fleet, ..self }
    }

    /// Returns the URL of the page for browsers on other machines, or on this one if the address is
    /// one of loopback; `None` if the server listens on all addresses.
    pub fn public_url(&self) -> Option<String> {
        (!self.address.ip().is_unspecified()).then(|| self.url())
    }

    /// Returns the address and port that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the page for a browser on this machine.
    pub fn url(&self) -> String {
        let ip = self.address.ip();
        if ip.is_unspecified() {
            format!("http://localhost:{}/", self.address.port())
        } else {
            format!("http://{}/", self.address)
        }
    }

    /// Serves requests until the future is dropped.
    pub async fn serve(self, site: Arc<Site>) {
        self.serve_with(site, Page::best()).await;
    }

    async fn serve_with(self, site: Arc<Site>, page: Page) {
        let hosts = Arc::new(host::Hosts::new(self.address.ip()));
        let limits =
            connections::Limits::with_max_connections(self.connections).streaming(uploads::PATH);
        let app = App {
            allows_writing: self.allows_writing,
            policy: viewer::policy(&self.embedders),
            variant_cache: self.variant_cache,
            uploads: self.uploads,
            fleet: self.fleet,
            expands_xacro: self.address.ip().is_loopback(),
            ..App::new(site.clone(), page, limits.streams())
        };
        // Serve requests even if files can't be watched.
        tokio::join!(
            connections::serve(self.listener, router(app, hosts), limits),
            poses::follow(&site)
        );
    }
}

/// Returns the diagnostic for an address that cannot be listened on.
fn refused(address: SocketAddr, error: &io::Error) -> Diagnostic {
    let (ip, port) = (address.ip(), address.port());
    let (what, help) = match error.kind() {
        ErrorKind::AddrInUse => (
            format!("port {port} of {ip} is in use by another program"),
            "stop that program, choose another port (--ros-args -p http.port:=8643), or turn HTTP off (http.port:=0)",
        ),
        ErrorKind::PermissionDenied => (
            format!("port {port} of {ip} may not be used: {error}"),
            "set the parameter http.port to 1024 or higher, or to 0 to turn HTTP off",
        ),
        _ => (
            format!("cannot listen on {ip} port {port}: {error}"),
            "set the parameter http.address to an address of this machine: 127.0.0.1, or 0.0.0.0 for all",
        ),
    };
    Diagnostic::new(&codes::ADDRESS, Place::default(), what).help(help)
}

/// The state shared by all requests.
struct App {
    site: Arc<Site>,
    page: Page,
    tags: Tags,
    /// Seats for clients of events.
    listeners: Seats,
    /// Seats for clients of joint states.
    watchers: Seats,
    /// Whether poses may be stored and deleted.
    allows_writing: bool,
    /// Content security policy of the page.
    policy: HeaderValue,
    /// GLBs in other variants.
    variant_cache: Arc<VariantCache>,
    /// Robots dropped on the page; `None` if they are not converted.
    uploads: Option<Uploads>,
    /// The fleet that the index is of.
    fleet: Option<Arc<Fleet>>,
    /// True to expand dropped xacro files, which evaluates expressions in them.
    expands_xacro: bool,
    /// One GLB is rendered at a time.
    turn: Arc<Semaphore>,
    /// Bounds the threads that block on files.
    working: Arc<Semaphore>,
}

impl App {
    /// Creates the state; `streams` is the maximum number of clients of events, and of joint
    /// states.
    fn new(site: Arc<Site>, page: Page, streams: usize) -> Self {
        Self {
            site,
            page,
            tags: Tags::default(),
            listeners: Seats::new(streams, Duration::ZERO),
            watchers: Seats::new(streams, Duration::ZERO),
            allows_writing: false,
            policy: viewer::policy(&[]),
            variant_cache: Arc::default(),
            uploads: None,
            fleet: None,
            expands_xacro: false,
            turn: Arc::new(Semaphore::new(1)),
            working: Arc::new(Semaphore::new(MAX_BLOCKING_REQUESTS)),
        }
    }

    /// Runs work on a thread that may block; `None` if it panicked.
    ///
    /// Work that has started is finished even if the client leaves, and counts until then.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let permit = self.working.clone().acquire_owned().await.ok()?;
        let counted = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(counted).await.ok()
    }
}

fn router(app: App, hosts: Arc<host::Hosts>) -> Router {
    let is_text = |_, _, headers: &axum::http::HeaderMap, _: &_| {
        let media_type = headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        media_type.is_some_and(media::is_compressed)
    };
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    Router::new()
        .route("/", get(viewer::index))
        .route("/viewer/{*path}", get(viewer::file))
        .route("/api/robots", get(robots))
        .route("/api/fleet", get(fleet::index))
        .route("/fleet", get(viewer::fleet))
        .route("/fleet/{*path}", get(viewer::fleet_file))
        .route("/api/frames/{*key}", get(frames))
        .route(
            "/api/poses/{*key}",
            get(poses::list).post(poses::store).delete(poses::delete),
        )
        .route(
            uploads::PATH,
            get(uploads::state)
                .post(uploads::receive)
                .layer(DefaultBodyLimit::disable()),
        )
        .route("/api/variants/{*key}", get(variants::list))
        .route("/variants/{*key}", get(variants::render))
        .route("/events", get(events::events))
        .route("/joints", get(joints::joints))
        .route("/assets/{*path}", get(assets::asset))
        // A layer wraps those before it: `finish` sees compressed responses, and `secure` also
        // those that `host::check` refuses.
        .layer(compression.compress_when(SizeAbove::new(MIN_COMPRESSED_BYTES).and(is_text)))
        .layer(middleware::map_response(finish))
        .layer(middleware::from_fn_with_state(hosts, host::check))
        .layer(middleware::map_response(secure))
        .with_state(Arc::new(app))
}

async fn robots(State(app): State<Arc<App>>) -> impl IntoResponse {
    (
        [(header::CACHE_CONTROL, "no-store")],
        Json(app.site.robots()),
    )
}

async fn frames(State(app): State<Arc<App>>, Path(key): Path<String>) -> Response {
    match app.site.frames(&key) {
        Some(frames) => ([(header::CACHE_CONTROL, "no-store")], Json(frames)).into_response(),
        None => (StatusCode::NOT_FOUND, "No such robot.\n").into_response(),
    }
}

/// Sets the media type and the entity tag of a response, and requires revalidation.
fn tagged(response: &mut Response, media_type: &'static str, tag: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::ETAG, tag);
    // Cached, but revalidated: a file has the same name in every revision.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if media::is_compressed(media_type) {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Weakens the tag of a compressed response: a strong tag identifies the exact bytes (RFC 9110
/// §8.8.1).
async fn finish<B>(mut response: Response<B>) -> Response<B> {
    if response.headers().contains_key(header::CONTENT_ENCODING)
        && let Some(tag) = response
            .headers()
            .get(header::ETAG)
            .and_then(|tag| tag.to_str().ok())
        && !tag.starts_with("W/")
        && let Ok(weak) = HeaderValue::from_str(&format!("W/{tag}"))
    {
        response.headers_mut().insert(header::ETAG, weak);
    }
    response
}

/// Sets the security headers of every response: no content sniffing, no use by other origins, and
/// no scripts unless the response allows them.
async fn secure(mut response: Response<Body>) -> Response<Body> {
    const FIELDS: [(HeaderName, &str); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    let headers = response.headers_mut();
    for (name, value) in FIELDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Files in an asset's folder must not run or load anything.
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(nothing);
    response
}

#[cfg(test)]
mod tests;
