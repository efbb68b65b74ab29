import {
  type AdapterContext,
  type AvailabilityReport,
  errorDataOf,
  type FetchResponse,
  fieldsOrNone,
  parseJson,
} from "bulkhead/plugin-sdk";
import type { Access } from "./access.ts";
import { askForModels } from "./ask.ts";
import { failureKind, failureMessage, type ServerFailure } from "./failures.ts";

/** Whether the server could answer now, by its list of models. */
export async function probeServer(ctx: AdapterContext, access: Access): Promise<AvailabilityReport> {
  let response: FetchResponse;
  let body: string;
  try {
    response = await askForModels(ctx, access);
    body = await response.text();
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    return unreached(access, error);
  }
  if (!response.ok) return turnedAway(access, { status: response.status, headers: response.headers, body });
  const answer = fieldsOrNone(parseJson(body));
  if (Array.isArray(answer["data"]) || Array.isArray(answer["models"])) {
    return { availability: "available", reason: `${access.endpoint} answers.` };
  }
  return {
    availability: "incompatible",
    reason: `${access.endpoint}/models gives no list of models.`,
    next_step: "Check the endpoint: for most servers it ends with /v1.",
  };
}

function unreached({ endpoint, secret }: Access, error: unknown): AvailabilityReport {
  const data = errorDataOf(error);
  const reason = data?.message ?? `${endpoint} cannot be asked.`;
  const hint = data?.hint === undefined ? {} : { next_step: data.hint };
  switch (data?.code) {
    case "env_missing":
      return { availability: "unauthenticated", reason, next_step: `bulkhead secret set ${secret}` };
    case "unavailable":
      return { availability: "missing", reason, next_step: `Start the server of ${endpoint}, or name another one.` };
    default:
      return { availability: "unrunnable", reason, ...hint };
  }
}

function turnedAway({ endpoint, secret }: Access, failure: ServerFailure): AvailabilityReport {
  const reason = failureMessage(failure);
  switch (failureKind(failure)) {
    case "unauthenticated":
      return {
        availability: "unauthenticated",
        reason,
        next_step: secret === null ? `Let ${endpoint} answer without a key.` : `bulkhead secret set ${secret}`,
      };
    case "rate_limit":
      return { availability: "rate_limited", reason };
    case "quota_exhausted":
      return { availability: "quota_exhausted", reason, next_step: "Add credit to the account." };
    case "unavailable":
      return { availability: "unrunnable", reason };
    default:
      return {
        availability: "incompatible",
        reason,
        next_step: "Check the endpoint: for most servers it ends with /v1.",
      };
  }
}
