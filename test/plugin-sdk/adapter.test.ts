import { describe, expect, test } from "vitest";
import type { AccessMode } from "../../plugin-sdk/access-modes.ts";
import { AgentAdapter, defineAdapter, requiredMembers } from "../../plugin-sdk/adapter.ts";
import { CliAdapter } from "../../plugin-sdk/cli-adapter.ts";
import type { Availability } from "../../plugin-sdk/availability.ts";
import {
  AdapterInitializationError,
  BulkheadError,
  errorDataOf,
  errorFromData,
  InvalidModelError,
} from "../../plugin-sdk/errors.ts";
import { RateLimitDetector } from "../../plugin-sdk/rate-limit.ts";
import { MemoryContext } from "../../plugin-sdk/testing.ts";

const api = (model: string, priority: number, enabled = true): AccessMode => ({
  type: "api",
  priority,
  enabled,
  model,
  pricing: { input_per_1k_tokens: null, output_per_1k_tokens: null, currency: "USD" },
  max_tokens: 1,
});

const definition = { id: "a", name: "A", version: "1.0.0", runSession: async function* () {} };

/** Authors without TypeScript may extend a class and leave out what it must have. */
const Abstract = AgentAdapter as unknown as new () => object;
const AbstractCli = CliAdapter as unknown as new () => object;

describe("AgentAdapter", () => {
  test("cannot be made by itself", () => {
    expect(() => Reflect.construct(AgentAdapter, [])).toThrow("AgentAdapter is abstract");
  });

  test.each<[string, string[], new () => object]>([
    ["Half", ["isAvailable", "runSession"], class Half extends Abstract {}],
    [
      "Asked",
      ["runSession"],
      class Asked extends Abstract {
        isAvailable() {}
      },
    ],
    [
      "Own",
      ["runSession"],
      class Own extends Abstract {
        isAvailable() {}
        runSession = () => {};
      },
    ],
    ["CliAdapter", ["findBinary", "getVersion", "checkAuth", "buildCommand", "parseOutput"], AbstractCli],
    [
      "Tool",
      ["checkAuth", "buildCommand", "parseOutput"],
      class Tool extends AbstractCli {
        findBinary() {}
        getVersion() {}
      },
    ],
  ])("is not made of the incomplete class %s, which lacks %j", (name, missing, Incomplete) => {
    const made = () => new Incomplete();
    expect(made).toThrow(TypeError);
    expect(made).toThrow(`Cannot make an adapter of class "${name}": it lacks ${missing.join(", ")}.`);
    expect(made).toThrow(expect.objectContaining({ missing }));
  });

  test("is made of a class that inherits what it must have", () => {
    class Whole extends Abstract {
      isAvailable() {}
      runSession() {}
    }
    expect(new (class Heir extends Whole {})()).toBeInstanceOf(AgentAdapter);
  });

  test("has every member that an adapter must have, once it is extended", () => {
    const adapter = new (defineAdapter(definition))();
    expect(requiredMembers.filter((name) => Reflect.get(adapter, name) === undefined)).toEqual([]);
    expect(adapter.getRateLimitDetector()).toBeInstanceOf(RateLimitDetector);
  });

  test("getAccessMode gives the first enabled mode by priority, or null", () => {
    const modes: AccessMode[] = [
      api("off", 1, false),
      api("second", 2),
      { type: "subscription", priority: 2, enabled: true, plan: "pro", rate_limits: { requests_per_day: 1 } },
    ];
    const status = new (defineAdapter({ ...definition, access_modes: modes }))().getAccessMode();
    expect(status).toEqual({
      type: "api",
      status: "available",
      current: { requests: 0, tokens: 0 },
      limits: {},
      reset_at: null,
      estimated_wait: null,
    });
    expect(new (defineAdapter(definition))().getAccessMode()).toBeNull();
  });

  test("validateModel knows the models of its access modes", () => {
    const adapter = new (defineAdapter({ ...definition, access_modes: [api("m", 1)] }))();
    expect(adapter.validateModel("m")).toBe("m");
    expect(() => adapter.validateModel("x")).toThrow(InvalidModelError);
    expect(new (defineAdapter(definition))().validateModel("anything")).toBe("anything");
  });

  test.each<[Availability, string, boolean, boolean]>([
    ["available", "healthy", true, true],
    ["rate_limited", "degraded", true, true],
    ["quota_exhausted", "degraded", true, true],
    ["unauthenticated", "unhealthy", true, false],
    ["incompatible", "unhealthy", true, false],
    ["missing", "unhealthy", false, false],
    ["unrunnable", "unhealthy", false, false],
  ])("healthCheck calls %s %s", async (availability, status, binary_found, authenticated) => {
    const isAvailable = () => Promise.resolve({ availability, reason: "why", version: "1" });
    const health = await new (defineAdapter({ ...definition, isAvailable }))().healthCheck(new MemoryContext());
    expect(health).toMatchObject({ status, details: { binary_found, authenticated, binary_version: "1" } });
    expect(health.error).toBe(status === "healthy" ? undefined : "why");
  });
});

describe("defineAdapter", () => {
  test("takes over the members it is given", () => {
    const adapter = new (defineAdapter({ ...definition, validateModel: (model) => `own-${model}` }))();
    expect(adapter.validateModel("m")).toBe("own-m");
  });

  test("names every part that is missing", () => {
    expect(() => defineAdapter({ id: "a" } as never)).toThrow(
      expect.objectContaining({
        code: "adapter_incomplete",
        details: { missing: ["name", "version", "runSession"] },
      }),
    );
  });
});

describe("errors as data", () => {
  test.each([
    new BulkheadError("not_found", "No.", { hint: "Look.", details: { a: 1 } }),
    new InvalidModelError("m", ["a", "b"]),
    new AdapterInitializationError("No."),
  ])("errorFromData gives back what toJSON gave: %s", (error) => {
    const back = errorFromData(error.toJSON());
    expect([back.constructor, back.toJSON()]).toEqual([error.constructor, error.toJSON()]);
  });

  test("errorDataOf knows an error of ours by its form, and nothing else", () => {
    const foreign = Object.assign(new Error("Gone."), { code: "not_found", details: { a: 1 }, path: "/secret" });
    expect(errorDataOf(foreign)).toEqual({ code: "not_found", message: "Gone.", details: { a: 1 } });
    for (
      const other of [new Error("x"), Object.assign(new Error("x"), { code: "ENOENT" }), { code: "not_found" }, null]
    ) {
      expect(errorDataOf(other)).toBeNull();
    }
  });
});
