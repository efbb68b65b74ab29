import type { AccessMode } from "../../../plugin-sdk/access-modes.ts";
import type {
  AcceptedField,
  Manifest,
  ModelEndpoint,
  ReportedFact,
  TalkAbility,
} from "../../../plugin-sdk/manifest.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { Part } from "../../../plugin-sdk/messages.ts";
import { parseCommandTemplate } from "../../../plugin-sdk/command-template.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { BudgetSettings } from "../../ground/config/budget-settings.ts";
import type { Admitted } from "./admitted.ts";
import { isModel } from "./spend/priced-usage.ts";

/** Returns true for a field of a request that the adapter passes to its agent. */
export function accepts(manifest: Manifest, field: AcceptedField): boolean {
  if (manifest.accepts?.includes(field)) return true;
  return field === "model" ? takesModel(manifest) : inTemplate(manifest, field);
}

/** Returns true for a way in which the adapter can talk. */
export function canTalk(manifest: Manifest, ability: TalkAbility): boolean {
  return manifest.accepts?.includes(ability) === true;
}

/** Returns true where words go into a turn of the adapter that a session has entered. */
export function takesSteers({ candidates }: Pick<Admitted, "candidates">, adapter: string | null): boolean {
  const { plugin } = candidates.find((one) => one.plugin.id === adapter) ?? candidates[0];
  return canTalk(plugin.manifest, "steer");
}

/** Returns true for a fact that the adapter reports during a session. */
export function reports(manifest: Manifest, fact: ReportedFact): boolean {
  return manifest.reports?.includes(fact) === true || mapped(manifest, fact);
}

/** Access modes and prices of a session. */
interface Paid {
  modes?: readonly (AccessMode | null)[];
  /** The operator's options of the plugin: those named like a field of `pricing` are prices. */
  options?: Record<string, unknown>;
  /** Whether the host sees the calls of the agent's model; default: no. */
  seesCalls?: boolean;
  /** Places for which the host keeps keys; default: the manifest's. */
  endpoints?: readonly ModelEndpoint[];
  /** The operator's budgets that cover the session, by name. */
  budgets?: readonly (readonly [name: string, budget: BudgetSettings])[];
  /** Whether other machines spend from them, too. */
  inCluster?: boolean;
}

/** Checks whether a price is known for each token. Under a plan, or on one's own machine, there is nothing to price. */
export function isPriced({ model }: SessionRequest, { modes = [], options = {} }: Paid): boolean {
  const isKnown = (prices: object) => priceFields.every((field) => typeof Object(prices)[field] === "number");
  return modes.every((mode) => {
    if (mode?.type !== "api") return true;
    // The operator's prices are of the operator's model.
    if (isKnown(options) && (model === undefined || model === (options["model"] ?? mode.model))) return true;
    return isKnown(mode.pricing) && (model === undefined || isModel(model, mode.model));
  });
}

/** Fields of an access mode's `pricing` without which no cost is known. */
export const priceFields = ["input_per_1k_tokens", "output_per_1k_tokens"] as const;

/** Returns the fields of a request whose limits neither the adapter's agent nor the host could enforce. */
export function unenforceableFields(request: SessionRequest, manifest: Manifest, paid: Paid = {}): string[] {
  const held = (fact: ReportedFact) => reports(manifest, fact);
  const { approval, content = [] } = request;
  // A replay asks no model.
  const budget = request.replay_of === undefined ? request.budget ?? {} : {};
  const meters = paid.seesCalls === true;
  // Without access modes there are no prices.
  const { modes = [null], endpoints: places = manifest.endpoints ?? [] } = paid;
  const prices = modes.every((mode) => mode !== null) && isPriced(request, paid);
  const rows: [field: string, asked: boolean, holds: boolean][] = [
    ["model", request.model !== undefined, accepts(manifest, "model")],
    ["continue_from", request.continue_from !== undefined, accepts(manifest, "continue_from")],
    ["mcp_servers", (request.mcp_servers ?? []).length > 0, accepts(manifest, "mcp_servers")],
    ["allowed_tools", request.allowed_tools !== undefined, accepts(manifest, "allowed_tools") || held("permissions")],
    ["fork", request.fork !== undefined, accepts(manifest, "fork")],
    ["fork.at", request.fork?.at !== undefined, accepts(manifest, "continue_at")],
    ["effort", request.effort !== undefined, accepts(manifest, "effort")],
    ["plan", request.plan === true, accepts(manifest, "plan")],
    ["max_turns", request.max_turns !== undefined, accepts(manifest, "max_turns") || held("turns")],
    ["approval", approval !== undefined && approval !== "all", held("permissions")],
    ["tool_approvals", request.tool_approvals !== undefined, held("permissions")],
    ["record", request.record !== undefined, meters && places.length > 0],
    ["replay_of", request.replay_of !== undefined, places.length > 0],
    // An agent's word comes late, and may be wrong.
    ["budget.cost", budget.cost !== undefined, meters && prices],
    ["budget.tokens", budget.tokens !== undefined, meters],
    ...(paid.budgets ?? []).map(([name, { cost }]): typeof rows[number] => [
      `budgets.${name}`,
      true,
      meters && paid.inCluster !== true && (cost === undefined || prices),
    ]),
    ["budget.turns", budget.turns !== undefined, held("turns")],
    ["budget.tool_calls", budget.tool_calls !== undefined, held("tool_calls")],
  ];
  const lacking = rows.flatMap(([field, asked, holds]) => (asked && !holds ? [field] : []));
  return [...lacking, ...lackedAttachments(content, manifest)];
}

/** Names the kinds of attachments that an adapter does not take. */
export function lackedAttachments(content: readonly Part[], manifest: Manifest): ("images" | "files")[] {
  const kinds = [["image", "images"], ["file", "files"]] as const;
  return kinds.flatMap(([type, kind]) =>
    content.some((part) => part.type === type) && !canTalk(manifest, kind) ? [kind] : []
  );
}

/** Makes the error for an adapter that does not take attachments. */
export function takesNone(pluginId: string, fields: readonly string[]): BulkheadError {
  return new BulkheadError("unenforceable", `Adapter "${pluginId}" cannot give its agent ${fields.join(" and ")}.`, {
    hint:
      "Leave them out, choose another adapter, or set best_effort: then the prompt names where the agent finds them.",
    details: { fields: [...fields] },
  });
}

function takesModel(manifest: Manifest): boolean {
  const { models, cli } = manifest;
  return (models ?? []).length > 0 || cli?.models !== undefined || inTemplate(manifest, "model");
}

/** Checks whether the command template of a tool without code has a placeholder for the field. */
function inTemplate({ cli }: Manifest, field: AcceptedField): boolean {
  return cli !== undefined && parseCommandTemplate(cli.command_template).placeholders.includes(field);
}

/** Checks whether the mapping rules of a tool without code report the fact. */
function mapped({ cli }: Manifest, fact: ReportedFact): boolean {
  if (cli?.output?.format !== "jsonl") return false;
  const events = cli.output.rules.flatMap(({ event }) => (event ? [event] : []));
  const made = (type: string) => events.filter((event) => event["type"] === type);
  switch (fact) {
    case "tool_calls":
      return made("tool_call").length > 0;
    case "tokens":
      return made("usage").some((event) => event["tokens_out"] !== null && event["tokens_out"] !== undefined);
    case "cost":
      return made("usage").some((event) => event["cost"] !== null && event["cost"] !== undefined);
    case "turns":
      return made("usage").some((event) => event["scope"] === "turn");
    case "permissions":
      return false;
  }
}
