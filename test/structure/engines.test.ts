import minVersion from "semver/ranges/min-version.js";
import satisfies from "semver/functions/satisfies.js";
import { expect, test } from "vitest";
import { readSource } from "./source.ts";

interface LockFile {
  packages: Record<string, { version?: string; engines?: { node?: string } }>;
}

test("every package that npm ci installs runs on the oldest Node that ours promises", () => {
  const { packages } = JSON.parse(readSource("package-lock.json")) as LockFile;
  const oldest = minVersion(packages[""]?.engines?.node ?? "");
  expect(oldest?.version).toBe("20.19.0");
  const newer = Object.entries(packages).flatMap(([path, { version, engines }]) =>
    engines?.node === undefined || satisfies(oldest!, engines.node) ? [] : [`${path} ${version}: ${engines.node}`]
  );
  expect(newer).toEqual([]);
});
