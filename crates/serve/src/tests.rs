//! Requests over a real socket, as from a browser.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::viewer::Page;
use super::{
    AssetFrameView, MAX_STREAM_CLIENTS, NEXT_PORTS, RobotState, RobotView, Server, Site,
    TransformView, codes,
};
use urdf_usd_convert::FileInfo;
use urdf_usd_resolve as resolve;
use urdf_usd_worker::{Limits, Workers};

/// Any free port.
const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(crate) fn robot(key: &str, directory: &Path) -> RobotView {
    RobotView {
        name: key.to_owned(),
        key: key.to_owned(),
        state: RobotState::Ok,
        message: "revision 1".to_owned(),
        is_outdated: false,
        sha256: None,
        revision: Some(1),
        time: 0.0,
        directory: Some(directory.to_owned()),
        files: Vec::new(),
        counts: None,
        diagnostics: Vec::new(),
        frames: None,
        namespace: "/".to_owned(),
        presence: super::Presence::Live,
        only_listed: false,
    }
}

async fn start(site: Arc<Site>) -> SocketAddr {
    start_with(site, Page::best()).await
}

async fn start_with(site: Arc<Site>, page: Page) -> SocketAddr {
    let server = Server::bind(ANY).await.unwrap();
    let address = server.address();
    tokio::spawn(server.serve_with(site, page));
    address
}

/// A response: status, head in lower case, body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

async fn ask(address: SocketAddr, method: &str, path: &str, fields: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let host = if fields.contains("Host:") {
        ""
    } else {
        "Host: localhost\r\n"
    };
    stream
        .write_all(
            format!("{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{fields}\r\n")
                .as_bytes(),
        )
        .await
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let split = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head,
        body: answer[split + 4..].to_vec(),
    }
}

async fn get(address: SocketAddr, path: &str, host: &str) -> (u16, String, Vec<u8>) {
    let answer = ask(address, "GET", path, &format!("Host: {host}\r\n")).await;
    (answer.status, answer.head, answer.body)
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .expect("in time")
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
    site.show(robot("arm", &arm), Vec::new());
    site.show(robot("sub/dog", &nested), Vec::new());
    let address = start(site.clone()).await;

    let (status, head, body) = get(address, "/assets/arm/arm.glb", "localhost").await;
    assert_eq!((status, body.len()), (200, 200_000));
    assert!(
        head.contains("content-type: model/gltf-binary") && head.contains("content-length: 200000"),
        "{head}"
    );
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    assert_eq!(
        get(address, "/assets/arm/textures/a%20b.png", "localhost")
            .await
            .2,
        b"png"
    );
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
    assert_eq!(
        get(address, "/assets/arm/arm.glb", "localhost").await.0,
        404
    );
}

/// Returns a site with the robot `arm`, whose listed file `arm.glb` holds the bytes 0 … 9.
fn arm(folder: &Path) -> Arc<Site> {
    fs::write(folder.join("arm.glb"), (0..10).collect::<Vec<u8>>()).unwrap();
    fs::write(folder.join("arm.usda"), "#usda 1.0\n".repeat(1000)).unwrap();
    let site = Arc::new(Site::default());
    let file = FileInfo {
        path: "arm.glb".to_owned(),
        bytes: 10,
        sha256: String::new(),
    };
    site.show(
        RobotView {
            files: vec![file],
            ..robot("arm", folder)
        },
        Vec::new(),
    );
    site
}

#[tokio::test]
async fn cached_content_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let site = arm(folder.path());
    let address = start(site).await;
    let first = ask(address, "GET", "/assets/arm/arm.glb", "").await;
    let tag = first.field("etag").unwrap().to_owned();
    // SHA-256 of the bytes 0 … 9.
    assert_eq!(
        tag,
        "\"1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3\""
    );
    assert_eq!(
        (first.field("cache-control"), first.field("accept-ranges")),
        (Some("no-cache"), Some("bytes"))
    );
    let again = ask(
        address,
        "GET",
        "/assets/arm/arm.glb",
        &format!("If-None-Match: {tag}\r\n"),
    )
    .await;
    assert_eq!(
        (again.status, again.body.len(), again.field("etag")),
        (304, 0, Some(tag.as_str()))
    );
    // Replace the content under the same name, as a new revision does.
    fs::write(folder.path().join("next"), [9; 10]).unwrap();
    fs::rename(folder.path().join("next"), folder.path().join("arm.glb")).unwrap();
    let changed = ask(
        address,
        "GET",
        "/assets/arm/arm.glb",
        &format!("If-None-Match: {tag}\r\n"),
    )
    .await;
    assert_eq!((changed.status, changed.body), (200, vec![9; 10]));
    let late = ask(
        address,
        "GET",
        "/assets/arm/arm.glb",
        &format!("Range: bytes=5-\r\nIf-Range: {tag}\r\n"),
    )
    .await;
    assert_eq!((late.status, late.body), (200, vec![9; 10]));
}

#[tokio::test]
async fn parts_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let address = start(arm(folder.path())).await;
    let path = "/assets/arm/arm.glb";
    for (range, status, content_range, body) in [
        ("bytes=2-4", 206, Some("bytes 2-4/10"), &[2, 3, 4][..]),
        ("bytes=8-", 206, Some("bytes 8-9/10"), &[8, 9]),
        ("bytes=-1", 206, Some("bytes 9-9/10"), &[9]),
        ("bytes=10-", 416, Some("bytes */10"), &[]),
        ("bytes=0-0,2-2", 200, None, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ] {
        let answer = ask(
            address,
            "GET",
            path,
            &format!("Range: {range}\r\nAccept-Encoding: gzip\r\n"),
        )
        .await;
        assert_eq!(
            (
                answer.status,
                answer.field("content-range"),
                &answer.body[..]
            ),
            (status, content_range, body),
            "{range}"
        );
        assert_eq!(
            answer.field("content-length"),
            Some(body.len().to_string().as_str()),
            "{range}"
        );
    }
    let tag = ask(address, "HEAD", path, "")
        .await
        .field("etag")
        .unwrap()
        .to_owned();
    let rest = ask(
        address,
        "GET",
        path,
        &format!("Range: bytes=7-\r\nIf-Range: {tag}\r\n"),
    )
    .await;
    assert_eq!((rest.status, &rest.body[..]), (206, &[7, 8, 9][..]));
    let head = ask(address, "HEAD", path, "Range: bytes=2-4\r\n").await;
    assert_eq!(
        (head.status, head.field("content-length"), head.body.len()),
        (200, Some("10"), 0)
    );
    // Ranges refer to the file, so they are never compressed.
    let part = ask(
        address,
        "GET",
        "/assets/arm/arm.usda",
        "Range: bytes=0-4999\r\nAccept-Encoding: gzip\r\n",
    )
    .await;
    assert_eq!(
        (part.status, part.field("content-encoding"), part.body.len()),
        (206, None, 5000)
    );
    assert_eq!(
        ask(address, "POST", path, "Content-Length: 0\r\n")
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn text_is_compressed_for_those_who_take_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.json"), "{}").unwrap();
    fs::write(folder.path().join("big.png"), vec![0; 5000]).unwrap();
    let address = start(arm(folder.path())).await;
    let gzip = "Accept-Encoding: gzip, br\r\n";
    let plain = ask(address, "GET", "/assets/arm/arm.usda", "").await;
    let small = ask(address, "GET", "/assets/arm/arm.usda", gzip).await;
    assert_eq!(
        (
            plain.field("content-encoding"),
            small.field("content-encoding")
        ),
        (None, Some("gzip"))
    );
    assert_eq!(
        (plain.field("vary"), small.field("vary")),
        (Some("accept-encoding"), Some("accept-encoding"))
    );
    assert!(
        plain.body.len() == 10_000
            && small.body.len() < 1000
            && small.field("content-length").is_none()
    );
    let (strong, weak) = (plain.field("etag").unwrap(), small.field("etag").unwrap());
    assert_eq!(weak, format!("w/{strong}"));
    for tag in [strong.to_owned(), weak.replace("w/", "W/")] {
        let known = ask(
            address,
            "GET",
            "/assets/arm/arm.usda",
            &format!("{gzip}If-None-Match: {tag}\r\n"),
        )
        .await;
        assert_eq!((known.status, known.body.len()), (304, 0), "{tag}");
        assert_eq!(
            (known.field("etag"), known.field("vary")),
            (Some(tag.to_lowercase().as_str()), Some("accept-encoding"))
        );
    }
    for path in ["arm.glb", "small.json", "big.png"] {
        let answer = ask(address, "GET", &format!("/assets/arm/{path}"), gzip).await;
        assert_eq!(
            (answer.status, answer.field("content-encoding")),
            (200, None),
            "{path}"
        );
    }
}

#[tokio::test]
async fn nothing_outside_an_asset_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("arm");
    fs::create_dir_all(inside.join(".git")).unwrap();
    fs::write(inside.join(".git/config"), "x").unwrap();
    fs::write(folder.path().join("secret"), "x").unwrap();
    for (link, target) in [
        ("hidden.txt", inside.join(".git/config")),
        ("up", folder.path().to_owned()),
        ("passwd", "/etc/passwd".into()),
    ] {
        std::os::unix::fs::symlink(target, inside.join(link)).unwrap();
    }
    std::os::unix::fs::symlink("arm.glb", inside.join("same.glb")).unwrap();
    let site = arm(&inside);
    // A robot of which only the listed files may be served.
    let file = FileInfo {
        path: "arm.glb".to_owned(),
        bytes: 10,
        sha256: String::new(),
    };
    site.show(
        RobotView {
            files: vec![file],
            only_listed: true,
            ..robot("alone", &inside)
        },
        Vec::new(),
    );
    let address = start(site).await;
    for path in [
        "arm/hidden.txt",
        "arm/up/secret",
        "arm/passwd",
        "arm/../secret",
        "arm/%2e%2e/secret",
        "arm/%2E%2E%2Fsecret",
        "arm/..%2fsecret",
        "arm/..;/secret",
        "arm/%252e%252e/secret",
        "arm/..%c0%afsecret",
        "arm//etc/passwd",
        "arm/%2fetc%2fpasswd",
        "arm/.git/config",
        "arm/%2egit/config",
        "arm/arm.glb/",
        "arm/arm.glb%00.png",
        "../arm/arm.glb",
        "%2e%2e/secret",
        "alone/arm.usda",
        "alone/same.glb",
    ] {
        let answer = ask(address, "GET", &format!("/assets/{path}"), "").await;
        assert!(
            answer.status == 404 && !answer.body.contains(&b'x'),
            "{path}: {}",
            answer.head
        );
    }
    for path in [
        "arm/same.glb",
        "arm/arm.glb",
        "alone/arm.glb",
        "arm/%61rm.glb",
    ] {
        assert_eq!(
            ask(address, "GET", &format!("/assets/{path}"), "")
                .await
                .status,
            200,
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_requests_to_the_own_host_are_served() {
    let site = Arc::new(Site::default());
    site.show(robot("arm", Path::new("/nowhere")), Vec::new());
    let address = start_with(site, Page::Plain).await;
    let (status, head, body) = get(address, "/", &format!("127.0.0.1:{}", address.port())).await;
    assert!(
        status == 200
            && head.contains("text/html")
            && head.contains("script-src 'self' 'wasm-unsafe-eval'"),
        "{head}"
    );
    let text = String::from_utf8_lossy(&body);
    assert!(
        text.contains("viewer/page.js") && text.contains("Node.js 20"),
        "{text}"
    );
    let script = ask(address, "GET", "/viewer/page.js", "").await;
    assert_eq!(
        (script.status, script.field("content-type")),
        (200, Some("text/javascript; charset=utf-8"))
    );
    let known = format!("If-None-Match: {}\r\n", script.field("etag").unwrap());
    assert_eq!(
        ask(address, "GET", "/viewer/page.js", &known).await.status,
        304
    );
    for path in [
        "/viewer/../Cargo.toml",
        "/viewer/nothing",
        "/viewer/",
        "/page.js",
    ] {
        assert_eq!(ask(address, "GET", path, "").await.status, 404, "{path}");
    }
    let answer = ask(address, "GET", "/api/robots", "").await;
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (
            answer.status,
            json[0]["name"].as_str(),
            json[0]["state"].as_str()
        ),
        (200, Some("arm"), Some("ok"))
    );
    for (field, value) in [
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'; sandbox",
        ),
    ] {
        assert_eq!(answer.field(field), Some(value));
    }
    for path in [
        "/",
        "/api/robots",
        "/api/frames/arm",
        "/viewer/page.js",
        "/events",
        "/joints",
        "/assets/arm/a",
        "/nowhere",
    ] {
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost\r\nHost: evil.example",
        ] {
            assert_eq!(get(address, path, host).await.0, 421, "{path} {host}");
        }
    }
}

#[tokio::test]
async fn frames_have_verdicts_and_the_live_tree() {
    let site = Arc::new(Site::default());
    let frame = |name: &str, parent: Option<&str>, verdict| AssetFrameView {
        name: name.to_owned(),
        alias: (name == "arm").then(|| "left arm".to_owned()),
        parent: parent.map(str::to_owned),
        is_static: true,
        verdict,
        detail: String::new(),
    };
    let frames = vec![
        frame("base", None, Some("ok")),
        frame("arm", Some("base"), None),
    ];
    site.show(robot("fleet/größe 1", Path::new("/nowhere")), frames);
    let address = start(site.clone()).await;
    let path = "/api/frames/fleet/gr%C3%B6%C3%9Fe%201";
    let tell = async || {
        serde_json::from_slice::<serde_json::Value>(&ask(address, "GET", path, "").await.body)
            .unwrap()
    };
    let shown = tell().await;
    assert_eq!(
        shown["frames"],
        serde_json::json!([
            { "name": "base", "alias": null, "parent": null, "static": true, "verdict": "ok", "detail": "" },
            { "name": "arm", "alias": "left arm", "parent": "base", "static": true, "verdict": null, "detail": "" },
        ])
    );
    assert_eq!(shown["tf"], serde_json::json!([]));
    site.set_transforms_source(|_| {
        vec![TransformView {
            frame: "arm".to_owned(),
            parent: "base".to_owned(),
            is_static: false,
            age: 0.5,
        }]
    });
    let tf = serde_json::json!([{ "frame": "arm", "parent": "base", "static": false, "age": 0.5 }]);
    assert_eq!(tell().await["tf"], tf);
    assert_eq!(
        ask(address, "GET", "/api/frames/fleet", "").await.status,
        404
    );
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>;

async fn joints(address: SocketAddr) -> Socket {
    tokio_tungstenite::connect_async(format!("ws://{address}/joints"))
        .await
        .unwrap()
        .0
}

/// Returns the next state; pings are answered meanwhile.
async fn state(socket: &mut Socket) -> serde_json::Value {
    loop {
        match within(socket.next()).await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn poses_of_roots_are_sent_with_joint_states() {
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let mut client = joints(address).await;
    let before = state(&mut client).await;
    let base = super::Base {
        frame: "odom".to_owned(),
        pose: [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    };
    let bases = BTreeMap::from([("base_link".to_owned(), vec![base])]);
    site.update_bases(None, bases.clone());
    // The same poses are not sent again.
    site.update_bases(None, bases);
    let sent = state(&mut client).await;
    assert_eq!(before["bases"], serde_json::Value::Null);
    assert_eq!(
        sent["bases"],
        serde_json::json!({ "base_link": [{ "frame": "odom", "pose": [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0] }] })
    );
    site.update_joints(None, 1.0, [("hip", 0.5)].into_iter());
    let sent = state(&mut client).await;
    assert_eq!(
        (
            &sent["positions"]["hip"],
            &sent["bases"]["base_link"][0]["frame"]
        ),
        (&0.5.into(), &"odom".into())
    );
}

#[tokio::test]
async fn joint_states_are_sent_unchanged() {
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let mut early = joints(address).await;
    assert_eq!(
        state(&mut early).await,
        serde_json::json!({ "robot": null, "live": false, "stamp": 0.0, "positions": {} })
    );
    site.update_joints(
        None,
        12.5,
        [("hüfte", 0.25), ("knee", f64::NAN)].into_iter(),
    );
    let expected = serde_json::json!({ "robot": null, "live": true, "stamp": 12.5, "positions": { "hüfte": 0.25 } });
    assert_eq!(state(&mut early).await, expected);
    // A later client gets the last state at once.
    let mut late = joints(address).await;
    assert_eq!(state(&mut late).await, expected);
    site.update_joints(None, 13.0, [("knee", -1.0)].into_iter());
    let expected = serde_json::json!({ "hüfte": 0.25, "knee": -1.0 });
    assert_eq!(
        (
            &state(&mut early).await["positions"],
            &state(&mut late).await["positions"]
        ),
        (&expected, &expected)
    );
    site.stop_joints(None);
    let last = state(&mut early).await;
    assert_eq!(
        (&last["live"], &last["positions"]),
        (&false.into(), &expected)
    );
}

#[tokio::test]
async fn a_slow_client_gets_the_newest_state_and_blocks_no_one() {
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let (mut slow, mut quick) = (joints(address).await, joints(address).await);
    let mut seen = 0;
    for n in 0..100 {
        // Never waits, however slow the client.
        site.update_joints(None, f64::from(n), [("hip", f64::from(n))].into_iter());
        while state(&mut quick).await["stamp"] != f64::from(n) {}
        seen += 1;
    }
    assert_eq!(seen, 100);
    let mut stamps = Vec::new();
    while stamps.last() != Some(&99.0) {
        stamps.push(state(&mut slow).await["stamp"].as_f64().unwrap());
    }
    // A few were in flight before it was known to be slow; between those and the newest there are
    // none.
    assert!(stamps.len() <= 5 && stamps.is_sorted(), "{stamps:?}");
}

#[tokio::test]
async fn pages_from_elsewhere_get_no_joint_states() {
    let address = start(Arc::new(Site::default())).await;
    let attempt = async |field: &'static str, value: String| {
        let mut request = format!("ws://{address}/joints")
            .into_client_request()
            .unwrap();
        request.headers_mut().insert(field, value.parse().unwrap());
        match tokio_tungstenite::connect_async(request).await {
            Ok(_) => 101,
            Err(Error::Http(answer)) => answer.status().as_u16(),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(attempt("origin", format!("http://{address}")).await, 101);
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null"] {
        assert_eq!(attempt("origin", origin.to_owned()).await, 403, "{origin}");
    }
    assert_eq!(attempt("host", "evil.example".to_owned()).await, 421);
    // Not a WebSocket.
    assert_eq!(ask(address, "GET", "/joints", "").await.status, 400);
}

#[tokio::test]
async fn client_messages_are_bounded_and_ignored() {
    use futures::SinkExt;
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let mut socket = joints(address).await;
    state(&mut socket).await;
    socket
        .send(Message::text("{\"positions\":{\"hip\":9}}"))
        .await
        .unwrap();
    site.update_joints(None, 1.0, [("hip", 0.5)].into_iter());
    assert_eq!(state(&mut socket).await["positions"]["hip"], 0.5);
    socket
        .send(Message::binary(vec![0; 100_000]))
        .await
        .unwrap();
    // The server ends it; the client may notice in several ways.
    let ended = async {
        while let Some(Ok(message)) = socket.next().await
            && !message.is_close()
        {}
    };
    within(ended).await;
}

#[tokio::test]
async fn one_client_too_many_takes_the_place_of_the_first() {
    let address = start(Arc::new(Site::default())).await;
    let mut sockets = Vec::new();
    for _ in 0..=MAX_STREAM_CLIENTS {
        sockets.push(joints(address).await);
    }
    within(async { while let Some(Ok(_)) = sockets[0].next().await {} }).await;
    state(sockets.last_mut().unwrap()).await;

    let mut streams = Vec::new();
    for _ in 0..=MAX_STREAM_CLIENTS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(
            lines.next_line().await.unwrap().as_deref(),
            Some("HTTP/1.1 200 OK")
        );
        streams.push(lines);
    }
    within(async { while let Ok(Some(_)) = streams[0].next_line().await {} }).await;
    let (status, _, _) = get(address, "/api/robots", "localhost").await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn events_are_sent_as_they_happen() {
    let site = Arc::new(Site::default());
    let address = start(site.clone()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut is_connected = false;
    let mut seen = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        // The first event proves that the listener is connected.
        if line == "event: resync" && !is_connected {
            site.publish("revision", &serde_json::json!({ "robot": "arm" }));
            is_connected = true;
        }
        seen.push(line);
        if seen.iter().any(|line| line.contains("\"arm\"")) {
            break;
        }
    }
    assert!(
        seen.iter().any(|line| line == "event: revision")
            && seen.iter().any(|line| line == "data: {\"robot\":\"arm\"}"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_parameter() {
    let first = Server::bind(ANY).await.unwrap();
    let port = first.address().port();
    let error = Server::bind(first.address()).await.unwrap_err().to_string();
    assert!(
        error.contains(&port.to_string())
            && error.contains("127.0.0.1")
            && error.contains("http.port"),
        "{error}"
    );
    let error = Server::bind("203.0.113.7:8080".parse().unwrap())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("203.0.113.7") && error.contains("http.address"),
        "{error}"
    );
}

#[tokio::test]
async fn the_next_free_port_is_found() {
    let first = Server::bind(ANY).await.unwrap();
    let second = Server::bind_near(first.address()).await.unwrap();
    let moved = second.address().port() - first.address().port();
    assert!((1..=NEXT_PORTS).contains(&moved), "{moved}");
    // Another port does not help on an address of another machine.
    let foreign = Server::bind_near("203.0.113.7:8080".parse().unwrap()).await;
    assert_eq!(foreign.unwrap_err().code, codes::ADDRESS.id);
}

/// Returns a site with a converted arm, and its entry.
fn converted(folder: &Path) -> (Arc<Site>, std::path::PathBuf) {
    use urdf_usd_convert::{Context, Job, Source, convert};
    let text = "<robot name='arm'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' \
                ixz='0' iyz='0'/></inertial></link><joint name='j' type='revolute'><parent link='a'/><child link='b'/>\
                <limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>";
    let source = Source::Text {
        text: text.into(),
        file: None,
    };
    let report = convert(&Job::new(source, folder), &Context::default()).unwrap();
    let site = Arc::new(Site::default());
    site.show(
        RobotView {
            files: report.files.clone(),
            ..robot("arm", &report.directory)
        },
        Vec::new(),
    );
    (site, report.directory)
}

/// Sends a request with a body; returns the status and the response.
async fn change(
    address: SocketAddr,
    method: &str,
    path: &str,
    fields: &str,
    body: &str,
) -> (u16, serde_json::Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

const JSON: &str = "Content-Type: application/json\r\n";

#[tokio::test]
async fn poses_are_stored_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (site, directory) = converted(folder.path());
    let address = start(site).await;
    let poses = async || {
        serde_json::from_slice::<serde_json::Value>(
            &get(address, "/api/poses/arm", "localhost").await.2,
        )
        .unwrap()
    };
    assert_eq!(
        poses().await,
        serde_json::json!({ "poses": [], "locked": null })
    );
    let own = format!("{JSON}Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n");
    let body = r#"{"name": "up", "joints": {"j": 0.5}}"#;
    let (status, stored) = change(address, "POST", "/api/poses/arm", &own, body).await;
    assert_eq!(
        (status, &stored["name"], &stored["valid"]),
        (200, &"up".into(), &true.into())
    );
    let at = poses().await["poses"][0]["joints"]["j"].as_f64().unwrap();
    assert!((at - 0.5).abs() < 1e-6, "{at}");
    assert!(directory.join("arm.poses.usda").is_file());
    // An invalid pose is rejected with the field that is wrong, if it is one.
    for (body, status, field) in [
        (r#"{"name": " ", "joints": {"j": 0}}"#, 422, Some("name")),
        (r#"{"name": "a", "joints": {"k": 0}}"#, 422, None),
        (r#"{"name": "a", "joints": {}}"#, 422, None),
        (r#"{"name": "a", "joints": {"j": "x"}}"#, 400, None),
        (
            r#"{"name": "a", "file": "/etc/passwd", "joints": {"j": 0}}"#,
            400,
            None,
        ),
    ] {
        let (got, answer) = change(address, "POST", "/api/poses/arm", &own, body).await;
        assert_eq!(
            (got, answer["field"].as_str()),
            (status, field),
            "{body}: {answer}"
        );
        assert!(answer["message"].as_str().unwrap().len() > 10, "{answer}");
    }
    assert_eq!(
        change(address, "POST", "/api/poses/other", &own, body)
            .await
            .0,
        404
    );
    assert_eq!(
        change(
            address,
            "DELETE",
            "/api/poses/arm",
            &own,
            r#"{"name": "up"}"#
        )
        .await
        .0,
        200
    );
    assert_eq!(poses().await["poses"], serde_json::json!([]));
    assert_eq!(
        change(
            address,
            "DELETE",
            "/api/poses/arm",
            &own,
            r#"{"name": "up"}"#
        )
        .await
        .0,
        422
    );
}

/// Changes through this server, a service, and the command line.
#[tokio::test]
async fn every_change_of_poses_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (site, directory) = converted(folder.path());
    let mut events = site.events();
    let address = start(site).await;
    let mut await_event = async || {
        let event = within(events.recv()).await.unwrap();
        assert_eq!(
            (event.kind, &*event.data),
            ("poses", r#"{"key":"arm","robot":"arm"}"#)
        );
        // One change may be reported twice.
        tokio::time::sleep(Duration::from_millis(600)).await;
        while events.try_recv().is_ok() {}
    };
    // Once, since they may have changed before the watch started.
    await_event().await;
    let body = r#"{"name": "up", "joints": {"j": 0.5}}"#;
    assert_eq!(
        change(address, "POST", "/api/poses/arm", JSON, body)
            .await
            .0,
        200
    );
    await_event().await;
    let entry = directory.join("arm.usda");
    let at = |poses: &urdf_usd_isaac::poses::Poses<'_>| {
        Ok(BTreeMap::from([(poses.joint("j").unwrap(), vec![0.25])]))
    };
    urdf_usd_isaac::poses::stored::store(&entry, "down", None, at).unwrap();
    await_event().await;
    urdf_usd_isaac::poses::stored::delete(&entry, "up", None).unwrap();
    await_event().await;
}

#[tokio::test]
async fn other_origins_cannot_change_poses() {
    let folder = tempfile::tempdir().unwrap();
    let (site, directory) = converted(folder.path());
    let address = start(site.clone()).await;
    let body = r#"{"name": "up", "joints": {"j": 0.5}}"#;
    let own = format!("Origin: http://{address}\r\n");
    for (fields, status) in [
        (format!("{JSON}Origin: http://evil.example\r\n"), 403),
        (format!("{JSON}Origin: null\r\n"), 403),
        (format!("{JSON}{own}Sec-Fetch-Site: cross-site\r\n"), 403),
        // A request that a form can send without a preflight.
        (format!("Content-Type: text/plain\r\n{own}"), 415),
        (own.clone(), 415),
    ] {
        for method in ["POST", "DELETE"] {
            assert_eq!(
                change(address, method, "/api/poses/arm", &fields, body)
                    .await
                    .0,
                status,
                "{fields}"
            );
        }
    }
    // A preflight gets no permission.
    let asked = "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    assert!(
        !ask(address, "OPTIONS", "/api/poses/arm", asked)
            .await
            .head
            .contains("access-control-allow")
    );
    // A server that other machines can reach needs permission for changes.
    for (allowed, status) in [(false, 403), (true, 200)] {
        let server = Server::bind("0.0.0.0:0".parse().unwrap())
            .await
            .unwrap()
            .allow_writing(allowed);
        let port = server.address().port();
        tokio::spawn(server.serve_with(site.clone(), Page::best()));
        let address = SocketAddr::new(ANY.ip(), port);
        let listed = get(address, "/api/poses/arm", "localhost").await.2;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        assert_eq!(listed["locked"].is_null(), allowed, "{listed}");
        assert_eq!(
            change(address, "POST", "/api/poses/arm", JSON, body)
                .await
                .0,
            status
        );
        assert_eq!(directory.join("arm.poses.usda").exists(), allowed);
    }
}

#[tokio::test]
async fn an_asset_without_usd_has_no_place_for_poses() {
    let folder = tempfile::tempdir().unwrap();
    let address = start(arm(folder.path())).await;
    let body: serde_json::Value =
        serde_json::from_slice(&get(address, "/api/poses/arm", "localhost").await.2).unwrap();
    assert!(
        body["locked"].as_str().unwrap().contains("OpenUSD"),
        "{body}"
    );
    assert_eq!(
        change(
            address,
            "POST",
            "/api/poses/arm",
            JSON,
            r#"{"name": "a", "joints": {"j": 0}}"#
        )
        .await
        .0,
        409
    );
}

/// Sends files as a form, and returns the response.
async fn send(address: SocketAddr, query: &str, fields: &str, files: &[(&str, &str)]) -> Answer {
    let part = |(path, text): &(&str, &str)| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{path}\"\r\n\r\n{text}\r\n"
        )
    };
    let body: String = files.iter().map(part).collect();
    let fields = format!(
        "{fields}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n",
        body.len() + 5
    );
    let fields = format!("{fields}\r\n{body}--x--");
    ask(address, "POST", &format!("/api/uploads{query}"), &fields).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_robots_are_converted_for_pages_of_this_server() {
    const ROBOT: &str = r#"<robot name="NAME"><link name="a"/></robot>"#;
    let site = Arc::new(Site::default());
    let server = Server::bind(ANY).await.unwrap().convert_uploads(
        Arc::new(Workers::here()),
        resolve::Options::default(),
        Limits::default(),
    );
    let address = server.address();
    tokio::spawn(server.serve(site.clone()));
    let text = |answer: &Answer| String::from_utf8_lossy(&answer.body).into_owned();
    let state = ask(address, "GET", "/api/uploads", "").await;
    assert_eq!(
        (state.status, text(&state).as_str()),
        (200, r#"{"locked":null}"#)
    );

    let made = send(address, "", "", &[("arm/urdf/arm.urdf", ROBOT)]).await;
    assert!(
        made.status == 200 && text(&made).contains("dropped-files/NAME"),
        "{}",
        text(&made)
    );
    let shown = site.robot("dropped-files/NAME").unwrap();
    assert!(
        shown
            .directory
            .as_deref()
            .unwrap()
            .join("NAME.usda")
            .is_file()
    );

    // A broken edit of the file with the robot's name keeps the asset, with the errors.
    let edit = [("NAME.urdf", r#"<robot name="NAME">"#)];
    let broken = send(address, "?file=NAME.urdf", "", &edit).await;
    assert!(
        broken.status == 200 && text(&broken).contains(r#""state":"error""#),
        "{}",
        text(&broken)
    );
    let outdated = site.robot("dropped-files/NAME").unwrap();
    assert!(outdated.is_outdated && outdated.revision == Some(1));
    assert!(!outdated.diagnostics.is_empty());
    let kept = outdated.directory.as_deref().unwrap();
    assert!(kept.join("NAME.usda").is_file());

    // Several robots, and the choice of one.
    let two = [("a.urdf", ROBOT), ("b/b.urdf", ROBOT)];
    let several = send(address, "", "", &two).await;
    assert_eq!(several.status, 409);
    assert!(
        text(&several).contains(r#""files":["a.urdf","b/b.urdf"]"#),
        "{}",
        text(&several)
    );
    assert_eq!(
        send(address, "?file=b%2Fb.urdf", "", &two).await.status,
        200
    );
    assert_eq!(site.robot("dropped-files/NAME").unwrap().revision, Some(2));
    assert!(
        !shown.directory.as_deref().unwrap().exists(),
        "the replaced asset stays on disk"
    );

    let deep = format!("{}a.urdf", "d/".repeat(32));
    for (query, fields, files, status, said) in [
        (
            "",
            "Origin: http://evil.example\r\n",
            &two[..1],
            403,
            "Only pages of this server",
        ),
        (
            "",
            "Sec-Fetch-Site: same-site\r\n",
            &two[..1],
            403,
            "Only pages of this server",
        ),
        (
            "",
            "",
            &[("../a.urdf", ROBOT)][..],
            422,
            "no path of a file",
        ),
        ("", "", &[("/etc/a.urdf", ROBOT)], 422, "no path of a file"),
        ("", "", &[(".git/a.urdf", ROBOT)], 422, "no path of a file"),
        (
            "",
            "",
            &[("a.urdf", ROBOT), ("a.urdf", ROBOT)],
            422,
            "two files",
        ),
        ("", "", &[(deep.as_str(), ROBOT)], 422, "32 folders"),
        (
            "",
            "",
            &[("a.txt", "hello")],
            422,
            "no robot among these files",
        ),
        ("?file=c.urdf", "", &two, 422, "no file \\\"c.urdf\\\""),
        ("?name=c.urdf", "", &two, 400, "not file=PATH"),
    ] {
        let answer = send(address, query, fields, files).await;
        assert!(
            answer.status == status && text(&answer).contains(said),
            "{query} {fields} {files:?}: {} {}",
            answer.status,
            text(&answer)
        );
    }
    assert_eq!(site.robots().len(), 1);

    // The oldest makes room.
    for number in 0..8 {
        let robot = ROBOT.replace("NAME", &format!("r{number}"));
        assert_eq!(
            send(address, "", "", &[("r.urdf", &robot)]).await.status,
            200
        );
    }
    assert!(site.robots().len() == 8 && site.robot("dropped-files/NAME").is_none());
}

#[tokio::test]
async fn dropped_robots_need_permission_where_others_can_connect() {
    let everywhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    for allowed in [false, true] {
        let server = Server::bind(everywhere)
            .await
            .unwrap()
            .allow_writing(allowed);
        let server = server.convert_uploads(
            Arc::new(Workers::here()),
            resolve::Options::default(),
            Limits::default(),
        );
        let address = SocketAddr::new(ANY.ip(), server.address().port());
        tokio::spawn(server.serve(Arc::default()));
        let answer = send(address, "", "", &[("a.xacro", r#"<robot name="a"/>"#)]).await;
        let said = if allowed {
            "xacro evaluates"
        } else {
            "allow_writing"
        };
        assert!(answer.status == 403 && String::from_utf8_lossy(&answer.body).contains(said));
    }
    // A server that converts nothing.
    let server = start(Arc::default()).await;
    assert_eq!(ask(server, "GET", "/api/uploads", "").await.status, 404);
}
