import type { Rule } from "../rule.ts";
import { availabilityRules } from "./availability.ts";
import { eventRules } from "./events.ts";
import { memberRules } from "./members.ts";
import { packageRules } from "./package.ts";
import { promiseRules } from "./promises.ts";
import { toolRules } from "./tools.ts";
import { turnRules } from "./turns.ts";
import { usageRules } from "./usage.ts";
import { wireRules } from "./wire.ts";
import { workRules } from "./work.ts";

/** Every rule, in the order of the report. To add one: an entry in the file of its theme. */
export const rules: readonly Rule[] = [
  ...packageRules,
  ...memberRules,
  ...availabilityRules,
  ...eventRules,
  ...workRules,
  ...promiseRules,
  ...toolRules,
  ...turnRules,
  ...usageRules,
  ...wireRules,
];
