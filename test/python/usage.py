"""Uses of the package for type checkers. Lines with a mark are wrong."""

from pathlib import Path

import numpy as np
import urdf_usd
import urdf_usd.batch
import urdf_usd.ray
from numpy.typing import NDArray
from urdf_usd.compat.isaacsim import URDFImporter, URDFImporterConfig
from urdf_usd.compat.urdf_usd_converter import Converter
from urdf_usd.prove import Table, prove

result: urdf_usd.Result = urdf_usd.convert("arm.urdf", Path("out"), formats=["usd", "glb"], packages={"arm": Path(".")}, density=1000.0)
urdf_usd.convert(b"<robot/>", formats="usd", progress=lambda progress: print(progress.step, progress.done), xacro_args={"size": 1})
entry: Path | None = result.path
content: bytes = result.files["arm.usda"]
codes: list[str] = [finding.code for finding in urdf_usd.check(Path("arm.usda"), select=["REP158*"])]
urdf_usd.check("arm.usda", engine=["mujoco", "drake"], select="REP158*", variants="Physics=physx")
urdf_usd.fix("arm.usda", overlays="newton", rep158="2026-07")
robot = urdf_usd.Robot.load("arm.urdf", srdf_file="arm.srdf")
poses: NDArray[np.float64] = robot.fk(robot.rest, "tool0")
robot.mass_matrix(robot.rest, out=np.empty((robot.dof, robot.dof)))
solved: NDArray[np.float64] = robot.ik(poses, "tool0", q=robot.rest).q
opened = urdf_usd.batch.Batch(["robots", Path("more.csv")], "out", formats=["usd"], retry=True)
status: str = urdf_usd.batch.convert(opened.tasks[0])["status"]
summary: dict[str, object] = urdf_usd.ray.convert("robots.csv", Path("out"), max_retries=1, tiers="high")
converter = Converter(layer_structure=False, ros_packages=[{"name": "arm", "path": "."}])
converter.params.ros_packages = [{"name": "arm", "path": "."}]
converter.convert(Path("arm.urdf"), "out")
imported: str = URDFImporter(URDFImporterConfig(urdf_path="arm.urdf", fix_base=True, override_joint_damping={".*": 1.0})).import_urdf()
table: Table = prove("arm.urdf", engines=["mujoco"], package_paths=[Path(".")])
largest: float = table.rows["mujoco"].figures["hold"].value

urdf_usd.convert("arm.urdf", formats=["stl"])  # type: ignore[list-item]
urdf_usd.convert("arm.urdf", density="much")  # type: ignore[arg-type]
urdf_usd.convert("arm.urdf", densty=1.0)  # type: ignore[call-arg]
urdf_usd.check("arm.usda", density=1.0)  # type: ignore[call-arg]
urdf_usd.check("arm.usda", engine=["ode"])  # type: ignore[list-item]
urdf_usd.fix("arm.usda", overlays="drake")  # type: ignore[arg-type]
urdf_usd.convert(3)  # type: ignore[arg-type]
robot.jacobian(robot.rest, "tool0", frame="world")  # type: ignore[arg-type]
urdf_usd.batch.Batch("robots", "out", formats=["stl"])  # type: ignore[list-item]
urdf_usd.ray.convert("robots", "out", max_retries="often")  # type: ignore[arg-type]
Converter(scene="no")  # type: ignore[arg-type]
URDFImporterConfig(override_joint_damping={"elbow": "much"})  # type: ignore[dict-item]
prove("arm.urdf", density=1.0)  # type: ignore[call-arg]
