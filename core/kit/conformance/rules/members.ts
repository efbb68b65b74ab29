import { type AccessMode, accessModeSchema, accessModeStatusSchema } from "../../../../plugin-sdk/access-modes.ts";
import { agentCapabilitiesSchema } from "../../../../plugin-sdk/capabilities.ts";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import { identityDrift } from "../../../packages/registry/identity-drift.ts";
import { noSuchModel } from "../misbehaviour.ts";
import { ofMembers, type Rule } from "../rule.ts";
import { callFaults, schemaFaults } from "../schema-faults.ts";

interface Need {
  capability: "multi_file" | "project_context" | "web_search";
  /** Its requirement, in words. */
  means: string;
  has(permissions: Permissions): boolean;
}

const some = (list: readonly unknown[] | undefined) => (list ?? []).length > 0;

const needs: readonly Need[] = [
  {
    capability: "project_context",
    means: "reads the working directory nor starts a program",
    has: ({ run, read }) => some(run) || some(read),
  },
  {
    capability: "multi_file",
    means: "writes files nor starts a program",
    has: ({ run, write }) => some(run) || some(write),
  },
  {
    capability: "web_search",
    means: "reaches a server nor starts a program",
    has: ({ run, net }) => some(run) || some(net),
  },
];

/** Rules of the adapter's members, and of what they say beside the manifest. */
export const memberRules: readonly Rule[] = [
  // An adapter that lacks a member fails at load.
  {
    id: "members",
    title: "The adapter has every member that an adapter must have, each of the right kind.",
    check({ load_error: error, members }) {
      if (error?.code === "adapter_incomplete") return [{ message: error.message }];
      return Object.entries(members?.types ?? {}).flatMap(([name, type]) => {
        const wanted = kinds[name] ?? "function";
        return type === wanted ? [] : [{ message: `The member "${name}" is ${type}, expected ${wanted}.` }];
      });
    },
  },
  // It is called before anything else, with a configuration that holds only what must be there.
  {
    id: "initialize",
    title: "initialize() takes a configuration with nothing but defaults.",
    check: ofMembers((members) => {
      const thrown = members.calls["initialize"]?.thrown;
      return thrown ? [{ message: `initialize() threw ${thrown.name}: ${thrown.message}` }] : [];
    }),
  },
  // The host always calls them, even when no session runs.
  {
    id: "lifecycle",
    title: "interrupt() and shutdown() do not throw, also where nothing runs.",
    check: ofMembers((members) => {
      return ["interrupt", "shutdown"].flatMap((name) => {
        const thrown = members.calls[name]?.thrown;
        return thrown ? [{ message: `${name}() threw ${thrown.name}: ${thrown.message}` }] : [];
      });
    }),
  },
  // DRIFT: what the adapter says of itself must be what its manifest says.
  {
    id: "identity",
    title: "The adapter's id, name and version are those of its manifest.",
    check: ofMembers((members, { manifest }) => {
      return identityDrift(manifest, members).map((message) => ({ message: `DRIFT: ${message}` }));
    }),
  },
  // DRIFT: sessions are routed by what the manifest declares.
  {
    id: "capabilities",
    title: "The capabilities that the adapter states are those that its manifest declares.",
    check: ofMembers((members, { manifest }) => {
      const stated = {
        capabilities: members.capabilities,
        "getCapabilities()": members.calls["getCapabilities"]?.value,
      };
      return Object.entries(stated).flatMap(([place, value]) => {
        const faults = schemaFaults(agentCapabilitiesSchema, value);
        if (faults.length > 0) {
          return faults.map((fault) => ({ message: `${place} does not fit its schema: ${fault}` }));
        }
        return differences(flat(manifest.capabilities), flat(value as object)).map((message) => ({
          message: `DRIFT: ${message} in ${place}.`,
        }));
      });
    }),
  },
  // DRIFT: a capability that nothing it may do could give.
  {
    id: "capability-means",
    title: "Declared capabilities are within reach of the declared permissions.",
    check({ manifest, permissions }) {
      return needs.filter(({ capability, has }) => manifest.capabilities[capability] === true && !has(permissions)).map(
        (
          { capability, means },
        ) => ({ message: `DRIFT: the manifest declares ${capability}, and the plugin neither ${means}.` }),
      );
    },
  },
  // DRIFT: who pays is decided by what the manifest declares.
  {
    id: "access-modes",
    title: "The adapter has no access mode that its manifest does not declare.",
    check: ofMembers((members, { manifest }) => {
      if (!Array.isArray(members.access_modes)) return [{ message: "accessModes is no list." }];
      const declared = new Set((manifest.access_modes ?? []).map(keyOf));
      return members.access_modes.flatMap((mode: unknown) => {
        const [fault] = schemaFaults(accessModeSchema, mode);
        if (fault !== undefined) return [{ message: `An access mode does not fit its schema: ${fault}` }];
        const key = keyOf(mode as AccessMode);
        return declared.has(key)
          ? []
          : [{ message: `DRIFT: the adapter has the access mode ${key}, its manifest has not.` }];
      });
    }),
  },
  // Checks the result of getAccessMode().
  {
    id: "access-mode-status",
    title: "getAccessMode() gives a status that fits its schema, or null.",
    check: ofMembers((members) => {
      return callFaults("getAccessMode", { calls: members.calls, schema: accessModeStatusSchema, nullable: true });
    }),
  },
  // DRIFT: a declared model must be taken, and where models are listed any other must be refused.
  {
    id: "models",
    title: "validateModel() takes each declared model and refuses others where models are listed.",
    check: ofMembers((members, { manifest }) => {
      const listed = manifest.models !== undefined || manifest.cli?.models !== undefined;
      return Object.entries(members.models).flatMap(([model, { type, value, thrown }]) => {
        if (model === noSuchModel) {
          if (thrown && thrown.code !== "invalid_model") {
            return [{ message: `For an unknown model it throws "${thrown.message}", not invalid_model.` }];
          }
          return listed && !thrown
            ? [{ message: "DRIFT: the manifest lists its models, and the adapter takes one that is not listed." }]
            : [];
        }
        if (thrown) {
          return [{ message: `DRIFT: the manifest declares model "${model}", refused with: ${thrown.message}` }];
        }
        return type === "string" && value !== ""
          ? []
          : [{ message: `validateModel("${model}") gave ${type}, no name.` }];
      });
    }),
  },
];

const kinds: Readonly<Record<string, string>> = {
  id: "string",
  name: "string",
  version: "string",
  capabilities: "object",
  accessModes: "object",
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

function keyOf(mode: AccessMode): string {
  return mode.type === "subscription" ? `subscription ${mode.plan}` : `${mode.type} ${mode.model}`;
}
