//! The service `~/get_type_description`: describes the message types that the node uses, for tools
//! that find them on the network.
//!
//! Types are looked up by hash, as in rcl. Distributions before Iron have no such service.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::msg::type_description_interfaces::{
    Field, FieldType, GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse,
    IndividualTypeDescription, TypeDescription, TypeSource,
};
use super::node_state::Types;
use super::parameter::{Declaration, Value};
use super::served::Parameters;
use super::types::Type;
use super::{Node, Request};
use urdf_usd_diagnostic::Diagnostic;

/// Name of the parameter that enables the service, the same in every node.
const START: &str = "start_type_description_service";

/// Opens the service at `node`, unless its parameter disables it, and answers in a task that ends
/// with it.
pub(super) fn serve(
    node: &impl Node,
    parameters: &Parameters,
    types: &Arc<Types>,
    spawn: impl Fn(BoxFuture<'static, ()>),
) -> Result<(), Diagnostic> {
    let text = "Whether the node describes its message types at ~/get_type_description.";
    if parameters.declare(Declaration::new(START, Value::Bool(true), text).read_only())?
        != Value::Bool(true)
    {
        return Ok(());
    }
    let mut requests = node.serve::<GetTypeDescription>("~/get_type_description")?;
    let types = types.clone();
    spawn(Box::pin(async move {
        while let Some(Request { request, responder }) = requests.next().await {
            // Fails only while the node shuts down.
            let _ = responder.send(answer(&types, &request));
        }
    }));
    Ok(())
}

fn answer(types: &Types, request: &GetTypeDescriptionRequest) -> GetTypeDescriptionResponse {
    let Some(found) = types.with_hash(&request.type_hash) else {
        let failure_reason = format!(
            "no type of hash {:?} is in use by this node",
            request.type_hash
        );
        return GetTypeDescriptionResponse {
            failure_reason,
            ..Default::default()
        };
    };
    let references = found.references();
    let mut type_sources = Vec::new();
    if request.include_type_sources {
        type_sources.extend(
            std::iter::once(&found)
                .chain(references.values())
                .filter_map(|described| source(described)),
        );
    }
    GetTypeDescriptionResponse {
        successful: true,
        type_description: TypeDescription {
            type_description: describe(found),
            referenced_type_descriptions: references.into_values().map(describe).collect(),
        },
        type_sources,
        ..Default::default()
    }
}

fn describe(described: &Type) -> IndividualTypeDescription {
    let field = |field: &super::types::Field| Field {
        name: field.name.to_owned(),
        type_: FieldType {
            type_id: field.kind.type_id,
            capacity: field.kind.capacity,
            string_capacity: field.kind.string_capacity,
            nested_type_name: field.kind.nested_name().to_owned(),
        },
        default_value: field.default.to_owned(),
    };
    IndividualTypeDescription {
        type_name: described.name.to_owned(),
        fields: described.fields.iter().map(field).collect(),
    }
}

/// Returns the text of a definition, if this program defines the type.
fn source(described: &Type) -> Option<TypeSource> {
    Some(TypeSource {
        type_name: described.name.to_owned(),
        // `msg` or `srv`: the part between package and name.
        encoding: described.name.split('/').nth(1)?.to_owned(),
        raw_file_contents: described.source?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::Interface;
    use crate::msg::rcl_interfaces::GetParameters;

    /// A service with the text of its definition.
    static CONVERT: Type = Type {
        name: "p/srv/Convert",
        fields: GetParameters::TYPE.fields,
        source: Some("string urdf\n---\n"),
    };

    #[test]
    fn types_are_found_by_hash_and_others_are_not() {
        let types = Types::default();
        types.add(&CONVERT);
        let ask = |type_hash: String, include_type_sources| {
            let request = GetTypeDescriptionRequest {
                type_hash,
                include_type_sources,
                ..Default::default()
            };
            answer(&types, &request)
        };
        let found = ask(CONVERT.hash(), true);
        assert!(found.successful && found.failure_reason.is_empty());
        let described = &found.type_description.type_description;
        assert_eq!(described.type_name, "p/srv/Convert");
        let nested = |field: &Field| field.type_.nested_type_name.clone();
        assert_eq!(
            described.fields.iter().map(nested).collect::<Vec<_>>(),
            [
                "rcl_interfaces/srv/GetParameters_Request",
                "rcl_interfaces/srv/GetParameters_Response",
                "rcl_interfaces/srv/GetParameters_Event"
            ]
        );
        let names = found
            .type_description
            .referenced_type_descriptions
            .iter()
            .map(|d| d.type_name.as_str());
        assert!(names.eq([
            "builtin_interfaces/msg/Time",
            "rcl_interfaces/msg/ParameterValue",
            "rcl_interfaces/srv/GetParameters_Event",
            "rcl_interfaces/srv/GetParameters_Request",
            "rcl_interfaces/srv/GetParameters_Response",
            "service_msgs/msg/ServiceEventInfo",
        ]));
        let [source] = &found.type_sources[..] else {
            panic!("{:?}", found.type_sources)
        };
        assert!(source.encoding == "srv" && source.raw_file_contents.contains("\n---\n"));
        assert!(ask(CONVERT.hash(), false).type_sources.is_empty());
        // A type that another one refers to is found as well.
        let nested = GetParameters::TYPE.references()["rcl_interfaces/msg/ParameterValue"];
        assert!(ask(nested.hash(), false).successful);
        let none = ask("RIHS01_00".to_owned(), true);
        assert!(
            !none.successful
                && none.failure_reason.contains("RIHS01_00")
                && none.type_sources.is_empty()
        );
    }
}
