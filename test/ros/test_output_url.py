"""The parameter output_url: revisions in an object store."""

import json

from ros_node import PATIENCE, box, description
from ros_peer import DiagnosticArray, String, until
from s3_server import BUCKET, Server, names, pointers, s3, variables  # noqa: F401
from test_node import status, values

OK, ERROR = 0, 2


def test_revisions_are_published_after_their_conversion(start, peer, s3, tmp_path):  # noqa: F811
    faults = {"fault": None}
    proxy = Server(s3, lambda _: faults["fault"]).server_address[1]
    diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=100)

    def uploads(level, published):
        found = status(diagnostics, lambda s: s.name == "urdf_usd: output_url" and s.level == level and values(s)["published"] == published)
        return values(found)

    node = start(environment=variables(proxy, tmp_path / "cache"), output_url=f"s3://{BUCKET}/node", formats=["usd"])
    publisher = description(peer, box("crate"))
    until(lambda: names(s3, "node/robots"), PATIENCE, "nothing is published")
    first = pointers(s3, "node")["crate"]
    report = json.loads((node.output / "crate" / "report.json").read_text())
    assert {file["path"] for file in first["asset"]["files"]} == {file["path"] for file in report["files"]}
    uploads(OK, "1")
    # A store that refuses does not hold up conversions, and keeps what it has.
    faults["fault"] = (403, "AccessDenied")
    publisher.write(String(data=box("crate", 2)))
    until(lambda: json.loads((node.output / "crate" / "report.json").read_text())["revision"] == 2, PATIENCE, "no second revision")
    found = uploads(ERROR, "1")
    assert (found["failed"], found["code"]) == ("1", "object-store-access-denied")
    assert pointers(s3, "node") == {"crate": first}
    faults["fault"] = None
    publisher.write(String(data=box("crate", 3)))
    assert uploads(OK, "2")["failed"] == "0"
    assert pointers(s3, "node")["crate"]["generation"] == 2
