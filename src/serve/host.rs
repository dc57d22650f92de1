//! The Host header: only names that mean this server are answered, so that a page from elsewhere can't reach it by pointing its
//! own name here (DNS rebinding).

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Which hosts are ours.
#[derive(Debug)]
pub(super) struct Hosts {
    configured: String,
    /// Listening on all addresses, we can't tell which of them are ours; an address can't be rebound, though.
    any_address: bool,
}

impl Hosts {
    /// `configured`: the address as it was given; `ip`: what it turned out to be.
    pub(super) fn new(configured: String, ip: IpAddr) -> Self {
        Self { configured, any_address: ip.is_unspecified() }
    }

    fn allow(&self, host: &str) -> bool {
        let name = without_port(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) => self.any_address || ip.is_loopback() || self.configured.parse() == Ok(ip),
            Err(_) => bare.eq_ignore_ascii_case("localhost") || bare.eq_ignore_ascii_case(&self.configured),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    }
}

pub(super) async fn check(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| hosts.allow(host)) {
        return next.run(request).await;
    }
    let text = "This server answers only to its own address: open it as localhost, or as the address in the parameter http_address.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    #[test]
    fn only_our_own_names() {
        let hosts = Hosts::new("192.168.1.5".into(), [192, 168, 1, 5].into());
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "::1", "192.168.1.5:1"] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "192.168.1.6", "localhost.evil.example", "127.0.0.1.evil.example"] {
            assert!(!hosts.allow(host), "{host}");
        }
        let all = Hosts::new("0.0.0.0".into(), [0, 0, 0, 0].into());
        assert!(all.allow("192.168.1.6:8080") && !all.allow("evil.example:8080"));
        assert!(Hosts::new("robot.local".into(), [192, 168, 1, 5].into()).allow("robot.local:8080"));
    }
}
