//! `/events`: server-sent events. A listener that is too slow is told to read everything anew; it never slows the node.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{StreamExt, stream};
use tokio_stream::wrappers::BroadcastStream;

use super::Site;

pub(super) async fn events(State(site): State<Arc<Site>>) -> impl IntoResponse {
    // Whoever (re)connects has missed what came before.
    let begin = stream::once(async { Event::default().event("resync").data("{}") });
    let happened = BroadcastStream::new(site.events()).map(|event| match event {
        Ok(event) => Event::default().event(event.kind).data(&*event.data),
        Err(_) => Event::default().event("resync").data("{}"),
    });
    Sse::new(begin.chain(happened).map(Ok::<_, Infallible>)).keep_alive(KeepAlive::default())
}
