import { Type } from "@sinclair/typebox";
import type { PermissionOption, PermissionRequestEvent, QuestionEvent } from "../../../../plugin-sdk/events.ts";
import { closed, exactly } from "../../../../plugin-sdk/schema.ts";
import type { SessionSummary, WaitingRequest } from "../../../../plugin-sdk/session-summary.ts";
import { workedIn, type Workspace } from "../../../../plugin-sdk/workspace.ts";
import type { HostWorkspaces } from "../../../sessions/host/state/workspaces.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { callerPlugins, type PluginFacts } from "../plugin-facts.ts";
import { refusedGrants } from "../refused-grants.ts";
import { noRequest, type WaitingItem } from "../waiting-item.ts";
import { type ApiRoute, type ApiRouteDeps, json, ok, route } from "../route.ts";
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
    workdir: maybe(text),
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

const asideBody = Type.Object({
  id: Type.String({ pattern: "^(grant|quarantine) [a-z0-9-]{1,64}$" }),
  at: Type.String({ pattern: "^[0-9T:.-]{19,27}Z$", description: "at of the item" }),
}, closed);

/** Events before a session's newest one that are searched for its open requests: an agent that waits says little. */
const searched = 2000;
/** Most waiting sessions to search. */
const mostSessions = 100;

/** Routes for what waits for a person: requests, missing grants, quarantined plugins, conflicts, held changes. */
export const waitingRoutes: readonly ApiRoute[] = [
  route({
    id: "listWaiting",
    at: "GET /v1/waiting",
    summary: "list everything that waits for a person, what ends first before the rest",
    scope: "own",
    answers: ok("all of it", Type.Object({ items: Type.Array(item) })),
    async handle({ sessions, workspaces, caller }, { facts }) {
      const running = await sessions.list({ state: "running", limit: 500 });
      const asking = running.filter(({ waiting }) => waiting.length > 0).slice(0, mostSessions);
      const requests = (await Promise.all(asking.map((one) => requestItems(one, sessions)))).flat();
      const plugins = await pluginItems(callerPlugins(caller, facts.plugins), facts);
      const trees = await workspaces.list();
      const conflicts = await conflictItems(trees, sessions);
      const held = await heldItems(workspaces, sessions);
      const items = [...requests, ...plugins, ...conflicts, ...held].map((one) => ({
        ...one,
        // People know a repository, and no worktree of it.
        workdir: trees.find((tree) => workedIn(tree, one.session_id ?? ""))?.workdir ?? one.workdir,
      }));
      return json({ items: items.sort(mostUrgentFirst) });
    },
  }),
  route({
    id: "putAside",
    at: "POST /v1/waiting/aside",
    summary: "put off what waits about a plugin, until something newer asks for it",
    scope: "admin",
    body: asideBody,
    answers: { 204: { summary: "it is put off" } },
    async handle({ body: { id, at } }, { facts }) {
      await facts.aside.put(id, at);
      return new Response(null, { status: 204 });
    },
  }),
];

/** Orders what waits: by its end, then requests without one, then changes, then plugins; of like ones the older first. */
function mostUrgentFirst(a: WaitingItem, b: WaitingItem): number {
  const weight = ({ request_id, session_id }: WaitingItem) => request_id !== null ? 0 : session_id !== null ? 1 : 2;
  const end = ({ deadline }: WaitingItem) => deadline ?? "9999";
  return end(a).localeCompare(end(b)) || weight(a) - weight(b) || (a.at ?? "").localeCompare(b.at ?? "");
}

type AskingEvent = PermissionRequestEvent | QuestionEvent;

async function requestItems(summary: SessionSummary, sessions: SessionHost): Promise<WaitingItem[]> {
  const { session_id, workdir, adapter_id, title, waiting, last_seq } = summary;
  const asked = await askingEvents(summary, sessions).catch(() => new Map<string, AskingEvent>());
  return waiting.map((request) => ({
    ...itemOf(request, asked.get(request.request_id)),
    id: `${session_id} ${request.request_id}`,
    at: request.asked_at ?? null,
    deadline: request.answer_by ?? null,
    deadline_cut_from_ms: request.answer_cut_from_ms ?? null,
    session_id,
    workdir,
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

async function pluginItems(
  plugins: Pick<PluginFacts, "list" | "standing">,
  { history, aside }: Pick<ApiRouteDeps["facts"], "history" | "aside">,
): Promise<WaitingItem[]> {
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
  const enabled = all.filter((one) => one.enabled).map(({ id }) => id);
  const refused = enabled.length === 0 ? [] : await refusedGrants(enabled, { plugins, history });
  const items = [...quarantined, ...refused];
  const until = await Promise.all(items.map(({ id }) => aside.until(id)));
  return items.filter(({ at }, index) => (at ?? "") > until[index]!);
}
/** Changes that were to be applied and could not be, until they are applied or discarded. */
async function conflictItems(
  all: readonly Workspace[],
  sessions: Pick<SessionHost, "get">,
): Promise<WaitingItem[]> {
  return await Promise.all(all.flatMap(({ session_id, running, conflict, folder }) => {
    if (running || conflict === null) return [];
    const { at, message, hint, paths } = conflict;
    // Retention may have taken the session's events.
    const summary = sessions.get(session_id).catch(() => null);
    return [summary.then((session): WaitingItem => ({
      ...ofSession(session_id, { kind: "conflict", at, session }),
      text: message,
      command: `bulkhead session apply ${session_id}`,
      input: { paths, folder },
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

function ofPlugin(id: string): Omit<WaitingItem, "kind" | "id" | "at" | "title" | "text" | "command"> {
  const none = { session_id: null, workdir: null, adapter_id: null, input: null, hint: null };
  return { ...noRequest, ...none, plugin_id: id };
}

function ofSession(
  session_id: string,
  { kind, at, session }: Pick<WaitingItem, "kind" | "at"> & { session: SessionSummary | null },
): Omit<WaitingItem, "text" | "command" | "input" | "hint"> {
  const { adapter_id = null, title = session_id, workdir = null } = session ?? {};
  return {
    ...noRequest,
    kind,
    id: `${kind} ${session_id}`,
    at,
    session_id,
    workdir,
    adapter_id,
    plugin_id: null,
    title,
  };
}
