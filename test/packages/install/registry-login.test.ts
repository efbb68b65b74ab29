import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fetchFromRegistry } from "../../../core/packages/install/fetch-registry.ts";
import { errorOf } from "../../sessions/host/test-host.ts";

it("names the variable of .npmrc that has no value when a registry wants a login", async () => {
  const server = createServer((_, answer) => answer.writeHead(401).end("{}"));
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const folder = await mkdtemp(join(tmpdir(), "bulkhead-login-"));
  const file = join(folder, ".npmrc");
  const wish = { name: "@corp/tool", wanted: "latest", folder, maxBytes: 1000 };
  try {
    const lines = [`@corp:registry=http://${host}/`, `//${host}/:_authToken=`];
    await writeFile(join(folder, "package.json"), "{}");
    await writeFile(file, `${lines.join("\n")}\${CORP_TOKEN_OF_TEST}\n# \${OTHER}\n`);
    expect(await errorOf(fetchFromRegistry(wish))).toMatchObject({
      code: "network_error",
      hint: `Set the variable \${CORP_TOKEN_OF_TEST} of ${file}: it has no value here.`,
    });
    await writeFile(file, `${lines.join("\n")}wrong\n`);
    expect((await errorOf(fetchFromRegistry(wish))).hint).toContain("npm login");
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
