import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { launcherArguments, starterArguments } from "../../../../core/ground/platform/processes/launcher-script.ts";
import { skipBecause } from "../../../skip-because.ts";

test.for([["launcher", launcherArguments], ["starter", starterArguments]] as const)(
  "the script of the %s is one that Perl can read",
  ([, argumentsOf], context) => {
    const [way, text = ""] = argumentsOf() ?? [];
    if (way === undefined) skipBecause(context, "no script is known for this kind of processor");
    // Strict, so that a name is told which one of its files has and the other lacks.
    const { error, stderr } = spawnSync("perl", ["-c", "-Mstrict", "-e", text], { encoding: "utf8" });
    if (error !== undefined) skipBecause(context, `Perl does not start: ${error.message}`);
    expect({ way, stderr }).toEqual({ way: "-e", stderr: "-e syntax OK\n" });
  },
);
