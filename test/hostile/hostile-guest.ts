import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defaultLimits, type Limits } from "../../core/ground/config/limits.ts";
import { Lane } from "../../core/walls/pool/lane.ts";
import type { Container } from "../../core/walls/pool/lane-transport.ts";
import { startProcessContainer } from "../../core/walls/pool/process-container.ts";
import { wardenFile } from "../../core/walls/pool/spare-container.ts";
import { defaultOsWallUses } from "../../core/ground/platform/os-walls/os-wall.ts";

const made: { container: Container; folder: string }[] = [];

/** Ends what {@link hostileGuest} started, and removes its folders. */
export async function endHostileGuests(): Promise<void> {
  for (const { container, folder } of made.splice(0)) {
    await container.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Two threads of a guest of the test's own, in our warden; without lockdown, as one that broke out would be. */
export interface HostileGuest {
  container: Container;
  /** Starts another thread. */
  openLane(): Lane;
}

/**
 * Starts our warden with a guest of the test's own.
 * @param serve body of the guest's `serve({ port, lane })`; `send(message)` sends as a guest would, `process` is there
 */
export async function hostileGuest(serve: string, changes: Partial<Limits> = {}): Promise<HostileGuest> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-hostile-"));
  await cp(dirname(wardenFile), folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(
    join(folder, "guest.js"),
    `${prelude}import { Socket } from "node:net";
export function serve({ port, lane, descriptor }) {
  const pipe = descriptor === undefined ? null : new Socket({ fd: descriptor, readable: true, writable: true });
  const send = (message) => {
    const payload = new TextEncoder().encode(JSON.stringify(message));
    const frame = new Uint8Array(8 + payload.length);
    new DataView(frame.buffer).setUint32(0, payload.length, true);
    new DataView(frame.buffer).setUint32(4, lane, true);
    frame.set(payload, 8);
    if (pipe) pipe.write(frame);
    else port.postMessage({ buffer: frame.buffer, length: frame.length }, [frame.buffer]);
  };
  port.on("message", () => {});
  ${serve}
  return new Promise(() => {});
}
`,
  );
  const limits = { ...defaultLimits, ...small, ...changes };
  const container = await startProcessContainer(join(folder, "warden.js"), { limits, osWalls: defaultOsWallUses });
  made.push({ container, folder });
  return { container, openLane: () => new Lane(container.openLane(), { pluginId: "acme", script: "1", limits }) };
}

/** A lane to a program of the test's own in the warden's place. */
export async function hostileWarden(script: string): Promise<{ lane: Lane; container: Container }> {
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-hostile-"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "warden.js"), `${prelude}${script}`);
  const limits = { ...defaultLimits, ...small };
  const container = await startProcessContainer(join(folder, "warden.js"), { limits, osWalls: defaultOsWallUses });
  made.push({ container, folder });
  return { container, lane: new Lane(container.openLane(), { pluginId: "acme", script: "1", limits }) };
}

const small: Partial<Limits> = {
  load_timeout_ms: 10_000,
  heartbeat_interval_ms: 100,
  heartbeat_timeout_ms: 1500,
  warden_grace_ms: 500,
  rss_mb: 512,
};

const prelude = 'import process from "node:process";\n';
