import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createHost } from "bulkhead";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../core/packages/permissions/requested-permissions.ts";
import type { AvailabilityReport } from "../../../plugin-sdk/availability.ts";
import type { MockModel } from "../mock-model/mock-model.ts";
import { storeSecret } from "../../../core/walls/secrets/store.ts";
import { type Agent, bundledFor } from "./agent.ts";
import { openPlace } from "./place.ts";

/** Asks an adapter whether its agent is there, where somebody is logged in or where nobody is. */
export async function probe(agent: Agent, models: MockModel, loggedIn: boolean): Promise<AvailabilityReport> {
  const place = await openPlace();
  const model = models.open("text", { workdir: place.workdir, offersTools: agent.tools });
  const prepared = await agent.prepare({ name: "text", model, place });
  const { folder, config = {}, secrets = {}, grant } = prepared;
  const secretsFile = join(place.root, "secrets", "secrets.json");
  for (const [name, value] of Object.entries(loggedIn ? secrets : {})) await storeSecret(secretsFile, { name, value });
  const emptyHome = await realpath(await mkdtemp(join(tmpdir(), "bulkhead-agents-nobody-")));
  const env = { ...agent.probeEnv?.(model), ...(loggedIn ? agent.loginEnv : { HOME: emptyHome }) };
  const before = new Map(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  const host = await createHost({
    root: place.workdir,
    stateDir: join(place.root, "state"),
    bundledDir: bundledFor(prepared),
    secretsFile,
    writeLog: () => {},
  });
  try {
    const asked = requestedWith(await readManifest(folder), config);
    const { id } = await host.registry.register(folder, { isolation: "process", grant: grant ?? asked, config });
    return await host.probe(id);
  } finally {
    await host.close();
    for (const [name, value] of before) value === undefined ? delete process.env[name] : process.env[name] = value;
    for (const root of [place.root, emptyHome]) await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}
