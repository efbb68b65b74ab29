import { describe, expect, test } from "vitest";
import { hostManifestJsonSchema } from "../../core/config/host-manifest-schema.ts";
import { defaultLimits } from "../../core/config/limits.ts";
import { errorTable } from "../../core/errors/error-table.ts";
import { hostEventTypes } from "../../plugin-sdk/envelope.ts";
import { errorCodes } from "../../plugin-sdk/errors.ts";
import { adapterEventTypes } from "../../plugin-sdk/events.ts";
import { manifestSchema } from "../../plugin-sdk/manifest.ts";
import { neutralKinds } from "../../plugin-sdk/normalise.ts";
import { permissionsSchema } from "../../plugin-sdk/permissions.ts";
import { stopReasons } from "../../plugin-sdk/result.ts";
import { readSource } from "./source.ts";

const readme = readSource("README.md");
const rows = readme.split("\n").filter((line) => line.startsWith("|")).map((line) =>
  line.split("|").slice(1, -1).map((cell) => cell.trim())
);

describe("tables of README.md", () => {
  test("errors are those of the code, with their numbers", () => {
    const written = rows.filter((row) => row.length === 5 && row[0]?.startsWith("`"));
    const expected = Object.entries(errorTable).map(([code, row]) => [
      `\`${code}\``,
      errorCodes[code as keyof typeof errorCodes],
      String(row.http_status),
      String(row.exit_code),
      String(row.json_rpc_code),
    ]);
    expect(written).toEqual(expected);
  });

  test("limits are those of the code, with their defaults", () => {
    const written = rows.filter(([name]) => Object.hasOwn(defaultLimits, bare(name))).map((
      [name, value],
    ) => [name, value]);
    const expected = Object.entries(defaultLimits).map((
      [name, value],
    ) => [`\`${name}\``, value.toLocaleString("en-US")]);
    expect(written).toEqual(expected);
  });

  test("events are those of the code, with their neutral kinds", () => {
    const known = new Set<string>(adapterEventTypes);
    const written = rows.filter((row) => row.length === 3 && known.has(bare(row[0]))).map((
      [name, kind],
    ) => [name, kind]);
    expect(written).toEqual(adapterEventTypes.map((type) => [`\`${type}\``, neutralKinds[type] ?? ""]));
  });

  test.each(hostEventTypes.map((type) => [type]))("host event %s is named", (type) => {
    expect(readme).toContain(`\`${type}\``);
  });

  test("settings of routing are those of the host manifest", () => {
    const { routing } = hostManifestJsonSchema()["properties"] as { routing: { properties: object } };
    const keys = Object.keys(routing.properties);
    const from = rows.findIndex(([name]) => name === "Key of `routing`") + 2;
    expect(rows.slice(from, from + keys.length).map(([name]) => bare(name))).toEqual(keys);
    expect(rows[from + keys.length]?.[0]).not.toMatch(/^`[a-z_]+`$/);
  });

  test("permissions and manifest keys are those of the schemas", () => {
    const named = rows.flatMap(([name]) => [...(name ?? "").matchAll(/`([a-z_]+)`/g)].map((match) => match[1]));
    for (const key of Object.keys(permissionsSchema.properties)) expect(named).toContain(key);
    for (const key of Object.keys(manifestSchema.properties)) expect(named).toContain(key);
  });

  test("stop reasons are those of the code, under their outcome", () => {
    const written = rows.filter(([name]) => Object.hasOwn(stopReasons, bare(name))).map((
      [name, reasons],
    ) => [name, reasons]);
    const expected = Object.entries(stopReasons).map(([outcome, reasons]) => [
      `\`${outcome}\``,
      reasons.map((reason) => `\`${reason}\``).join(", "),
    ]);
    // `completed` is an event as well; its row of events has three cells.
    expect(written.filter(([, reasons]) => reasons?.startsWith("`"))).toEqual(expected);
  });
});

function bare(cell: string | undefined): string {
  return (cell ?? "").replaceAll("`", "");
}
