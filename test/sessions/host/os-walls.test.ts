import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { defaultOsWallUses, type OsWallName, osWallNames } from "../../../core/ground/platform/os-walls/os-wall.ts";
import { probeOsWalls } from "../../../core/ground/platform/os-walls/probe.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { adapterCode, completed, openHost } from "./test-host.ts";
import { skipBecause } from "../../skip-because.ts";

const greets = adapterCode(`yield ${completed};`);

describe("a plugin's warden", () => {
  test("answers a buffer of 2 GiB with an error of the adapter's own, or with the end of its worker", async (context) => {
    await needsWall(context, "prlimit");
    const { add, run } = await openHost();
    await add("greedy", {
      code: adapterCode(`
        let thrown = "nothing";
        try { new ArrayBuffer(2 * 2 ** 30); } catch (error) { thrown = error.name; }
        yield { type: "output", stream: "stdout", data: thrown };
        yield ${completed};`),
      // Each worker that may start adds V8's code range to the ceiling (see prlimit.ts): with room for four, two
      // gigabytes that are mapped and never touched would fit.
    }, { limits: { workers: 1 } });
    const watch = watchPeak();
    const { result } = await run("greedy");
    expect(watch.stop()).toBeLessThan(1024);
    if (result.outcome === "completed") expect(result.output).toContain("RangeError");
    else expect(result.error?.code).toBe("out_of_memory");
  });

  test("never holds more memory than it may, however fast it takes it, and the next session runs", async (context) => {
    await needsWall(context, "prlimit");
    const { add, run } = await openHost();
    const limits = { rss_mb: 256, workers: 1 };
    await add("greedy", {
      code: adapterCode(`
        const kept = [];
        if (request.prompt === "be good") return yield ${completed};
        for (;;) kept.push(new Uint8Array(32 * 2 ** 20).fill(1));`),
    }, { limits });
    const watch = watchPeak();
    const { result } = await run("greedy");
    const peak = watch.stop();
    expect(result.outcome).toBe("error");
    expect(peak).toBeGreaterThan(100);
    // Beside what the limit counts there are the pages of the executable, which all processes that run it share.
    expect(peak).toBeLessThan(256 + 96);
    expect((await run("greedy", { prompt: "be good" })).result.outcome).toBe("completed");
  });

  test("is behind every wall that the machine has, and gone with all of them when the host closes", async (context) => {
    await needsWall(context, "bubblewrap");
    const { add, run, host } = await openHost();
    await add("greeter", { code: greets });
    expect((await run("greeter")).result.outcome).toBe("completed");
    const wardens = ownWardens();
    expect(wardens.length).toBeGreaterThan(0);
    const innermost = wardens.at(-1)!;
    // Its own namespaces are not the host's.
    expect(status(innermost, "NSpid").split(/\s+/).length).toBeGreaterThan(1);
    expect(Number(status(innermost, "CapEff"))).toBe(0);
    expect(status(innermost, "NoNewPrivs")).toBe("1");
    await host.close();
    expect(ownWardens()).toEqual([]);
  });
});

describe("os_walls", () => {
  test("lets a plugin start without what is switched off", async () => {
    const { add, run } = await openHost();
    const os_walls = Object.fromEntries(osWallNames.map((name) => [name, "off"])) as Record<OsWallName, "off">;
    await add("greeter", { code: greets }, { os_walls });
    const { result } = await run("greeter");
    expect(result.outcome, result.error?.message).toBe("completed");
    expect(ownWardens().map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8")).join()).not.toContain("bwrap");
  });

  test("refuses to start a plugin without a wall that is required, and names what is missing", async (context) => {
    const found = await probeOsWalls();
    const gone = osWallNames.find((name) => !found.get(name)?.active);
    if (gone === undefined) return skipBecause(context, "this machine lacks no wall");
    const { add, run } = await openHost();
    await add("greeter", { code: greets }, { os_walls: { [gone]: "required" } });
    const { result } = await run("greeter");
    expect(result.stop_reason).toBe("unavailable");
    expect(result.error).toMatchObject({ code: "unavailable", message: expect.stringContaining(`"${gone}"`) });
    expect(ownWardens()).toEqual([]);
  });

  test("refuses a thread for a plugin that requires a wall", async () => {
    const { add, run } = await openHost();
    await add("greeter", { code: greets }, { trusted: true, isolation: "thread", os_walls: { prlimit: "required" } });
    const { result } = await run("greeter");
    expect(result.error).toMatchObject({
      code: "unavailable",
      message: 'Plugin "greeter" requires the wall "prlimit" and is to run in a thread.',
    });
  });

  test("of one plugin go over those for all, and those over the defaults", async () => {
    const { host, add } = await openHost({
      manifest: {
        bulkhead: 1,
        plugins: {},
        tools: { shout: { binary: "tr", command_template: "{binary} a-z A-Z", grant: {} } },
        routing: { agent: "auto" },
        limits: {},
        os_walls: { prlimit: "off", bubblewrap: "required" },
      },
    });
    await add("greeter", { code: greets }, { os_walls: { bubblewrap: "optional" } });
    expect(host.registry.get("greeter")?.os_walls).toEqual({ ...defaultOsWallUses, prlimit: "off" });
    expect(host.registry.get("shout")?.os_walls)
      .toEqual({ ...defaultOsWallUses, prlimit: "off", bubblewrap: "required" });
  });
});

/** Processes below this one that run a warden's bundle, the innermost last. */
function ownWardens(): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const parent = Number(status(Number(name), "PPid"));
    if (parent > 0) parents.set(Number(name), parent);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
      if (at === process.pid) return true;
    }
    return false;
  };
  return [...parents.keys()].sort((a, b) => a - b).filter((pid) => {
    return pid !== process.pid && isBelow(pid) && read(`/proc/${pid}/cmdline`).includes("/walls/warden.js");
  });
}

function status(pid: number, name: string): string {
  return new RegExp(`^${name}:\\s+(.*)$`, "m").exec(read(`/proc/${pid}/status`))?.[1] ?? "";
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Highest resident memory of any warden from now on, in megabytes. */
function watchPeak(): { stop(): number } {
  let peak = 0;
  const look = () => {
    for (const pid of ownWardens()) peak = Math.max(peak, Number.parseInt(status(pid, "VmHWM") || "0", 10) / 1024);
  };
  const timer = setInterval(look, 2);
  return {
    stop() {
      clearInterval(timer);
      return peak;
    },
  };
}
