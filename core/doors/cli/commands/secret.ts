import { type DefineCommand, examples, type Invocation, tell, tellEach } from "../command.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { longestSecret, readSecrets, removeSecret, secretsFile, storeSecret } from "../../../walls/secrets/store.ts";
import { isName } from "../../../ground/config/permission-problems.ts";
import type { HostManifest } from "../../../ground/config/host-manifest.ts";
import { toolSecrets } from "../../../packages/permissions/requested-permissions.ts";
import { resolveSecrets, secretSource } from "../../../walls/secrets/resolve-secrets.ts";
import { loadManifest } from "../open-host.ts";
import { safeLine } from "../render/agent-text.ts";
import type { Cell } from "../render/table.ts";
import { tableText } from "../show-session.ts";
import { asTyped } from "../render/as-typed.ts";

/** `bulkhead secret set|list|rm`. */
export const defineSecret: DefineCommand = (command, bind) => {
  command.usage("<set|list|rm> [flags]").addHelpText(...examples(
    ["bulkhead secret set API_KEY", "type the value; it is not shown"],
    ["pass show api | bulkhead secret set API_KEY", "or pipe it in; it never stands in an argument"],
    ["bulkhead secret list", "names, where each is, and who may use it"],
    ["bulkhead secret rm API_KEY", "forget it"],
  ));
  command.command("set")
    .description("keep a secret and replace one of that name; the value is typed hidden or piped in")
    .argument("<name>", "letters, digits and _")
    .addHelpText(...examples(["bulkhead secret set API_KEY < key.txt", "one line end at the end is left out"]))
    .action(bind(secretSet));
  command.command("list")
    .description("list secrets, where each is and which plugins may use it, never a value")
    .addHelpText(...examples(["bulkhead secret list --json", "one secret a line"]))
    .action(bind(secretList));
  command.command("rm")
    .description("remove a stored secret")
    .argument("<name>", "name of a stored secret")
    .addHelpText(...examples(["bulkhead secret rm API_KEY", "plugins that use it fail from now on"]))
    .action(bind(secretRemove));
};

/** `bulkhead secret set <name>`. The value is never an argument: other users of the machine could read it there. */
async function secretSet(call: Invocation): Promise<number> {
  const name = checkedName(call.args[0]);
  const file = storeOf(call);
  await storeSecret(file, { name, value: await readValue(name, call) });
  return await tell(call, { name, file }, `Stored: ${name} (${file}).`);
}

async function readValue(name: string, { terminal }: Invocation): Promise<string> {
  if (!terminal.stdin.isTty) return (await terminal.stdin.readAll(4 * longestSecret)).replace(/\r?\n$/, "");
  await terminal.stderr.write(`Value of ${name} (not shown): `);
  const typed = await terminal.stdin.readHiddenLine();
  await terminal.stderr.write("\n");
  if (typed !== null) return typed;
  throw new BulkheadError("interrupted", `Nothing was stored: the value of ${name} was not given.`);
}

/** Returns the file of stored secrets for the person at this terminal. */
export function storeOf({ terminal }: Pick<Invocation, "terminal">): string {
  const env = Object.fromEntries(["HOME", "XDG_DATA_HOME"].map((name) => [name, terminal.env(name)]));
  return secretsFile(env);
}

/**
 * Checks a secret's name as typed.
 * @throws {BulkheadError} `invalid_config`
 */
export function checkedName(typed: string | undefined): string {
  if (typed !== undefined && typed.length <= 256 && isName(typed)) return typed;
  throw new BulkheadError("invalid_config", "That is not the name of a secret: it has letters, digits and _ only.", {
    hint: "For example: bulkhead secret set API_KEY",
  });
}

async function secretRemove(call: Invocation): Promise<number> {
  const name = checkedName(call.args[0]);
  const file = storeOf(call);
  if (!(await removeSecret(file, name))) {
    throw new BulkheadError("not_found", `No secret "${name}" is stored.`, {
      hint: '"bulkhead secret list" shows where each secret is.',
    });
  }
  return await tell(call, { name, file, removed: true }, `Removed: ${name}.`);
}

interface ListedSecret {
  name: string;
  /** `stored`, `env:NAME` or `file:/path`. */
  source: string;
  /** Whether it has a value now. */
  set: boolean;
  /** Ids of the plugins and tools that may use it. */
  granted_to: string[];
}

async function secretList(call: Invocation): Promise<number> {
  const { terminal } = call;
  const secrets = await listSecrets(await loadManifest(call), storeOf(call));
  const rows = secrets.map(({ name, source, set, granted_to }): Cell[] => [
    { text: name, tone: "bold" },
    safeLine(source),
    set ? { text: "set", tone: "green" } : { text: "missing", tone: "red" },
    granted_to.length > 0 ? granted_to.join(", ") : { text: "no plugin", tone: "dim" },
  ]);
  return await tellEach(
    call,
    secrets,
    () =>
      rows.length === 0
        ? asTyped('There is no secret. To keep one: "bulkhead secret set API_KEY".')
        : tableText(rows, { terminal, head: ["secret", "where", "value", "granted to"] }),
  );
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
