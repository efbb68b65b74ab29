import type { AgentAdapter } from "../../../plugin-sdk/adapter.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { type MadeAdapter, makeAdapter } from "../../../plugin-sdk/make-adapter.ts";
import { endowments } from "./endowments/all.ts";
import { Scope } from "./scope.ts";
import { describeThrown } from "./thrown.ts";

interface CompartmentShape {
  evaluate(source: string): unknown;
}

declare const Compartment: new (options: { __options__: true; name: string; globals: object }) => CompartmentShape;

/** A plugin's script evaluated in a compartment of its own. */
export interface Evaluated {
  scope: Scope;
  /** Makes the adapter; each compartment serves one session, so this is called once. */
  construct(): AgentAdapter;
}

/**
 * Evaluates the script in a new compartment.
 * @throws {BulkheadError} `load_failed` when the script throws, `adapter_incomplete` without an adapter class
 */
export function evaluatePlugin(options: { pluginId: string; script: string; maxTimers: number }): Evaluated {
  const scope = new Scope(options.maxTimers);
  const name = `plugin:${options.pluginId}`;
  const compartment = new Compartment({ __options__: true, name, globals: endowments(scope) });
  const exported = evaluate(compartment, `${options.script}\n//# sourceURL=${name}`);
  const adapterClass = readDefault(exported);
  return { scope, construct: () => construct(adapterClass) };
}

function evaluate(compartment: CompartmentShape, source: string): unknown {
  try {
    return compartment.evaluate(source);
  } catch (thrown) {
    const { message, details } = describeThrown(thrown, "load_failed");
    throw new BulkheadError("load_failed", `The plugin's script failed while it was evaluated: ${message}`, {
      details,
    });
  }
}

function readDefault(exported: unknown): new () => AgentAdapter {
  const value: unknown = typeof exported === "object" && exported !== null
    ? Reflect.get(exported, "default")
    : undefined;
  if (isClass(value)) return value;
  throw new BulkheadError(
    "adapter_incomplete",
    "The plugin's entry has no adapter as its default export: export a class that extends AgentAdapter, or what defineAdapter() returns.",
  );
}

/** True for a value that `new` accepts; tests it without running it. */
function isClass(value: unknown): value is new () => AgentAdapter {
  if (typeof value !== "function") return false;
  try {
    Reflect.construct(Object, [], value);
    return true;
  } catch {
    return false;
  }
}

function construct(adapterClass: new () => AgentAdapter): AgentAdapter {
  const { adapter, missing } = make(adapterClass);
  if (typeof adapter !== "object") {
    throw new BulkheadError("adapter_incomplete", "The adapter's constructor made no object.");
  }
  if (missing.length === 0) return adapter;
  throw new BulkheadError("adapter_incomplete", `The adapter lacks ${missing.join(", ")}.`, { details: { missing } });
}

function make(adapterClass: new () => AgentAdapter): MadeAdapter {
  try {
    return makeAdapter(adapterClass);
  } catch (thrown) {
    const { message, details } = describeThrown(thrown, "load_failed");
    throw new BulkheadError("load_failed", `The adapter's constructor threw: ${message}`, { details });
  }
}
