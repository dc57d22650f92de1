//! `/events`: server-sent events.
//!
//! A listener that lags behind receives the event `resync` and reads everything again, so it never
//! slows the node.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use tokio_stream::wrappers::BroadcastStream;

use super::App;
use super::seats::Seat;

pub(super) async fn events(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Seat>>,
) -> Response {
    let Some(seat) = app.listeners.take_stream(&connection).map(Arc::new) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    // A stream makes no progress while nothing happens, so its connection would be evicted.
    connection.set_protected(true);
    // A client that (re)connects has missed earlier events.
    let begin = stream::once(async { Event::default().event("resync").data("{}") });
    let happened = BroadcastStream::new(app.site.events()).map(|event| match event {
        Ok(event) => Event::default().event(event.kind).data(&*event.data),
        Err(_) => Event::default().event("resync").data("{}"),
    });
    let left = seat.clone();
    // On eviction the stream ends; browsers reconnect on their own.
    let events_and_pings = begin
        .chain(happened)
        .take_until(async move { left.evicted().await })
        .map(move |event| {
            // Keeps the seat as long as the stream.
            let _ = &seat;
            Ok::<_, Infallible>(event)
        });
    Sse::new(events_and_pings)
        .keep_alive(KeepAlive::default())
        .into_response()
}
