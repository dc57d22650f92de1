//! Tests of the client on a fake network that blocks every operation while its gate is closed.

use std::collections::BTreeMap;
use std::sync::Condvar;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::*;
use crate::msg::rcl_interfaces::{ListParameters, ListParametersRequest, ListParametersResponse};
use crate::msg::std_msgs::String as Text;
use crate::parameter::{Declaration, Value};
use crate::testing::PATIENCE;
use crate::transport::{Open, Opened, RequestCallback, run_blocking};
use crate::{PublisherId, Sample, cdr, codes};

/// Blocks operations while it is closed.
#[derive(Default)]
struct Gate {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        *locked(&self.is_closed) = is_closed;
        self.changed.notify_all();
    }

    /// Waits while the gate is closed.
    fn pass(&self) {
        let closed = self
            .changed
            .wait_while(locked(&self.is_closed), |is_closed| *is_closed);
        drop(closed.expect("nothing panics here"));
    }
}

/// The operations that the network was asked for.
#[derive(Default)]
struct State {
    heard: BTreeMap<String, MessageCallback<Bytes>>,
    opened: BTreeMap<String, Arc<Opened<Bytes>>>,
    served: BTreeMap<String, RequestCallback<Bytes, Bytes>>,
    closed: Vec<String>,
    written: Vec<(String, String)>,
    looks: usize,
    /// How many more writes are refused.
    refused: usize,
    changes: Option<watch::Sender<()>>,
}

#[derive(Clone, Default)]
struct Fake(Arc<(Gate, Mutex<State>)>);

/// An open endpoint; closing it waits for the gate, too.
struct Closing(Fake, String);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.gate().pass();
        self.0.state().closed.push(self.1.clone());
    }
}

impl Fake {
    fn gate(&self) -> &Gate {
        &self.0.0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0.1)
    }

    fn node(&self) -> Client {
        let fake = self.clone();
        let join = |setup: Setup| {
            fake.state().changes = Some(setup.changes);
            Ok((Arc::new(fake) as Arc<dyn Transport>, None))
        };
        Client::join("node", &Args::default(), join).expect("a node")
    }

    /// Opens an endpoint once the gate is open. The name `/defect` panics.
    fn attempt(&self, name: Name, note: impl Fn(&mut State, &str) + Send + 'static) -> Attempt {
        let fake = self.clone();
        Box::new(move || {
            fake.gate().pass();
            assert!(name.full != "/defect", "a defect");
            note(&mut fake.state(), &name.full);
            Ok(Box::new(Closing(fake.clone(), name.full.clone())))
        })
    }

    fn writer(&self, name: &str) -> Write<Bytes> {
        let (fake, name) = (self.clone(), name.to_owned());
        Arc::new(move |message: &Bytes| {
            let (fake, name, text) = (
                fake.clone(),
                name.clone(),
                cdr::decode::<Text>(message)?.data,
            );
            Ok(run_blocking(move || {
                fake.gate().pass();
                let mut state = fake.state();
                if state.refused > 0 {
                    state.refused -= 1;
                    return Err("refused".to_owned());
                }
                state.written.push((name, text));
                Ok(())
            }))
        })
    }

    /// Returns the messages written to a topic.
    fn written(&self, name: &str) -> Vec<String> {
        self.state()
            .written
            .iter()
            .filter(|(topic, _)| topic == name)
            .map(|(_, text)| text.clone())
            .collect()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        let start = Instant::now();
        while !is_so(&self.state()) {
            assert!(start.elapsed() < PATIENCE, "{what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Transport for Fake {
    fn listen(self: Arc<Self>, topic: Name, _: Qos, hear: MessageCallback<Bytes>) -> Attempt {
        self.attempt(topic, move |state, name| {
            drop(state.heard.insert(name.to_owned(), hear.clone()))
        })
    }

    fn advertise(self: Arc<Self>, topic: Name, _: Qos, opened: Opened<Bytes>) -> Attempt {
        let (fake, opened) = (self.clone(), Arc::new(opened));
        self.attempt(topic, move |state, name| {
            opened(fake.writer(name));
            state.opened.insert(name.to_owned(), opened.clone());
        })
    }

    fn serve(self: Arc<Self>, service: Name, ask: RequestCallback<Bytes, Bytes>) -> Attempt {
        self.attempt(service, move |state, name| {
            drop(state.served.insert(name.to_owned(), ask.clone()))
        })
    }

    fn call<'a>(
        &'a self,
        service: &'a Name,
        request: Bytes,
        _: Limit,
    ) -> BoxFuture<'a, Result<Bytes, Diagnostic>> {
        let fake = self.clone();
        let waiting = run_blocking(move || {
            fake.gate().pass();
            Ok(())
        });
        async move {
            waiting.await.expect("the gate opens");
            let (ask, (sender, answer)) = (
                self.state().served[&service.full].clone(),
                futures::channel::oneshot::channel(),
            );
            let reply = Box::new(|answer| {
                Ok(async move { sender.send(answer).map_err(|_| "given up".to_owned()) }.boxed())
            });
            ask(Ok(Call { request, reply }));
            Ok(answer.await.expect("an answer"))
        }
        .boxed()
    }

    fn graph(&self) -> Graph {
        self.gate().pass();
        let mut state = self.state();
        state.looks += 1;
        Graph {
            nodes: vec![format!("/{}", state.looks), "/".to_owned()],
            ..Graph::default()
        }
    }

    fn leave(&self, open: Vec<Open>, mut threads: Threads) {
        self.gate().pass();
        drop(open);
        threads.end();
    }
}

fn text(data: impl ToString) -> Text {
    Text {
        data: data.to_string(),
    }
}

fn bytes(message: &impl serde::Serialize) -> Bytes {
    cdr::encode(message).expect("CDR").into()
}

/// Runs `job`, which must not wait while the gate is closed.
async fn at_once<T: Send + 'static>(
    fake: &Fake,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    fake.gate().set(true);
    let done = tokio::time::timeout(PATIENCE, tokio::task::spawn_blocking(work)).await;
    if done.is_err() {
        // Otherwise the test would never end.
        fake.gate().set(false);
    }
    done.unwrap_or_else(|_| panic!("{what}: it waits for the network"))
        .expect("no panic")
}

#[tokio::test]
async fn no_call_waits_for_a_blocked_network_and_queues_keep_the_last() {
    let fake = Fake::default();
    let node = Arc::new(fake.node());
    let last = "/node/set_parameters_atomically";
    fake.until("the services of parameters", |state| {
        state.served.contains_key(last)
    })
    .await;

    // Every endpoint is still to be opened: no call waits, and of the published messages the last
    // are kept.
    let opening = node.clone();
    let (mut subscription, publisher, mut requests) = at_once(&fake, "opening", move || {
        let subscription = opening
            .subscribe::<Text>("heard", Qos::reliable(2))
            .expect("a subscription");
        let publisher = opening
            .advertise::<Text>("said", Qos::latched(3))
            .expect("a publisher");
        let requests = opening
            .serve::<ListParameters>("~/convert")
            .expect("a service");
        drop(
            opening
                .observe("seen", "a/msg/B", Qos::best_effort(1))
                .expect("a subscription"),
        );
        drop(
            opening
                .advertise::<Text>("unsaid", Qos::reliable(1))
                .expect("a publisher"),
        );
        drop(
            opening
                .serve::<ListParameters>("unasked")
                .expect("a service"),
        );
        (0..10).for_each(|n| publisher.publish(text(n)).expect("published"));
        assert!(
            opening
                .declare(Declaration::new("a", Value::Bool(true), ""))
                .is_ok()
        );
        opening.now();
        (subscription, publisher, requests)
    })
    .await;
    let silent = node
        .call::<ListParameters>(
            "unasked",
            ListParametersRequest::default(),
            Duration::from_millis(50),
        )
        .await;
    assert_eq!(
        silent.expect_err("the network is blocked").code,
        codes::NO_ANSWER.id
    );
    assert_eq!(fake.written("/said"), [""; 0]);
    fake.gate().set(false);
    fake.until("all is open, and what was dropped is closed", |state| {
        let closed = ["/seen", "/unsaid", "/unasked"]
            .map(|name| state.closed.iter().any(|closed| closed == name));
        state
            .written
            .iter()
            .filter(|(topic, _)| topic == "/said")
            .count()
            == 3
            && closed == [true; 3]
    })
    .await;
    assert_eq!(fake.written("/said"), ["7", "8", "9"]);

    // Writes, answers and snapshots of the graph are in progress.
    let hear = fake.state().heard["/heard"].clone();
    let before = fake.state().looks;
    let (asking, changes) = (node.clone(), fake.state().changes.clone().expect("joined"));
    let call = tokio::spawn(async move {
        asking
            .call::<ListParameters>("~/convert", ListParametersRequest::default(), PATIENCE)
            .await
    });
    let Request { responder, .. } = requests.next().await.expect("a call");
    let (working, saying) = (node.clone(), publisher.clone());
    let seen = at_once(&fake, "publishing", move || {
        changes.send_replace(());
        for n in 10..20 {
            saying.publish(text(n)).expect("published");
            hear(Ok(Sample {
                message: bytes(&text(n)),
                publisher: PublisherId([7; 16]),
            }));
        }
        hear(Err("nonsense".to_owned()));
        responder
            .send(ListParametersResponse::default())
            .expect("sent");
        drop((saying, working.graph_changes()));
        working.graph()
    })
    .await;
    assert_eq!(
        seen.nodes,
        ["/".to_owned(), format!("/{before}")],
        "as it was seen last, in order"
    );
    assert_eq!(
        [subscription.next().await, subscription.next().await]
            .map(|sample| sample.expect("heard").message.data),
        ["18", "19"]
    );
    assert_eq!(
        (subscription.dropped(), subscription.try_next().is_none()),
        (8, true)
    );
    fake.gate().set(false);
    call.await.expect("no panic").expect("an answer");
    fake.until("the last is written", |state| {
        state.written.last().is_some_and(|(_, text)| text == "19")
    })
    .await;
    fake.until("another snapshot", |state| state.looks > before)
        .await;
    let written = fake.written("/said").split_off(3);
    assert!(
        written.len() <= 4 && written.ends_with(&["17", "18", "19"].map(str::to_owned)),
        "{written:?}"
    );

    // All of it is being dropped.
    at_once(&fake, "dropping", move || {
        drop((subscription, publisher, requests))
    })
    .await;
    fake.gate().set(false);
    fake.until("all is closed", |state| {
        ["/heard", "/said"]
            .iter()
            .all(|name| state.closed.iter().any(|closed| closed == name))
    })
    .await;
}

#[tokio::test]
async fn leaving_a_blocked_network_takes_a_few_seconds_at_most() {
    let fake = Fake::default();
    let node = fake.node();
    let mut heard = node
        .subscribe::<Text>("/t", Qos::reliable(1))
        .expect("a subscription");
    at_once(&fake, "leaving", move || {
        let start = Instant::now();
        node.shutdown();
        node.shutdown();
        assert!(start.elapsed() >= LEAVE);
        assert_eq!(
            (node.graph(), node.serve::<ListParameters>("s").is_err()),
            (Graph::default(), true)
        );
    })
    .await;
    assert!(heard.next().await.is_none());
    fake.gate().set(false);
    fake.until("it has left", |state| {
        state.closed.iter().any(|name| name == "/t")
    })
    .await;
}

#[tokio::test]
async fn latched_messages_are_retried_and_sent_by_every_new_writer() {
    let fake = Fake::default();
    let node = fake.node();
    fake.state().refused = 3;
    let latched = node
        .advertise::<Text>("/latched", Qos::latched(2))
        .expect("a publisher");
    latched.publish(text("a")).expect("published");
    fake.until("it is sent again", |state| {
        state.written.iter().any(|(topic, _)| topic == "/latched")
    })
    .await;
    assert_eq!(fake.state().refused, 0);
    latched.publish(text("b")).expect("published");
    fake.until("b", |state| {
        state.written.iter().any(|(_, text)| text == "b")
    })
    .await;
    (fake.state().opened["/latched"])(fake.writer("/reopened"));
    fake.until("the new writer", |state| {
        state
            .written
            .iter()
            .filter(|(topic, _)| topic == "/reopened")
            .count()
            == 2
    })
    .await;
    assert_eq!(
        (fake.written("/latched"), fake.written("/reopened")),
        (
            vec!["a".to_owned(), "b".to_owned()],
            vec!["a".to_owned(), "b".to_owned()]
        )
    );

    let volatile = node
        .advertise::<Text>("/volatile", Qos::reliable(2))
        .expect("a publisher");
    volatile.publish(text("open")).expect("published");
    fake.until("it is open", |state| {
        state.written.iter().any(|(_, text)| text == "open")
    })
    .await;
    fake.state().refused = 1;
    ["lost", "last"]
        .iter()
        .for_each(|message| volatile.publish(text(message)).expect("published"));
    drop(volatile);
    fake.until("what was said last", |state| {
        state.closed.iter().any(|name| name == "/volatile")
    })
    .await;
    assert_eq!(fake.written("/volatile"), ["open", "last"]);
}

#[tokio::test]
async fn a_defect_where_things_are_opened_ends_the_node() {
    let fake = Fake::default();
    let node = fake.node();
    let mut heard = node
        .subscribe::<Text>("/t", Qos::reliable(1))
        .expect("a subscription");
    let mut changes = node.changes();
    let publisher = node
        .advertise::<Text>("/t", Qos::reliable(1))
        .expect("a publisher");
    let _defect = node
        .subscribe::<Text>("/defect", Qos::reliable(1))
        .expect("a subscription");
    assert!(heard.next().await.is_none() && changes.next().await.is_none());
    assert_eq!(
        publisher
            .publish(text("late"))
            .expect_err("it has ended")
            .code,
        codes::TRANSPORT.id
    );
    let late = node
        .call::<ListParameters>("/c", ListParametersRequest::default(), PATIENCE)
        .await;
    assert_eq!(late.expect_err("it has ended").code, codes::TRANSPORT.id);
    assert!(node.advertise::<Text>("/t", Qos::reliable(1)).is_err());
}
