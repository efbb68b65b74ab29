import {
  type AdapterContext,
  type ApiAccess,
  type AvailabilityReport,
  errorDataOf,
  fieldsOrNone,
  parseJson,
} from "bulkhead/plugin-sdk";
import { askForModels } from "./ask.ts";
import { failureKind, failureMessage } from "./failures.ts";

/** Whether the API could answer now, by its list of models. */
export async function probeApi(ctx: AdapterContext, mode: ApiAccess): Promise<AvailabilityReport> {
  try {
    const response = await askForModels(ctx, mode);
    const body = await response.text();
    if (response.ok) {
      // A page that asks to sign in to a network is answered with 200 as well.
      return Array.isArray(fieldsOrNone(parseJson(body))["data"])
        ? { availability: "available", reason: "The API answers." }
        : { availability: "incompatible", reason: "What answers gives no list of models.", next_step: checkEndpoint };
    }
    return turnedAway({ status: response.status, headers: response.headers, body });
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    const data = errorDataOf(error);
    const reason = data?.message ?? "The API cannot be asked.";
    if (data?.code === "env_missing") return { availability: "unauthenticated", reason, next_step: setKey };
    if (data?.code === "unavailable") return { availability: "missing", reason };
    return { availability: "unrunnable", reason, ...(data?.hint === undefined ? {} : { next_step: data.hint }) };
  }
}

const checkEndpoint = "Check the endpoint of the access mode, and what stands between this machine and it.";
const setKey = "bulkhead secret set ANTHROPIC_API_KEY";

function turnedAway(failure: Parameters<typeof failureMessage>[0]): AvailabilityReport {
  const reason = failureMessage(failure);
  switch (failureKind(failure)) {
    case "unauthenticated":
      return { availability: "unauthenticated", reason, next_step: setKey };
    case "rate_limit":
      return { availability: "rate_limited", reason };
    case "quota_exhausted":
      return { availability: "quota_exhausted", reason, next_step: "Add credit to the account." };
    case "unavailable":
      return { availability: "unrunnable", reason };
    default:
      return { availability: "incompatible", reason };
  }
}
