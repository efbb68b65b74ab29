import { describe, expect, it } from "vitest";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";

const variables: Readonly<Record<string, string>> = { PLACE: "/srv/x", LEVEL: "debug", KEY: "k-123", EMPTY: "" };
const read = (text: string) => parseHostManifest(text, { file: "b.yaml", env: (name) => variables[name] });

function problemOf(text: string): string {
  try {
    read(text);
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  return "none";
}

describe("parseHostManifest with references to the environment", () => {
  it("fills them in for a source, options, state_dir and daemon", () => {
    const manifest = read(
      [
        "bulkhead: 1",
        'state_dir: "${PLACE}/state"',
        'daemon: { log_level: "${LEVEL}" }',
        "plugins:",
        "  a:",
        '    source: "${PLACE}/a"',
        '    config: { url: "http://${PLACE}:${KEY}", list: ["${KEY}"], empty: "${EMPTY}", text: "$${KEY} $1" }',
        "",
      ].join("\n"),
    );
    expect(manifest).toMatchObject({ state_dir: "/srv/x/state", daemon: { log_level: "debug" } });
    expect(manifest.plugins["a"]).toMatchObject({
      source: "/srv/x/a",
      config: { url: "http:///srv/x:k-123", list: ["k-123"], empty: "", text: "${KEY} $1" },
    });
  });

  it("never fills them in for permissions, and says where they stand", () => {
    expect(problemOf('bulkhead: 1\nplugins:\n  a:\n    grant:\n      net: ["${HOST}:443"]\n')).toBe(
      'b.yaml:5:13 plugins.a.grant.net[0]: expected a permission written out, found string "${HOST}:443"; ' +
        "nothing is granted by the environment",
    );
    for (
      const grant of [
        'read: ["${PLACE}"]',
        'env: ["${KEY}"]',
        'run: ["${PLACE}"]',
        'run: [{ binary: "${PLACE}" }]',
        'secrets: ["${KEY}"]',
      ]
    ) {
      for (const list of ["grant", "deny"]) {
        expect(problemOf(`bulkhead: 1\nplugins:\n  a:\n    ${list}:\n      ${grant}\n`)).toContain(
          "a permission written out",
        );
      }
    }
  });

  it("says at line and column which variable is not set, and what is no name", () => {
    expect(problemOf('bulkhead: 1\nstate_dir: "${NOWHERE}/x"\n')).toBe(
      "b.yaml:2:12 state_dir: expected the environment variable NOWHERE to be set, found none of that name",
    );
    expect(problemOf('bulkhead: 1\nstate_dir: "${a b}"\n')).toContain("the name of an environment variable in ${}");
  });

  it("leaves alone what has references of its own kind", () => {
    const manifest = read(
      'bulkhead: 1\ntools:\n  t:\n    binary: tr\n    command_template: "{binary} a b"\n    env_vars: { A: "${NOWHERE}" }\n',
    );
    expect(manifest.tools["t"]?.env_vars).toEqual({ A: "${NOWHERE}" });
  });

  it("reads numbers and booleans where they are expected, and no other text", () => {
    const env = (name: string) => ({ PORT: "8123", TIME: "90s", MANY: "many" })[name];
    const { daemon } = parseHostManifest("bulkhead: 1\ndaemon:\n  port: ${PORT}\n  drain_ms: ${TIME}\n", {
      file: "b.yaml",
      env,
    });
    expect(daemon).toEqual({ port: 8123, drain_ms: 90_000 });
    const many = () => parseHostManifest("bulkhead: 1\ndaemon:\n  port: ${MANY}\n", { file: "b.yaml", env });
    expect(many).toThrow("daemon.port: expected integer of 0 to 65535, found something else in ${MANY}");
  });

  it("finds the operator's home in a state_dir and a source that begin with ~/, and nobody else's", () => {
    const home = (text: string) => parseHostManifest(text, { file: "b.yaml", env: () => "/home/me" });
    expect(home("bulkhead: 1\nstate_dir: ~/st\nplugins: { a: { source: ~/a } }\n")).toMatchObject({
      state_dir: "/home/me/st",
      plugins: { a: { source: "/home/me/a" } },
    });
    expect(() => home("bulkhead: 1\nstate_dir: ~you/st\n")).toThrow("expected ~/ for your own home");
  });

  it("reads nothing out of what a variable holds", () => {
    const manifest = parseHostManifest('bulkhead: 1\nstate_dir: "${A}"\n', { file: "b.yaml", env: () => "${B}: [x" });
    expect(manifest.state_dir).toBe("${B}: [x");
  });

  it("never shows what came out of the environment, or may be a secret, in an error", () => {
    const texts = [
      'daemon: { port: "${KEY}", log_level: "${KEY}" }',
      'state_dir: { a: "${KEY}" }',
      'plugins: { a: { source: ["${KEY}"] } }',
      'plugins: { a: { source: "${KEY}", config: ["${KEY}"] } }',
      "mcp_servers: { a: { command: b, env: { PASSWORD: [k-123] } } }",
      "mcp_servers: { a: { command: b, env: [k-123] } }",
      "tools: { a: { binary: b, command_template: '{binary}', env_vars: { C: [k-123] } } }",
      "tools: { a: { binary: b, command_template: '{binary}', env_vars: k-123 } }",
    ];
    for (const text of texts) {
      const problem = problemOf(`bulkhead: 1\n${text}\n`);
      expect(problem).toContain("b.yaml:2:");
      expect(problem).not.toContain("k-123");
    }
  });
});
