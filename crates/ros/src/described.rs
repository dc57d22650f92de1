//! The service `~/get_type_description`: what the types that the node uses are made of, for tools
//! that meet them on the network.
//!
//! Types are found by hash, as rcl finds them. Distributions before Iron have no such service.

use futures::future::BoxFuture;

use super::msg::type_description_interfaces::{
    GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse, TypeSource,
};
use super::parameter::{Declaration, Value};
use super::served::Parameters;
use super::{Node, Request, types};
use urdf_usd_diagnostic::Diagnostic;

/// The parameter that decides whether it is there, as in every node.
const START: &str = "start_type_description_service";

/// Opens the service at `node`, unless its parameter says not to, and answers in a task that ends
/// with it.
pub(super) fn serve(
    node: &impl Node,
    parameters: &Parameters,
    spawn: impl Fn(BoxFuture<'static, ()>),
) -> Result<(), Diagnostic> {
    let text = "Whether the node tells what its types are made of, at ~/get_type_description.";
    if parameters.declare(Declaration::new(START, Value::Bool(true), text).read_only())?
        != Value::Bool(true)
    {
        return Ok(());
    }
    let mut requests = node.serve::<GetTypeDescription>("~/get_type_description")?;
    spawn(Box::pin(async move {
        while let Some(Request { request, responder }) = requests.next().await {
            // Fails only while the node shuts down.
            let _ = responder.send(answer(&request));
        }
    }));
    Ok(())
}

fn answer(request: &GetTypeDescriptionRequest) -> GetTypeDescriptionResponse {
    let Some(found) = types::of_hash(&request.type_hash).and_then(types::describe) else {
        let failure_reason = format!(
            "no type of hash {:?} is in use by this node",
            request.type_hash
        );
        return GetTypeDescriptionResponse {
            failure_reason,
            ..Default::default()
        };
    };
    let mut type_sources = Vec::new();
    if request.include_type_sources {
        let names =
            std::iter::once(&found.type_description).chain(&found.referenced_type_descriptions);
        type_sources.extend(names.filter_map(|individual| {
            let (encoding, text) = types::source(&individual.type_name)?;
            let (type_name, raw_file_contents) = (individual.type_name.clone(), text.to_owned());
            Some(TypeSource {
                type_name,
                encoding: encoding.to_owned(),
                raw_file_contents,
            })
        }));
    }
    GetTypeDescriptionResponse {
        successful: true,
        type_description: found.into(),
        type_sources,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_hash_and_others_are_not() {
        let ask = |type_hash: &str, include_type_sources| {
            let type_hash = type_hash.to_owned();
            answer(&GetTypeDescriptionRequest {
                type_hash,
                include_type_sources,
                ..Default::default()
            })
        };
        let hash = types::hash("urdf_usd/srv/Convert").expect("known");
        let found = ask(&hash, true);
        assert!(found.successful && found.failure_reason.is_empty());
        assert_eq!(
            found.type_description.type_description.type_name,
            "urdf_usd/srv/Convert"
        );
        let names = found
            .type_description
            .referenced_type_descriptions
            .iter()
            .map(|d| d.type_name.as_str());
        assert!(names.eq([
            "builtin_interfaces/msg/Time",
            "service_msgs/msg/ServiceEventInfo",
            "urdf_usd/srv/Convert_Event",
            "urdf_usd/srv/Convert_Request",
            "urdf_usd/srv/Convert_Response"
        ]));
        let [source] = &found.type_sources[..] else {
            panic!("{:?}", found.type_sources)
        };
        assert!(source.encoding == "srv" && source.raw_file_contents.contains("\n---\n"));
        assert!(ask(&hash, false).type_sources.is_empty());
        let none = ask("RIHS01_00", true);
        assert!(
            !none.successful
                && none.failure_reason.contains("RIHS01_00")
                && none.type_sources.is_empty()
        );
    }
}
