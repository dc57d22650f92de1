//! Over a real socket, as a browser would.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{RobotState, RobotView, Server, Site};

/// Any free port.
const ANY: std::net::SocketAddr = std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn robot(key: &str, directory: &Path) -> RobotView {
    RobotView {
        name: key.to_owned(),
        key: key.to_owned(),
        state: RobotState::Ok,
        message: "revision 1".to_owned(),
        revision: Some(1),
        time: 0.0,
        directory: Some(directory.to_owned()),
        files: Vec::new(),
        counts: None,
        diagnostics: Vec::new(),
        frames: None,
    }
}

async fn start(site: Arc<Site>) -> std::net::SocketAddr {
    let server = Server::bind(ANY).await.unwrap();
    let address = server.address();
    tokio::spawn(server.serve(site));
    address
}

async fn get(address: std::net::SocketAddr, path: &str, host: &str) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let split = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, head, answer[split + 4..].to_vec())
}

#[tokio::test]
async fn files_of_assets_are_served_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let arm = folder.path().join("arm");
    fs::create_dir_all(arm.join("textures")).unwrap();
    fs::write(arm.join("arm.glb"), vec![7; 200_000]).unwrap();
    fs::write(arm.join("textures/a b.png"), "png").unwrap();
    fs::write(arm.join(".hidden"), "x").unwrap();
    fs::write(folder.path().join("secret.json"), "x").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret.json"), arm.join("link.json")).unwrap();
    let nested = folder.path().join("sub/dog");
    fs::create_dir_all(&nested).unwrap();
    fs::write(nested.join("dog.usda"), "#usda 1.0").unwrap();
    let site = Arc::new(Site::default());
    site.show(robot("arm", &arm));
    site.show(robot("sub/dog", &nested));
    let address = start(site.clone()).await;

    let (status, head, body) = get(address, "/assets/arm/arm.glb", "localhost").await;
    assert_eq!((status, body.len()), (200, 200_000));
    assert!(head.contains("content-type: model/gltf-binary") && head.contains("content-length: 200000"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    assert_eq!(get(address, "/assets/arm/textures/a%20b.png", "localhost").await.2, b"png");
    let (status, head, _) = get(address, "/assets/sub/dog/dog.usda?x=1", "localhost").await;
    assert!(status == 200 && head.contains("model/vnd.usda"), "{head}");
    for path in [
        "/assets/arm/.hidden",
        "/assets/arm/link.json",
        "/assets/arm/../secret.json",
        "/assets/secret.json",
        "/assets/arm/textures",
        "/assets/arm/",
        "/assets/arm",
        "/assets/other/a",
        "/assets/arm/%2e%2e/secret.json",
    ] {
        assert_eq!(get(address, path, "localhost").await.0, 404, "{path}");
    }
    site.hide("arm");
    assert_eq!(get(address, "/assets/arm/arm.glb", "localhost").await.0, 404);
}

#[tokio::test]
async fn the_page_and_the_robots_are_told_to_our_own_host_only() {
    let site = Arc::new(Site::default());
    site.show(robot("arm", Path::new("/nowhere")));
    let address = start(site).await;
    let (status, head, body) = get(address, "/", &format!("127.0.0.1:{}", address.port())).await;
    assert!(status == 200 && head.contains("text/html") && head.contains("content-security-policy"), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("page.js"));
    assert_eq!(get(address, "/page.js", "localhost").await.0, 200);
    assert_eq!(get(address, "/page.css", "localhost").await.0, 200);
    let (status, _, body) = get(address, "/api/robots", "localhost").await;
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, json[0]["name"].as_str(), json[0]["state"].as_str()), (200, Some("arm"), Some("ok")));
    for host in ["evil.example", "evil.example:80"] {
        assert_eq!(get(address, "/api/robots", host).await.0, 421, "{host}");
    }
}

#[tokio::test]
async fn events_are_told_as_they_happen() {
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut told = false;
    let mut seen = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        // The first event says that the listener is there.
        if line == "event: resync" && !told {
            site.tell("revision", &serde_json::json!({ "robot": "arm" }));
            told = true;
        }
        seen.push(line);
        if seen.iter().any(|line| line.contains("\"arm\"")) {
            break;
        }
    }
    assert!(
        seen.iter().any(|line| line == "event: revision") && seen.iter().any(|line| line == "data: {\"robot\":\"arm\"}"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_parameter() {
    let first = Server::bind(ANY).await.unwrap();
    let port = first.address().port();
    let error = Server::bind(first.address()).await.unwrap_err().to_string();
    assert!(error.contains(&port.to_string()) && error.contains("127.0.0.1") && error.contains("http.port"), "{error}");
    let error = Server::bind("203.0.113.7:8080".parse().unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("203.0.113.7") && error.contains("http.address"), "{error}");
}
