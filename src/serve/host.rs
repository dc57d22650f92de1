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
pub(super) struct Hosts(IpAddr);

impl Hosts {
    /// `ip`: the address that is listened on.
    pub(super) fn new(ip: IpAddr) -> Self {
        Self(ip)
    }

    fn allow(&self, host: &str) -> bool {
        let name = without_port(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // Listening on all addresses, we can't tell which of them are ours; but no one can point an address elsewhere.
            Ok(ip) => self.0.is_unspecified() || ip.is_loopback() || ip == self.0,
            Err(_) => bare.eq_ignore_ascii_case("localhost"),
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
    let text =
        "This server answers only to its own address: open it as localhost, or as the address in the parameter http.address.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    #[test]
    fn only_our_own_names() {
        let hosts = Hosts::new([192, 168, 1, 5].into());
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "::1", "192.168.1.5:1"] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:8080", "192.168.1.6", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert!(!hosts.allow(host), "{host}");
        }
        let all = Hosts::new([0, 0, 0, 0].into());
        assert!(all.allow("192.168.1.6:8080") && !all.allow("evil.example:8080"));
    }
}
