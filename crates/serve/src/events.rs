//! `/events`: server-sent events. A listener that is too slow is told to read everything anew; it
//! never slows the node.

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
    connection.keep(true);
    // Whoever (re)connects has missed what came before.
    let begin = stream::once(async { Event::default().event("resync").data("{}") });
    let happened = BroadcastStream::new(app.site.events()).map(|event| match event {
        Ok(event) => Event::default().event(event.kind).data(&*event.data),
        Err(_) => Event::default().event("resync").data("{}"),
    });
    let left = seat.clone();
    // Another client needs the seat: browsers come back by themselves.
    let told = begin
        .chain(happened)
        .take_until(async move { left.evicted().await })
        .map(move |event| {
            // Kept as long as the stream is.
            let _ = &seat;
            Ok::<_, Infallible>(event)
        });
    Sse::new(told)
        .keep_alive(KeepAlive::default())
        .into_response()
}
