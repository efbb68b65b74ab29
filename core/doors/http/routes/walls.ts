import { Type } from "@sinclair/typebox";
import { exactly } from "../../../../plugin-sdk/schema.ts";
import { probeWalls } from "../../../ground/platform/os-walls/probe.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { type ApiRoute, json, route } from "../route.ts";
import { oneOf, text } from "../../../sessions/session/schemas/named.ts";

/** A program that a session has started and that runs now. */
interface RunningProgram {
  session_id: string;
  plugin_id: string;
  program: string;
  pid: number;
  started_at: string;
}

const wall = Type.Object({ name: text, state: oneOf(["active", "missing", "refused"] as const), text });
const program = exactly<RunningProgram>()(Type.Object({
  session_id: text,
  plugin_id: text,
  program: text,
  pid: Type.Integer(),
  started_at: text,
}));

/** Sessions whose programs are listed. */
const mostSessions = 500;

/** Routes about what holds plugins and agents. */
export const wallRoutes: readonly ApiRoute[] = [
  route({
    id: "listWalls",
    method: "GET",
    path: "/v1/walls",
    summary: "list the walls of this machine, and the programs that run behind them now",
    scope: "read",
    answers: {
      200: {
        summary: "both",
        schema: Type.Object({ walls: Type.Array(wall), programs: Type.Array(program) }),
      },
    },
    async handle({ sessions }) {
      const [walls, programs] = await Promise.all([probeWalls(), runningPrograms(sessions)]);
      return json({
        walls: walls.map(({ name, state, detail, remedy }) => ({
          name,
          state,
          text: remedy === undefined ? detail : `${detail}\n${remedy}`,
        })),
        programs,
      });
    },
  }),
  route({
    id: "releasePlugin",
    method: "POST",
    path: "/v1/plugins/{id}/release",
    summary: "lift a plugin's quarantine and forget its crashes",
    scope: "admin",
    answers: {
      200: {
        summary: "whether it had any",
        schema: Type.Object({ plugin_id: text, released: Type.Boolean() }),
      },
    },
    async handle({ params }, { facts }) {
      const plugin_id = params["id"] ?? "";
      return json({ plugin_id, released: await facts.plugins.release(plugin_id) });
    },
  }),
];

async function runningPrograms(sessions: SessionHost): Promise<RunningProgram[]> {
  const running = await sessions.list({ state: "running", limit: mostSessions });
  const lists = await Promise.all(running.map(async ({ session_id, adapter_id }) => {
    const { children } = await sessions.history(session_id);
    return children.filter(({ ended_at }) => ended_at === null).map(({ program, pid, started_at }): RunningProgram => ({
      session_id,
      plugin_id: adapter_id ?? "",
      program,
      pid,
      started_at,
    }));
  }));
  return lists.flat();
}
