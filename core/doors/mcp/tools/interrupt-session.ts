import { Type } from "@sinclair/typebox";
import { closed } from "../../../../plugin-sdk/schema.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { makeTool, success } from "../answers.ts";
import { resourcesOf, sessionDataSchema } from "../session-data.ts";
import type { McpTool } from "../surface.ts";

const input = Type.Object({ session_id: Type.String() }, closed);

/** Creates the tool that stops a session. */
export function interruptSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "interrupt_session",
    title: "Interrupt a session",
    description: "Stops a running session gracefully, with all its programs, and gives what it came to.",
    hints: { reads_only: false, destroys: true, repeatable: true },
    input,
    data: sessionDataSchema,
    async call({ session_id }) {
      const result = await (await sessions.open(session_id)).interrupt();
      const { confidence, metadata, provenance } = result;
      const { requested: _requested, events: _events, confidence: _c, metadata: _m, provenance: _p, ...data } = result;
      // The caller asked for the interruption, so it is no failure here.
      return success({
        data: { ...data, state: "ended", resources: resourcesOf(session_id) },
        confidence,
        metadata,
        provenance,
      });
    },
  });
}
