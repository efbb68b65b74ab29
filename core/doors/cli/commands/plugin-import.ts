import { stopBundler } from "../../../packages/registry/make-bundle.ts";
import { resolve } from "../../../ground/runtime/paths.ts";
import type { Invocation } from "../command.ts";

/** `bulkhead plugin import <file>`. */
export async function pluginImport({ terminal, args, options, json }: Invocation): Promise<number> {
  const { importPlugins } = await import("../../../kit/author/import-plugin.ts");
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const into = resolve(terminal.cwd, text(options["into"]) ?? ".");
  const file = resolve(terminal.cwd, args[0] ?? "");
  const written = await importPlugins(file, { into, command: text(options["command"]) }).finally(stopBundler);
  for (const plugin of written) {
    await terminal.stdout.write(
      json
        ? `${JSON.stringify(plugin)}\n`
        : `Wrote the plugin ${plugin.id} to ${plugin.folder}\n  Next: "bulkhead plugin check ${plugin.folder}"\n`,
    );
  }
  return 0;
}
