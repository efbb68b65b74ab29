import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import { textOrBase64 } from "../../../ground/runtime/text-or-base64.ts";
import type { SessionDiffs } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import type { McpTool } from "../surface.ts";

/** Bytes of a patch that a model is given; a longer one would fill its context. */
const mostBytes = 256 * 1024;

const input = Type.Object({ session_id: Type.String() }, closed);

const data = Type.Object({
  session_id: Type.String(),
  artifacts: Type.Array(Type.Object({ path: Type.String() }, { additionalProperties: true })),
  patch: Type.Union([Type.String(), Type.Null()], { description: "For git apply; null where patch_reason says why." }),
  patch_reason: Type.Union([Type.Literal("too_long"), Type.Literal("not_text"), Type.Null()]),
  patch_bytes: Type.Integer(),
});

/** Creates the tool that shows what a session changed in its worktree. */
export function diffSessionTool(workspaces: SessionDiffs): McpTool {
  return makeTool({
    name: "diff_session",
    title: "Show a session's changes",
    description: "Shows what a session changed in its worktree, as a patch. The session must have been started with " +
      'workspace "worktree", and its changes must be neither applied nor discarded.',
    hints: { reads_only: true },
    input,
    data,
    async call({ session_id }) {
      const { artifacts, patch } = await workspaces.diff(session_id);
      const held = textOrBase64(patch);
      const patch_reason = patch.byteLength > mostBytes ? "too_long" : "text" in held ? null : "not_text";
      const shown = patch_reason === null && "text" in held ? held.text : null;
      return success({ data: { session_id, artifacts, patch: shown, patch_reason, patch_bytes: patch.byteLength } });
    },
  });
}
