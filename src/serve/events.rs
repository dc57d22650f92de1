//! `/events`: server-sent events. A listener that is too slow is told to read everything anew; it never slows the node.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use tokio_stream::wrappers::BroadcastStream;

use super::App;

pub(super) async fn events(State(app): State<Arc<App>>) -> Response {
    let Ok(seat) = app.listeners.clone().try_acquire_owned() else {
        return super::full("events");
    };
    // Whoever (re)connects has missed what came before.
    let begin = stream::once(async { Event::default().event("resync").data("{}") });
    let happened = BroadcastStream::new(app.site.events()).map(|event| match event {
        Ok(event) => Event::default().event(event.kind).data(&*event.data),
        Err(_) => Event::default().event("resync").data("{}"),
    });
    let told = begin.chain(happened).map(move |event| {
        // Kept as long as the stream is.
        let _ = &seat;
        Ok::<_, Infallible>(event)
    });
    Sse::new(told).keep_alive(KeepAlive::default()).into_response()
}
