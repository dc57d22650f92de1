//! Checks of the Host and Origin headers.
//!
//! Only requests to a name of this server are answered, so that a page from elsewhere can't reach
//! it by DNS rebinding. The origin is checked where browsers leave that to the server.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The host names of this server.
#[derive(Debug)]
pub(super) struct Hosts(IpAddr);

impl Hosts {
    /// Creates the set for a server that listens on `ip`.
    pub(super) fn new(ip: IpAddr) -> Self {
        Self(ip)
    }

    fn allow(&self, host: &str) -> bool {
        let name = without_port(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // Listening on all addresses, we can't tell which of them are ours; but an IP address
            // can't be rebound by DNS.
            Ok(ip) => self.0.is_unspecified() || ip.is_loopback() || ip == self.0,
            Err(_) => bare.eq_ignore_ascii_case("localhost"),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

pub(super) async fn check(
    State(hosts): State<Arc<Hosts>>,
    request: Request,
    next: Next,
) -> Response {
    if host(request.headers()).is_some_and(|host| hosts.allow(host)) {
        return next.run(request).await;
    }
    let text = "This server answers only to its own address: open it as localhost, or as this machine's IP address.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

/// Returns the host that a request names; `None` if it names several.
fn host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// Returns whether a request comes from a page of this server, or from no page: programs other than
/// browsers send no origin.
pub(super) fn is_own_page(headers: &HeaderMap) -> bool {
    // Current browsers send both Origin and Sec-Fetch-Site, older ones only Origin.
    let same = |site: &header::HeaderValue| site == "same-origin" || site == "none";
    is_own_origin(headers) && headers.get("sec-fetch-site").is_none_or(same)
}

/// As [`is_own_page`], for requests without Sec-Fetch-Site.
pub(super) fn is_own_origin(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return true;
    };
    let origin = origin.to_str().unwrap_or_default();
    let name = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    origins.next().is_none()
        && name
            .zip(host(headers))
            .is_some_and(|(name, host)| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::{Hosts, is_own_origin};
    use axum::http::{HeaderMap, header};

    #[test]
    fn only_our_own_names() {
        let hosts = Hosts::new([192, 168, 1, 5].into());
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "[::1]",
            "::1",
            "192.168.1.5:1",
        ] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8080",
            "192.168.1.6",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
        let all = Hosts::new([0, 0, 0, 0].into());
        assert!(all.allow("192.168.1.6:8080") && !all.allow("evil.example:8080"));
    }

    #[test]
    fn other_origins_are_recognised() {
        let own = |origins: &[&'static str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost:8642".parse().unwrap());
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            is_own_origin(&headers)
        };
        assert!(own(&[]) && own(&["http://localhost:8642"]) && own(&["https://LOCALHOST:8642"]));
        for origin in [
            "http://localhost:8643",
            "http://localhost",
            "http://evil.example",
            "null",
            "",
            "file://localhost:8642",
        ] {
            assert!(!own(&[origin]), "{origin}");
        }
        assert!(!own(&["http://localhost:8642", "http://evil.example"]));
    }
}
