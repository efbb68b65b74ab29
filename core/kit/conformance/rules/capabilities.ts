import { type Rule, skipped } from "../rule.ts";
import { agentCapabilitiesSchema } from "../../../../plugin-sdk/capabilities.ts";
import { schemaFaults } from "../schema-faults.ts";

/** DRIFT: sessions are routed by what the manifest declares. */
export const capabilitiesRule: Rule = {
  id: "capabilities",
  title: "The capabilities that the adapter states are those that its manifest declares.",
  check({ members, manifest }) {
    if (members === null) return skipped("The adapter could not be looked at.");
    const stated = { capabilities: members.capabilities, "getCapabilities()": members.calls["getCapabilities"]?.value };
    return Object.entries(stated).flatMap(([place, value]) => {
      const faults = schemaFaults(agentCapabilitiesSchema, value);
      if (faults.length > 0) return faults.map((fault) => ({ message: `${place} does not fit its schema: ${fault}` }));
      return differences(flat(manifest.capabilities), flat(value as object)).map((message) => ({
        message: `DRIFT: ${message} in ${place}.`,
      }));
    });
  },
};

function differences(declared: Map<string, unknown>, stated: Map<string, unknown>): string[] {
  return [...new Set([...declared.keys(), ...stated.keys()])].flatMap((name) => {
    const [was, is] = [declared.get(name) ?? false, stated.get(name) ?? false];
    return was === is ? [] : [`the manifest declares ${name}: ${String(was)}, and it is ${String(is)}`];
  });
}

function flat(capabilities: object): Map<string, unknown> {
  const { custom = {}, ...rest } = capabilities as { custom?: Record<string, boolean> };
  return new Map(
    [...Object.entries(rest), ...Object.entries(custom).map(([key, value]) => [`custom.${key}`, value])] as [
      string,
      unknown,
    ][],
  );
}
