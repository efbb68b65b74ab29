import { type Static, Type } from "@sinclair/typebox";
import { probeWalls } from "../../../ground/platform/os-walls/probe.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { type ApiRoute, json, ok, route } from "../route.ts";
import { oneOf, text } from "../../../sessions/session/schemas/named.ts";

type RunningProgram = Static<typeof program>;

const wall = Type.Object({ name: text, state: oneOf(["active", "missing", "refused"] as const), text });
const program = Type.Object({
  session_id: text,
  plugin_id: text,
  program: text,
  pid: Type.Integer(),
  started_at: text,
});

/** Sessions whose programs are listed. */
const mostSessions = 500;

/** Routes about what holds plugins and agents. */
export const wallRoutes: readonly ApiRoute[] = [
  route({
    id: "listWalls",
    at: "GET /v1/walls",
    summary: "list the walls of this machine, and the programs that run behind them now",
    scope: "read",
    answers: ok("both", Type.Object({ walls: Type.Array(wall), programs: Type.Array(program) })),
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
    at: "POST /v1/plugins/{id}/release",
    summary: "lift a plugin's quarantine and forget its crashes",
    scope: "admin",
    answers: ok("whether it had any", Type.Object({ plugin_id: text, released: Type.Boolean() })),
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
