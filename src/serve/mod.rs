//! The HTTP side: a page about the robots, their assets' files, and events as they happen.
//!
//! It shows what it is told through [`Site`] and reads files inside assets' directories, nothing else. It must not know ROS, nor
//! how an asset comes about.

mod assets;
pub mod codes;
mod events;
mod host;
mod site;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use tokio::net::TcpListener;

use crate::diagnostic::{Diagnostic, Place};
pub use site::{Event, FileView, FrameView, FramesView, RobotState, RobotView, Site};

/// What a page may load: its own files, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A listening socket, not yet served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
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
        let listener = TcpListener::bind(address).await.map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        Ok(Self { listener, address })
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
    ///
    /// # Errors
    /// If the socket fails for good.
    pub async fn serve(self, site: Arc<Site>) -> std::io::Result<()> {
        let hosts = Arc::new(host::Hosts::new(self.address.ip()));
        axum::serve(self.listener, router(site, hosts)).await
    }
}

fn router(site: Arc<Site>, hosts: Arc<host::Hosts>) -> Router {
    Router::new()
        .route("/", get(|| page("text/html; charset=utf-8", include_str!("page/index.html"))))
        .route("/page.css", get(|| page("text/css; charset=utf-8", include_str!("page/page.css"))))
        .route("/page.js", get(|| page("text/javascript; charset=utf-8", include_str!("page/page.js"))))
        .route("/api/robots", get(robots))
        .route("/events", get(events::events))
        .route("/assets/{*path}", get(assets::asset))
        .layer(middleware::map_response(no_sniffing))
        .layer(middleware::from_fn_with_state(hosts, host::check))
        .with_state(site)
}

async fn page(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, media_type), (header::CONTENT_SECURITY_POLICY, POLICY), (header::CACHE_CONTROL, "no-cache")], text)
}

async fn robots(State(site): State<Arc<Site>>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(site.robots()))
}

async fn no_sniffing(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
