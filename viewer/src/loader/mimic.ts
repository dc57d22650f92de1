import type { JointData, MimicData } from './extension.js';
import type { Problems } from './problems.js';

/**
 * Resolves for each joint the one that drives it in the end: `q = multiplier · q_driver + offset` (section 5). A writer should have
 * resolved chains; otherwise they are resolved here. A joint in a cycle follows none.
 */
export function resolveMimics(joints: readonly JointData[], place: string, problems: Problems): (MimicData | undefined)[] {
  return joints.map((joint, index) => {
    if (joint.mimic === undefined) return undefined;
    let { joint: driver, multiplier, offset } = joint.mimic;
    const passed = new Set([index]);
    for (let next = joints[driver]?.mimic; next !== undefined; next = joints[driver]?.mimic) {
      if (passed.has(driver)) break;
      passed.add(driver);
      offset += multiplier * next.offset;
      multiplier *= next.multiplier;
      driver = next.joint;
    }
    if (passed.has(driver)) {
      problems.add(`${place}.joints[${index}].mimic`, 'the joints it follows go in a circle; it follows none');
      return undefined;
    }
    return { joint: driver, multiplier, offset };
  });
}
