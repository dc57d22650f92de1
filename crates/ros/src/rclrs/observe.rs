//! Subscriptions to topics whose type is known only by name: the workspace's type support says
//! where the header is.

use ::rclrs::{
    DynamicMessage, DynamicMessageView, MessageInfo, MessageTypeName, Node, SimpleValue, Value,
};

use super::{options, publisher, transport};
use crate::msg::builtin_interfaces::Time;
use crate::msg::std_msgs::Header;
use crate::transport::{MessageCallback, Name, Open};
use crate::{Observed, Qos, Sample};
use urdf_usd_diagnostic::Diagnostic;

pub(super) fn observe(
    node: &Node,
    topic: &Name,
    qos: Qos,
    hear: MessageCallback<Observed>,
) -> Result<Open, Diagnostic> {
    let Name {
        given,
        full,
        type_name,
        ..
    } = topic;
    let cannot = |error: &dyn std::fmt::Display| {
        transport(&format!("can't subscribe to {full}"), error).help(format!(
            "is {type_name} installed in this workspace, and does it compile?"
        ))
    };
    let kind = MessageTypeName::try_from(type_name.as_str()).map_err(|error| cannot(&error))?;
    let hear = move |message: DynamicMessage, info: MessageInfo| {
        hear(Ok(Sample {
            message: Observed {
                header: header(&message),
            },
            publisher: publisher(&info),
        }));
    };
    let open = node
        .create_dynamic_subscription(kind, options(given, qos), hear)
        .map_err(|error| cannot(&error))?;
    Ok(Box::new(open))
}

/// Returns the header, if the message begins with one.
fn header(message: &DynamicMessage) -> Option<Header> {
    let first = message.structure().fields.first()?;
    let Value::Simple(SimpleValue::Message(header)) = message.get(&first.name)? else {
        return None;
    };
    let is_header =
        header.structure().namespace == "std_msgs__msg" && header.structure().type_name == "Header";
    let (SimpleValue::Message(stamp), SimpleValue::String(frame_id)) =
        (simple(&header, "stamp")?, simple(&header, "frame_id")?)
    else {
        return None;
    };
    let (SimpleValue::Int32(sec), SimpleValue::Uint32(nanosec)) =
        (simple(&stamp, "sec")?, simple(&stamp, "nanosec")?)
    else {
        return None;
    };
    is_header.then(|| Header {
        stamp: Time {
            sec: *sec,
            nanosec: *nanosec,
        },
        frame_id: frame_id.to_string(),
    })
}

fn simple<'a>(message: &'a DynamicMessageView<'_>, field: &str) -> Option<SimpleValue<'a>> {
    match message.get(field)? {
        Value::Simple(value) => Some(value),
        _ => None,
    }
}
