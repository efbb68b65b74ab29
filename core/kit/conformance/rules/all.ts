import type { Rule } from "../rule.ts";
import { acceptsRule } from "./accepts.ts";
import { accessModeStatusRule } from "./access-mode-status.ts";
import { accessModesRule } from "./access-modes.ts";
import { afterEndRule } from "./after-end.ts";
import { availabilityRule } from "./availability.ts";
import { backPressureRule } from "./back-pressure.ts";
import { bundleRule } from "./bundle.ts";
import { cancelRule } from "./cancel.ts";
import { capabilitiesRule } from "./capabilities.ts";
import { capabilityMeansRule } from "./capability-means.ts";
import { claimsRule } from "./claims.ts";
import { costRule } from "./cost.ts";
import { detectorRule } from "./detector.ts";
import { eventIdsRule } from "./event-ids.ts";
import { eventShapeRule } from "./event-shape.ts";
import { healthRule } from "./health.ts";
import { healthAgreesRule } from "./health-agrees.ts";
import { identityRule } from "./identity.ts";
import { initializeRule } from "./initialize.ts";
import { lastWordRule } from "./last-word.ts";
import { lifecycleRule } from "./lifecycle.ts";
import { loadRule } from "./load.ts";
import { manifestRule } from "./manifest.ts";
import { membersRule } from "./members.ts";
import { modelsRule } from "./models.ts";
import { packageRule } from "./package.ts";
import { permissionUndeclaredRule } from "./permission-undeclared.ts";
import { permissionUnusedRule } from "./permission-unused.ts";
import { processLeftRule } from "./process-left.ts";
import { rateLimitSessionRule } from "./rate-limit-session.ts";
import { rateLimitTextsRule } from "./rate-limit-texts.ts";
import { reportsRule } from "./reports.ts";
import { scriptedRule } from "./scripted.ts";
import { sessionsRule } from "./sessions.ts";
import { stateRule } from "./state.ts";
import { textOnceRule } from "./text-once.ts";
import { toolDiesRule } from "./tool-dies.ts";
import { toolExitsRule } from "./tool-exits.ts";
import { toolFloodsRule } from "./tool-floods.ts";
import { toolGarbageRule } from "./tool-garbage.ts";
import { toolHalfLineRule } from "./tool-half-line.ts";
import { toolHangsRule } from "./tool-hangs.ts";
import { toolLongLineRule } from "./tool-long-line.ts";
import { toolMissingRule } from "./tool-missing.ts";
import { toolResultsRule } from "./tool-results.ts";
import { usageRule } from "./usage.ts";

/** Every rule, in the order of the report. To add one: a file here and a line below. */
export const rules: readonly Rule[] = [
  manifestRule,
  packageRule,
  bundleRule,
  loadRule,
  membersRule,
  initializeRule,
  lifecycleRule,
  identityRule,
  capabilitiesRule,
  capabilityMeansRule,
  accessModesRule,
  accessModeStatusRule,
  modelsRule,
  availabilityRule,
  healthRule,
  healthAgreesRule,
  detectorRule,
  rateLimitTextsRule,
  rateLimitSessionRule,
  scriptedRule,
  sessionsRule,
  eventShapeRule,
  eventIdsRule,
  toolResultsRule,
  textOnceRule,
  lastWordRule,
  afterEndRule,
  claimsRule,
  stateRule,
  cancelRule,
  processLeftRule,
  backPressureRule,
  acceptsRule,
  reportsRule,
  permissionUndeclaredRule,
  permissionUnusedRule,
  toolMissingRule,
  toolExitsRule,
  toolGarbageRule,
  toolHalfLineRule,
  toolLongLineRule,
  toolFloodsRule,
  toolHangsRule,
  toolDiesRule,
  usageRule,
  costRule,
];
