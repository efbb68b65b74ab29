import { Type } from "@sinclair/typebox";
import type { FolderState, Workspace, WorkspaceConflict } from "../../../../plugin-sdk/workspace.ts";
import { closed, exactly } from "../../../../plugin-sdk/schema.ts";
import { textOrBase64 } from "../../../ground/platform/files/text-or-base64.ts";
import type { ListedWorkspace } from "../listed-workspace.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { count, maybe, named, oneOf, text } from "../../../sessions/session/schemas/named.ts";
import { artifactSchema, heldSchema } from "../../../sessions/session/schemas/results.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { propertiesOf } from "../../../ground/checks/properties-of.ts";

const maybeText = maybe(text);
const artifacts = Type.Array(artifactSchema);

const held = Type.Array(heldSchema);

const conflict = named(
  "WorkspaceConflict",
  exactly<WorkspaceConflict>()(Type.Object({
    at: text,
    message: text,
    hint: maybeText,
    paths: Type.Array(text),
  })),
);

const workspaceFields = exactly<Workspace>()(Type.Object({
  session_id: text,
  later_sessions: Type.Optional(Type.Array(text)),
  state: oneOf(["opening", "open", "applying", "applied", "discarded"] as const),
  workdir: text,
  repository: text,
  folder: text,
  base_commit: text,
  base_tree: text,
  created_at: text,
  ended_at: maybeText,
  kept_commit: maybeText,
  conflict: maybe(conflict),
  held,
  running: Type.Boolean(),
}));

/** A worktree in a list, with the words by which a person knows its session; null where they are not known. */
const listed = named(
  "Workspace",
  Type.Composite([
    Type.Object(propertiesOf(workspaceFields)),
    Type.Object({ title: maybeText, adapter_id: maybeText }),
  ]),
);

const folderSchema = named(
  "Folder",
  exactly<FolderState>()(Type.Object({
    workdir: text,
    branch: maybeText,
    commit: maybeText,
    uncommitted: maybe(Type.Boolean()),
  })),
);

const folderQuery = Type.Object({
  workdir: Type.String({ minLength: 1, maxLength: 4096, description: "absolute path" }),
}, closed);

const diffQuery = Type.Object({
  path: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 16_384,
    description: "one changed file: its patch alone, with all its lines, and no lists",
  })),
}, closed);

const applyQuery = Type.Object({
  allow_links: Type.Optional(oneOf(["true", "false"] as const)),
  with_held: Type.Optional(
    Type.Array(text, { maxItems: 1000, description: "path of a held change to apply as well; repeat for several" }),
  ),
}, closed);

const pruneBody = Type.Object({
  older_than_ms: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1e15, description: "default: workspaces.keep_ms of the host manifest" }),
  ),
}, closed);

/** Routes for the changes in sessions' worktrees: show them, apply them to the repository, and remove them. */
export const workspaceRoutes: readonly ApiRoute[] = [
  route({
    id: "listWorkspaces",
    at: "GET /v1/workspaces",
    summary: "list the worktrees of sessions with their state",
    scope: "own",
    answers: ok("the oldest first", Type.Object({ workspaces: Type.Array(listed) })),
    handle: async ({ workspaces, sessions }) =>
      json({ workspaces: await Promise.all((await workspaces.list()).map((one) => withWords(one, sessions))) }),
  }),
  route({
    id: "getFolder",
    at: "GET /v1/folder",
    summary: "show the branch or commit of a folder to work in, and whether files there differ from it",
    scope: "run",
    query: folderQuery,
    answers: ok("null for what there is not, outside a repository for example", folderSchema),
    handle: async ({ query: { workdir }, workspaces }) => json(await workspaces.folderState(workdir)),
  }),
  route({
    id: "diffSession",
    at: "GET /v1/sessions/{id}/diff",
    summary: "show what a session changed in its worktree",
    scope: "own",
    query: diffQuery,
    answers: ok(
      "patch, or patch_base64 where it is not UTF-8, is for git apply",
      Type.Object({
        session_id: text,
        artifacts,
        artifacts_omitted: Type.Optional(count),
        held,
        patch: Type.Optional(text),
        patch_base64: Type.Optional(text),
      }),
    ),
    async handle({ params, query, workspaces }) {
      const session_id = params["id"] ?? "";
      const { patch, ...diff } = await workspaces.diff(session_id, query);
      const held = textOrBase64(patch);
      return json({ session_id, ...diff, ..."text" in held ? { patch: held.text } : { patch_base64: held.base64 } });
    },
  }),
  route({
    id: "applySession",
    at: "POST /v1/sessions/{id}/apply",
    summary: "bring a session's changes to the repository, all or none but for what is held, and remove its worktree",
    scope: "run",
    query: applyQuery,
    answers: ok(
      "they are there, not staged",
      Type.Object({
        session_id: text,
        artifacts,
        artifacts_omitted: Type.Optional(count),
        held,
        kept_commit: maybeText,
      }),
    ),
    async handle({ params, query, workspaces }) {
      const choice = { allowLinks: query.allow_links === "true", withHeld: query.with_held };
      return json(await workspaces.apply(params["id"] ?? "", choice));
    },
  }),
  route({
    id: "discardSession",
    at: "POST /v1/sessions/{id}/discard",
    summary: "remove a session's worktree with all that was changed in it",
    scope: "run",
    answers: { 204: { summary: "it is gone" } },
    async handle({ params, workspaces }) {
      await workspaces.discard(params["id"] ?? "");
      return new Response(null, { status: 204 });
    },
  }),
  route({
    id: "pruneWorkspaces",
    at: "POST /v1/workspaces/prune",
    summary: "remove worktrees past their age with all that is in them, except those of running sessions",
    scope: "admin",
    body: pruneBody,
    answers: ok(
      "what was removed, and what could not be",
      Type.Object({
        removed: Type.Array(text),
        failed: Type.Array(Type.Object({ session_id: text, error: Type.Object({ code: text, message: text }) })),
      }),
    ),
    handle: async ({ body: { older_than_ms }, workspaces }) =>
      json(await workspaces.prune(older_than_ms === undefined ? {} : { olderThanMs: older_than_ms })),
  }),
];

async function withWords(one: Workspace, sessions: Pick<SessionHost, "get">): Promise<ListedWorkspace> {
  const waits = one.state !== "applied" && one.state !== "discarded";
  const session = waits ? await sessions.get(one.session_id).catch(() => null) : null;
  return { ...one, title: session?.title ?? null, adapter_id: session?.adapter_id ?? null };
}
