import { grantCommand, grantTarget } from "../../../ground/config/grant-command.ts";
import { Type } from "@sinclair/typebox";
import type { PermissionOption, PermissionRequestEvent, QuestionEvent } from "../../../../plugin-sdk/events.ts";
import { exactly } from "../../../../plugin-sdk/schema.ts";
import type { SessionSummary, WaitingRequest } from "../../../../plugin-sdk/session-summary.ts";
import { nextTurn } from "../../../ground/platform/engine/next-turn.ts";
import type { HostWorkspaces } from "../../../sessions/host/state/workspaces.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { callerPlugins, type PluginFacts } from "../plugin-facts.ts";
import type { WaitingItem } from "../waiting-item.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";

const item = named(
  "WaitingItem",
  exactly<WaitingItem>()(Type.Object({
    kind: oneOf(["permission", "question", "grant", "quarantine", "conflict", "held"] as const),
    id: text,
    at: maybe(text),
    deadline: maybe(text),
    deadline_cut_from_ms: maybe(count),
    session_id: maybe(text),
    adapter_id: maybe(text),
    plugin_id: maybe(text),
    title: text,
    tool: maybe(text),
    text,
    command: maybe(text),
    input: Type.Unknown(),
    request_id: maybe(text),
    choices: Type.Array(Type.Object({
      id: text,
      label: text,
      kind: oneOf(["allow_once", "allow_always", "reject_once", "reject_always", "other"] as const),
    })),
    hint: maybe(text),
  })),
);

/** Events before a session's newest one that are searched for its open requests: an agent that waits says little. */
const searched = 2000;
/** Most waiting sessions to search. */
const mostSessions = 100;

/** Routes for what waits for a person: requests, missing grants, quarantined plugins, conflicts, held changes. */
export const waitingRoutes: readonly ApiRoute[] = [
  route({
    id: "listWaiting",
    at: "GET /v1/waiting",
    summary: "list everything that waits for a person, the oldest first",
    scope: "own",
    answers: ok("all of it", Type.Object({ items: Type.Array(item) })),
    async handle({ sessions, workspaces, caller }, { facts }) {
      const running = await sessions.list({ state: "running", limit: 500 });
      const asking = running.filter(({ waiting }) => waiting.length > 0).slice(0, mostSessions);
      const requests = (await Promise.all(asking.map((one) => requestItems(one, sessions)))).flat();
      const plugins = await pluginItems(callerPlugins(caller, facts.plugins));
      const conflicts = await conflictItems(workspaces, sessions);
      const held = await heldItems(workspaces, sessions);
      return json({
        items: [...requests, ...plugins, ...conflicts, ...held].sort((a, b) => (a.at ?? "").localeCompare(b.at ?? "")),
      });
    },
  }),
];

type AskingEvent = PermissionRequestEvent | QuestionEvent;

async function requestItems(summary: SessionSummary, sessions: SessionHost): Promise<WaitingItem[]> {
  const { session_id, adapter_id, title, waiting, last_seq } = summary;
  const asked = await askingEvents(summary, sessions).catch(() => new Map<string, AskingEvent>());
  return waiting.map((request) => ({
    ...itemOf(request, asked.get(request.request_id)),
    id: `${session_id} ${request.request_id}`,
    at: request.asked_at ?? null,
    deadline: request.answer_by ?? null,
    deadline_cut_from_ms: request.answer_cut_from_ms ?? null,
    session_id,
    adapter_id,
    plugin_id: null,
    title,
    command: null,
    request_id: request.request_id,
    hint: last_seq === 0 ? null : `bulkhead session answer ${session_id}`,
  }));
}

function itemOf(
  { type, text, choices }: WaitingRequest,
  event: AskingEvent | undefined,
): Pick<WaitingItem, "kind" | "text" | "tool" | "input" | "choices"> {
  if (type === "question") return { kind: "question", text, tool: null, input: null, choices: choices.map(choiceOf) };
  if (event?.type !== "permission_request") {
    return { kind: "permission", text, tool: null, input: null, choices: choices.map(choiceOf) };
  }
  const { title, tool, input = null, options } = event;
  return { kind: "permission", text: title, tool, input, choices: options };
}

function choiceOf(id: string): PermissionOption {
  return { id, label: id, kind: "allow_once" };
}

/** The events of a session's open requests, with all that the summary leaves out. */
async function askingEvents(
  { session_id, waiting, last_seq }: SessionSummary,
  sessions: SessionHost,
): Promise<Map<string, AskingEvent>> {
  const wanted = new Set(waiting.map(({ request_id }) => request_id));
  const found = new Map<string, AskingEvent>();
  const session = await sessions.open(session_id);
  for await (const { seq, event } of session.events({ after: Math.max(0, last_seq - searched) })) {
    if ((event.type === "permission_request" || event.type === "question") && wanted.has(event.request_id)) {
      found.set(event.request_id, event);
    }
    if (found.size === wanted.size || seq >= last_seq) break;
  }
  return found;
}

async function pluginItems(plugins: Pick<PluginFacts, "list" | "permissions">): Promise<WaitingItem[]> {
  const all = await plugins.list();
  const quarantined = all.filter(({ quarantine }) => quarantine !== null).map(({ id, quarantine }): WaitingItem => ({
    ...ofPlugin(id),
    kind: "quarantine",
    id: `quarantine ${id}`,
    at: quarantine?.quarantined_at ?? null,
    title: `${id} is in quarantine`,
    text: quarantine?.crashes.at(-1)?.message ?? "It crashed too often.",
    command: `bulkhead plugin release ${id}`,
  }));
  const missing: WaitingItem[] = [];
  for (const { id } of all.filter(({ enabled }) => enabled)) {
    missing.push(...missingGrants(id, plugins));
    // The first to ask after a reload has them explained, each in a turn of its own.
    await nextTurn();
  }
  return [...quarantined, ...missing];
}

function missingGrants(id: string, plugins: Pick<PluginFacts, "permissions">): WaitingItem[] {
  const missing = permissionsOf(id, plugins).filter(({ requested, granted, denied }) =>
    requested && !granted && !denied
  );
  return missing.map((row) => {
    const { permission, target, why } = row;
    const granted = grantTarget(row);
    return {
      ...ofPlugin(id),
      kind: "grant",
      id: `grant ${id} ${permission}:${target}`,
      at: null,
      title: `${id} asks for ${permission}: ${target}`,
      text: why,
      input: { permission, target: granted },
      command: permission === "run_env" || permission === "limits"
        ? null
        : grantCommand(id, permission, { target: granted }),
    };
  });
}

/** None of a plugin that a reload took out meanwhile, or that cannot be explained: its own page says why. */
function permissionsOf(
  id: string,
  plugins: Pick<PluginFacts, "permissions">,
): ReturnType<PluginFacts["permissions"]> {
  try {
    return plugins.permissions(id);
  } catch {
    return [];
  }
}

/** Changes that were to be applied and could not be, until they are applied or discarded. */
async function conflictItems(
  workspaces: Pick<HostWorkspaces, "list">,
  sessions: Pick<SessionHost, "get">,
): Promise<WaitingItem[]> {
  const all = await workspaces.list();
  return await Promise.all(all.flatMap(({ session_id, running, conflict }) => {
    if (running || conflict === null) return [];
    const { at, message, hint, paths } = conflict;
    // Retention may have taken the session's events.
    const summary = sessions.get(session_id).catch(() => null);
    return [summary.then((session): WaitingItem => ({
      ...ofSession(session_id, { kind: "conflict", at, session }),
      text: message,
      command: `bulkhead session apply ${session_id}`,
      input: { paths },
      hint,
    }))];
  }));
}

/** Changes that can run programs, until they are applied or dropped. */
async function heldItems(
  workspaces: Pick<HostWorkspaces, "held">,
  sessions: Pick<SessionHost, "get">,
): Promise<WaitingItem[]> {
  return await Promise.all((await workspaces.held()).map(async ({ session_id, place, folder, at, held }) => {
    const session = await sessions.get(session_id).catch(() => null);
    const count = held.length === 1 ? "1 change" : `${held.length} changes`;
    const where = place === "inplace" ? `in ${folder}` : "in its worktree, not applied";
    return {
      ...ofSession(session_id, { kind: "held", at, session }),
      text: `${count} of this session can run programs: ${where}.`,
      command: `bulkhead session held ${session_id}`,
      input: { place, held },
      hint: null,
    };
  }));
}

const noRequest = { tool: null, deadline: null, deadline_cut_from_ms: null, request_id: null, choices: [] };

function ofPlugin(id: string): Omit<WaitingItem, "kind" | "id" | "at" | "title" | "text" | "command"> {
  return { ...noRequest, session_id: null, adapter_id: null, input: null, hint: null, plugin_id: id };
}

function ofSession(
  session_id: string,
  { kind, at, session }: Pick<WaitingItem, "kind" | "at"> & { session: SessionSummary | null },
): Omit<WaitingItem, "text" | "command" | "input" | "hint"> {
  const { adapter_id = null, title = session_id } = session ?? {};
  return { ...noRequest, kind, id: `${kind} ${session_id}`, at, session_id, adapter_id, plugin_id: null, title };
}
