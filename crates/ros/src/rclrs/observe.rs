//! Topics whose type is known by name only: the workspace has their type support, and tells where the header is.

use ::rclrs::{DynamicMessage, DynamicMessageView, MessageInfo, MessageTypeName, SimpleValue, Value};

use super::{Inner, options, publisher, transport};
use crate::msg::builtin_interfaces::Time;
use crate::msg::std_msgs::Header;
use crate::{Observed, Qos, Sample, Subscription, queue};
use urdf_usd_diagnostic::Diagnostic;

impl Inner {
    pub(super) fn observe(&self, topic: &str, type_name: &str, qos: Qos) -> Result<Subscription<Observed>, Diagnostic> {
        let name = self.own.names.topic(topic)?;
        let cannot = |error: &dyn std::fmt::Display| {
            transport(&format!("can't subscribe to {name}"), error)
                .help(format!("is {type_name} installed in this workspace, and does it compile?"))
        };
        let kind = MessageTypeName::try_from(type_name).map_err(|error| cannot(&error))?;
        self.live(|live| {
            let (sender, receiver) = queue::keep_last(qos.depth);
            let hear = move |message: DynamicMessage, info: MessageInfo| {
                sender.push(Sample { message: Observed { header: header(&message) }, publisher: publisher(&info) });
            };
            let open =
                live.node.create_dynamic_subscription(kind, options(topic, qos), hear).map_err(|error| cannot(&error))?;
            Ok(Subscription::new(open.topic_name(), receiver, live.kept.keep(open)))
        })?
    }
}

/// What the message begins with, if that is a header.
fn header(message: &DynamicMessage) -> Option<Header> {
    let first = message.structure().fields.first()?;
    let Value::Simple(SimpleValue::Message(header)) = message.get(&first.name)? else { return None };
    let is_header = header.structure().namespace == "std_msgs__msg" && header.structure().type_name == "Header";
    let (SimpleValue::Message(stamp), SimpleValue::String(frame_id)) =
        (simple(&header, "stamp")?, simple(&header, "frame_id")?)
    else {
        return None;
    };
    let (SimpleValue::Int32(sec), SimpleValue::Uint32(nanosec)) = (simple(&stamp, "sec")?, simple(&stamp, "nanosec")?) else {
        return None;
    };
    is_header.then(|| Header { stamp: Time { sec: *sec, nanosec: *nanosec }, frame_id: frame_id.to_string() })
}

fn simple<'a>(message: &'a DynamicMessageView<'_>, field: &str) -> Option<SimpleValue<'a>> {
    match message.get(field)? {
        Value::Simple(value) => Some(value),
        _ => None,
    }
}
