import { describe, expect, test } from "vitest";
import { confine, demandRequired } from "../../../../core/ground/platform/os-walls/confine.ts";
import {
  type Command,
  defaultOsWallUses,
  type OsWallName,
  osWallNames,
  type ProbedWall,
} from "../../../../core/ground/platform/os-walls/os-wall.ts";
import { probeOsWalls, probeWalls } from "../../../../core/ground/platform/os-walls/probe.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";

const command: Command = { file: "/bin/true", args: ["x"], env: {}, cwd: "/" };
const confinement = { rssMb: 256, openFiles: 64, workers: 2, readable: [] };
const missing: ProbedWall = { active: false, reason: "It was not found.", remedy: "Install it." };
let released: string[] = [];

function fake(name: OsWallName, { breaks = false } = {}): ProbedWall {
  return {
    active: true,
    wrap: (inner) => {
      if (breaks) return Promise.reject(new Error("the kernel said no"));
      const wrapped = { ...inner, file: `/${name}`, args: [inner.file, ...inner.args] };
      return Promise.resolve({ command: wrapped, release: () => Promise.resolve(void released.push(name)) });
    },
  };
}

function found(changes: Partial<Record<OsWallName, ProbedWall>> = {}): Map<OsWallName, ProbedWall> {
  return new Map(osWallNames.map((name) => [name, changes[name] ?? fake(name)]));
}

async function refusal(promise: Promise<unknown>): Promise<BulkheadError> {
  const error: unknown = await promise.then(() => null, (thrown: unknown) => thrown);
  if (error instanceof BulkheadError) return error;
  throw new Error("It was not refused.", { cause: error });
}

describe("confine", () => {
  test("puts every wall around the command, the group outermost and the namespaces innermost", async () => {
    const confined = await confine(command, confinement, { uses: defaultOsWallUses, found: found() });
    expect([confined.command.file, ...confined.command.args])
      .toEqual(["/cgroup", "/priority", "/prlimit", "/bubblewrap", "/bin/true", "x"]);
    expect(confined.walls).toEqual(["cgroup", "priority", "prlimit", "bubblewrap"]);
    released = [];
    await confined.release();
    expect(released.sort()).toEqual([...osWallNames].sort());
  });

  test("leaves out what is missing or switched off", async () => {
    const uses = { ...defaultOsWallUses, prlimit: "off" } as const;
    const { walls } = await confine(command, confinement, { uses, found: found({ cgroup: missing }) });
    expect(walls).toEqual(["priority", "bubblewrap"]);
  });

  test("refuses without a wall that is required, and names it, the reason and what to do", async () => {
    const uses = { ...defaultOsWallUses, bubblewrap: "required" } as const;
    const error = await refusal(confine(command, confinement, { uses, found: found({ bubblewrap: missing }) }));
    expect(error.toJSON()).toMatchObject({
      code: "unavailable",
      message: 'The host manifest requires the wall "bubblewrap", which is missing here: It was not found.',
      hint: "Install it.\nOr set os_walls.bubblewrap to optional in bulkhead.yaml.",
      details: { os_wall: "bubblewrap", reason: "It was not found." },
    });
  });

  test("goes on without an optional wall that breaks when it is used, and refuses without a required one", async () => {
    const broken = found({ prlimit: fake("prlimit", { breaks: true }) });
    const { walls } = await confine(command, confinement, { uses: defaultOsWallUses, found: broken });
    expect(walls).not.toContain("prlimit");
    released = [];
    const uses = { ...defaultOsWallUses, prlimit: "required" } as const;
    const error = await refusal(confine(command, confinement, { uses, found: broken }));
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain("the kernel said no");
    expect(released).toEqual(["bubblewrap"]);
  });
});

test("demandRequired asks nothing of walls that are optional", () => {
  expect(() => demandRequired(defaultOsWallUses, new Map())).not.toThrow();
  expect(() => demandRequired({ ...defaultOsWallUses, cgroup: "required" }, new Map())).toThrow(/cgroup/);
});

test("probeOsWalls tries each mechanism once, and probeWalls says of each what it does or why it is missing", async () => {
  const first = await probeOsWalls();
  expect(await probeOsWalls()).toBe(first);
  const reports = await probeWalls();
  for (const name of osWallNames) {
    const wall = first.get(name);
    const report = reports.find((one) => one.name === name);
    expect(report?.state).toBe(wall?.active ? "active" : wall?.refused ? "refused" : "missing");
    if (wall?.active === false) expect(report?.detail.startsWith(`${wall.reason} Without it, `)).toBe(true);
    if (wall?.active === false) expect(report?.remedy).toBe(wall.remedy);
  }
});
