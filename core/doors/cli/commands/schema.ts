import { manifestJsonSchema } from "../../../../plugin-sdk/manifest-json-schema.ts";
import { hostManifestJsonSchema } from "../../../ground/config/host-manifest-schema.ts";
import { type DefineCommand, examples, type Invocation } from "../command.ts";

const schemas: Readonly<Record<string, () => object>> = { plugin: manifestJsonSchema, host: hostManifestJsonSchema };

/** `bulkhead schema <plugin|host>`. */
export const defineSchema: DefineCommand = (command, bind) => {
  command
    .addArgument(command.createArgument("<of>", "which file the schema is of").choices(Object.keys(schemas)))
    .addHelpText(...examples(
      ["bulkhead schema plugin > plugin.schema.json", 'then "# yaml-language-server: $schema=./plugin.schema.json"'],
      ["bulkhead schema host > bulkhead.schema.json", 'what "bulkhead init" writes beside bulkhead.yaml'],
    ))
    .action(bind(schema));
};

async function schema({ terminal, args }: Invocation): Promise<number> {
  await terminal.stdout.write(`${JSON.stringify(schemas[args[0] ?? ""]?.(), null, 2)}\n`);
  return 0;
}
