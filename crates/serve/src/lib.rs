//! The HTTP side: the viewer, the robots and their frames as JSON, their assets' files, events and
//! joint positions as they come.
//!
//! It shows what it is told through [`Site`] and reads files inside assets' directories. The one
//! thing that it changes is an asset's layer of named poses. It must not know ROS, nor how an asset
//! comes about.

mod assets;
pub mod codes;
mod connections;
mod drawings;
mod events;
mod host;
mod joints;
mod media;
mod poses;
mod seats;
mod site;
mod tags;
mod variants;
mod viewer;
mod wanted;
pub mod watch;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

use crate::drawings::Drawings;
pub use assets::is_servable;
use seats::Seats;
pub use site::{
    AssetFrameView, Event, FrameView, FramesView, Presence, RobotState, RobotView, Site,
    TransformView,
};
use tags::Tags;
pub use tags::hash;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_worker::Workers;
use viewer::Page;

/// How many clients may hear joint states at once, and as many events.
const MOST_CLIENTS: usize = 64;
/// How many requests may keep a thread waiting for files at once. Others wait without one, and are
/// forgotten if their client leaves.
const MOST_WORKING: usize = 16;
/// What is smaller than this is not compressed: headers would be most of it.
const SMALL: u64 = 1024;

/// A listening socket, not yet served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    connections: Option<usize>,
    lets_write: bool,
    drawings: Arc<Drawings>,
}

impl Server {
    /// Listens on `address`.
    ///
    /// # Errors
    /// [`codes::ADDRESS`], naming both and the parameters that set them.
    pub async fn bind(address: SocketAddr) -> Result<Self, Diagnostic> {
        let (ip, port) = (address.ip(), address.port());
        let fault = |error: std::io::Error| {
            let (what, help) = match error.kind() {
                std::io::ErrorKind::AddrInUse => (
                    format!("port {port} of {ip} is taken by another program"),
                    "end that program, choose another port (--ros-args -p http.port:=8643), or do without HTTP (http.port:=0)",
                ),
                std::io::ErrorKind::PermissionDenied => (
                    format!("port {port} of {ip} may not be used: {error}"),
                    "choose a port from 1024 on with the parameter http.port, or 0 to do without HTTP",
                ),
                _ => (
                    format!("{ip} port {port} cannot be listened on: {error}"),
                    "give an address of this machine with the parameter http.address: 127.0.0.1, or 0.0.0.0 for all",
                ),
            };
            Diagnostic::new(&codes::ADDRESS, Place::default(), what).help(help)
        };
        let listener = connections::listen(address).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        Ok(Self {
            listener,
            address,
            connections: None,
            lets_write: address.ip().is_loopback(),
            drawings: Arc::default(),
        })
    }

    /// The same with so many connections at once at most: the files that the process may open are
    /// shared with others.
    #[must_use]
    pub fn at_most(self, connections: usize) -> Self {
        Self {
            connections: Some(connections),
            ..self
        }
    }

    /// The same with poses stored and deleted for whoever reaches it, if `allowed`, also where that
    /// is not this machine alone.
    #[must_use]
    pub fn letting_write(self, allowed: bool) -> Self {
        Self {
            lets_write: allowed || self.address.ip().is_loopback(),
            ..self
        }
    }

    /// Renders variants in `workers`, each with a memory limit in MiB, instead of in this process.
    #[must_use]
    pub fn drawing_with(self, workers: Arc<Workers>, memory: Option<u64>) -> Self {
        Self {
            drawings: Arc::new(Drawings::new(workers, memory)),
            ..self
        }
    }

    /// The address and port that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the page, as a person on this machine would open it.
    pub fn url(&self) -> String {
        let ip = self.address.ip();
        if ip.is_unspecified() {
            format!("http://localhost:{}/", self.address.port())
        } else {
            format!("http://{}/", self.address)
        }
    }

    /// Answers requests until the future is dropped.
    pub async fn serve(self, site: Arc<Site>) {
        self.serve_with(site, Page::best()).await;
    }

    async fn serve_with(self, site: Arc<Site>, page: Page) {
        let hosts = Arc::new(host::Hosts::new(self.address.ip()));
        let limits = connections::Limits::of(self.connections);
        let app = App {
            lets_write: self.lets_write,
            drawings: self.drawings,
            ..App::new(site.clone(), page, limits.streams())
        };
        // Where nothing can be watched, requests are answered all the same.
        tokio::join!(
            connections::serve(self.listener, router(app, hosts), limits),
            poses::follow(&site)
        );
    }
}

/// What requests are answered from.
struct App {
    site: Arc<Site>,
    page: Page,
    tags: Tags,
    /// Seats for those who hear events.
    listeners: Seats,
    /// Seats for those who hear joint states.
    watchers: Seats,
    /// Whether poses may be stored and deleted.
    lets_write: bool,
    /// What assets look like in other variants.
    drawings: Arc<Drawings>,
    /// One drawing is made at a time.
    turn: Arc<Semaphore>,
    /// For work on threads that may wait for files.
    working: Arc<Semaphore>,
}

impl App {
    /// `streams`: how many may hear events, and how many joint states.
    fn new(site: Arc<Site>, page: Page, streams: usize) -> Self {
        Self {
            site,
            page,
            tags: Tags::default(),
            listeners: Seats::new(streams),
            watchers: Seats::new(streams),
            lets_write: false,
            drawings: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
            working: Arc::new(Semaphore::new(MOST_WORKING)),
        }
    }

    /// Has work done on a thread that may wait for files. `None` if it failed. What was begun is
    /// finished, whoever waits for it, and is counted until then.
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
        .route("/api/frames/{*key}", get(frames))
        .route(
            "/api/poses/{*key}",
            get(poses::list).post(poses::store).delete(poses::delete),
        )
        .route("/api/variants/{*key}", get(variants::list))
        .route("/variants/{*key}", get(variants::draw))
        .route("/events", get(events::events))
        .route("/joints", get(joints::joints))
        .route("/assets/{*path}", get(assets::asset))
        .layer(compression.compress_when(SizeAbove::new(SMALL).and(is_text)))
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
        None => (StatusCode::NOT_FOUND, "There is no such robot here.\n").into_response(),
    }
}

/// Says what a content is, by which tag it is known, and that it has to be asked for again.
fn tagged(response: &mut Response, media_type: &'static str, tag: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::ETAG, tag);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if media::is_compressed(media_type) {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// A strong tag stands for the very bytes, so what was compressed on the way has a weak one.
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

/// What holds for every answer: it is what it says it is, for pages of this server only, and no
/// page unless it says so.
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
    // Whatever lies in an asset's folder runs nothing and loads nothing.
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(nothing);
    response
}

#[cfg(test)]
mod tests;
