import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { toolSecrets } from "../../../packages/registry/requested-permissions.ts";
import { resolveSecrets, secretSource } from "../../../walls/secrets/resolve-secrets.ts";
import { readSecrets } from "../../../walls/secrets/store.ts";
import type { Invocation } from "../command.ts";
import { loadManifest } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import { createPaint } from "../render/paint.ts";
import { tableLines } from "../render/table.ts";
import { tableColumns } from "../show-session.ts";
import { storeOf } from "../secret-arguments.ts";
import { asTyped } from "../render/as-typed.ts";

/** A secret without its value. */
interface ListedSecret {
  name: string;
  /** `stored`, `env:NAME` or `file:/path`. */
  source: string;
  /** Whether it has a value now. */
  set: boolean;
  /** Ids of the plugins and tools that may use it. */
  granted_to: string[];
}

/** `bulkhead secret list`. */
export async function secretList(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const secrets = await listSecrets(await loadManifest(call), storeOf(call));
  if (json) {
    for (const secret of secrets) await terminal.stdout.write(`${JSON.stringify(secret)}\n`);
    return 0;
  }
  if (secrets.length === 0) {
    await terminal.stdout.write(asTyped('There is no secret. To keep one: "bulkhead secret set API_KEY".\n'));
    return 0;
  }
  const lines = tableLines(
    secrets.map(({ name, source, set, granted_to }) => [
      { text: name, tone: "bold" },
      safeLine(source),
      set ? { text: "set", tone: "green" } : { text: "missing", tone: "red" },
      granted_to.length > 0 ? granted_to.join(", ") : { text: "no plugin", tone: "dim" },
    ]),
    {
      paint: createPaint(terminal.colours.stdout),
      columns: tableColumns(terminal),
      indent: 1,
      head: ["secret", "where", "value", "granted to"],
    },
  );
  await terminal.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

/** Lists all secrets that are stored, named in the host manifest, or granted there. */
async function listSecrets(manifest: HostManifest | undefined, file: string): Promise<ListedSecret[]> {
  const references = manifest?.secrets ?? {};
  const grants = grantedNames(manifest);
  const names = [...(await readSecrets(file)).keys(), ...Object.keys(references), ...grants.map(({ name }) => name)];
  const sorted = [...new Set(names)].sort();
  return await Promise.all(sorted.map(async (name) => {
    const { from } = secretSource(name, references);
    // One unusable value must not hide the others.
    const values = await resolveSecrets([name], { references, file }).catch(() => new Map());
    return {
      name,
      source: from === "stored" ? "stored" : references[name]!,
      set: values.has(name),
      granted_to: [...new Set(grants.filter((grant) => grant.name === name).map(({ id }) => id))].sort(),
    };
  }));
}

function grantedNames(manifest: HostManifest | undefined): { id: string; name: string }[] {
  const plugins = Object.entries(manifest?.plugins ?? {}).flatMap(([id, { enabled, grant }]) =>
    enabled ? (grant.secrets ?? []).map(({ name }) => ({ id, name })) : []
  );
  const tools = Object.entries(manifest?.tools ?? {}).flatMap(([id, tool]) =>
    toolSecrets(tool).map(({ name }) => ({ id, name }))
  );
  return [...plugins, ...tools];
}
