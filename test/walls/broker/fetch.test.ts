import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { SessionBroker, SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { defaultLimits } from "../../../core/ground/config/limits.ts";
import { capabilities, codeOf, errorOf, makeBroker, readAll } from "./broker-fixture.ts";
import { serve } from "./loopback-server.ts";

function fetchUrl(broker: SessionBroker, url: string, options: object = {}) {
  const value = broker.call("fetch", { url, options });
  return value as Promise<{ status: number; headers: Record<string, string>; body: number }>;
}

function makeNet(net: string[], changes: Partial<SessionBrokerOptions> = {}) {
  return makeBroker({ permissions: { net }, ...changes });
}

describe("fetch", () => {
  test("sends a request to a granted place and streams the body", async () => {
    const { port, requests } = await serve((request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        response.writeHead(201, { "x-kind": "test", "set-cookie": "a=b" });
        response.end(`got ${new TextDecoder().decode(chunks[0])}`);
      });
    });
    const { broker, events } = await makeNet([`127.0.0.1:${port}`]);
    const options = { method: "post", headers: { Authorization: "Bearer x" }, body: "häh" };
    const { status, headers, body } = await fetchUrl(broker, `http://127.0.0.1:${port}/a?b`, options);
    expect(status).toBe(201);
    expect(headers).toMatchObject({ "x-kind": "test" });
    expect(headers).not.toHaveProperty("set-cookie");
    expect(await readAll(broker, body)).toBe("got häh");
    expect(requests[0]).toMatchObject({ method: "POST", url: "/a?b" });
    expect(requests[0]?.headers).toMatchObject({ authorization: "Bearer x", host: `127.0.0.1:${port}` });
    expect(capabilities(events)).toEqual([
      { type: "capability", permission: "net", target: `127.0.0.1:${port}`, decision: "allowed" },
    ]);
  });

  test.each([[undefined], [[]], [["127.0.0.1:1"]], [["*:80"]]])("is denied unless granted: %j", async (net) => {
    const { port, requests } = await serve((_request, response) => response.end());
    const { broker } = await makeBroker({ permissions: net === undefined ? {} : { net } });
    expect(await errorOf(fetchUrl(broker, `http://127.0.0.1:${port}/`))).toMatchObject({
      code: "permission_denied",
      hint: `bulkhead plugin grant acme net:127.0.0.1:${port}`,
    });
    expect(requests).toEqual([]);
  });

  test("reaches a local name that is granted literally", async () => {
    const { port } = await serve((_request, response) => response.end("local"));
    const { broker } = await makeNet([`localhost:${port}`]);
    expect(await readAll(broker, (await fetchUrl(broker, `http://localhost:${port}/`)).body)).toBe("local");
    expect(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/`))).toBe("permission_denied");
  });

  test("refuses a name that a wildcard covers, if it leads inwards", async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const { broker } = await makeNet([`*.sub.localhost:${port}`]);
    // Where the system does not know such names there is no address at all.
    expect(["permission_denied", "network_error"]).toContain(
      await codeOf(fetchUrl(broker, `http://a.sub.localhost:${port}/`)),
    );
    expect(requests).toEqual([]);
  });

  test.each(["file:///etc/passwd", "ftp://127.0.0.1/", "unix:/x", "data:text/plain,x", "not a url", "http://"])(
    "refuses the address %s",
    async (url) => {
      const { broker } = await makeNet(["127.0.0.1:80"]);
      expect(await codeOf(fetchUrl(broker, url))).toBe("invalid_request");
    },
  );

  test("refuses user names in the address", async () => {
    const { broker } = await makeNet(["127.0.0.1:80"]);
    expect(await codeOf(fetchUrl(broker, "http://user:pass@127.0.0.1/"))).toBe("invalid_request");
  });

  test.each([
    { Host: "evil" },
    { "content-length": "0" },
    { "Transfer-Encoding": "chunked" },
    { cookie: "a=b" },
    { "proxy-authorization": "x" },
    { "Sec-Fetch-Site": "none" },
    { "x-forwarded-for": "1.1.1.1" },
    { "metadata-flavor": "x" },
    { a: "b\r\nHost: evil" },
    { "a b": "c" },
    { "a\r\nb": "c" },
    { a: "1", A: "2" },
    { a: "\u0000" },
    { a: "\u4e00" },
  ])("refuses the headers %j", async (headers) => {
    const { port, requests } = await serve((_request, response) => response.end());
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    expect(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/`, { headers }))).toBe("invalid_request");
    expect(requests).toEqual([]);
  });

  test.each([{ method: "CONNECT" }, { method: "TRACE" }, { method: "GET", body: "x" }, { method: "A B" }])(
    "refuses %j",
    async (options) => {
      const { broker } = await makeNet(["127.0.0.1:80"]);
      expect(await codeOf(fetchUrl(broker, "http://127.0.0.1/", options))).toBe("invalid_request");
    },
  );

  test("says network_error where nobody listens", async () => {
    const { port, close } = await serve(() => {});
    await close();
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    expect(await errorOf(fetchUrl(broker, `http://127.0.0.1:${port}/`))).toMatchObject({
      code: "network_error",
      message: `Cannot reach "127.0.0.1:${port}": the connection was refused.`,
    });
  });

  test("gives up when no answer comes in time", async () => {
    const { port } = await serve(() => {});
    const limits = { ...defaultLimits, call_timeout_ms: 100 };
    const { broker } = await makeNet([`127.0.0.1:${port}`], { limits });
    expect(await errorOf(fetchUrl(broker, `http://127.0.0.1:${port}/`))).toMatchObject({
      code: "network_error",
      message: expect.stringContaining("did not answer in time"),
    });
  });

  test("may wait as long as it likes for a body that streams", async () => {
    const { port } = await serve((_request, response) => {
      response.write("one");
      setTimeout(() => response.end("two"), 300);
    });
    const limits = { ...defaultLimits, call_timeout_ms: 100 };
    const { broker } = await makeNet([`127.0.0.1:${port}`], { limits });
    const { body } = await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    expect(await broker.call("stream_read", { stream_id: body })).toBe("one");
    expect(await readAll(broker, body)).toBe("two");
  });

  test("fails the body when the connection breaks off", async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("part");
      setTimeout(() => response.socket?.destroy(), 50);
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    const { body } = await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    expect(await codeOf(readAll(broker, body))).toBe("network_error");
  });

  test("closes the connection when the reader leaves and when the session ends", async () => {
    let gone = 0;
    const { port } = await serve((_request, response) => {
      response.write("on");
      response.on("close", () => (gone += 1));
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    const left = await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    await broker.call("stream_close", { stream_id: left.body });
    await expect.poll(() => gone).toBe(1);
    await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    await broker.close();
    await expect.poll(() => gone).toBe(2);
  });

  test("holds sixteen responses open at most, and counts those that ended no more", async () => {
    const { port } = await serve((request, response) =>
      request.url === "/end" ? response.end("x") : response.write("x")
    );
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    for (let i = 0; i < 20; i++) {
      await readAll(broker, (await fetchUrl(broker, `http://127.0.0.1:${port}/end`)).body);
    }
    const bodies: number[] = [];
    for (let i = 0; i < 16; i++) bodies.push((await fetchUrl(broker, `http://127.0.0.1:${port}/`)).body);
    expect(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/`))).toBe("limit_exceeded");
    await broker.call("stream_close", { stream_id: bodies[0] });
    await fetchUrl(broker, `http://127.0.0.1:${port}/`);
  });
});

describe("fetch decodes", () => {
  const text = "compressed text ".repeat(100);

  test.each([
    ["gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["identity", new TextEncoder().encode(text)],
  ])("%s", async (encoding, bytes) => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": encoding, "content-length": bytes.length }).end(bytes);
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    const { body, headers } = await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    expect(await readAll(broker, body)).toBe(text);
    if (encoding !== "identity") expect(headers).not.toHaveProperty("content-length");
  });

  test("and stops a compressed bomb at the limit", async () => {
    const bomb = gzipSync(new Uint8Array(20 * 1024 * 1024));
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    });
    const permissions = { net: [`127.0.0.1:${port}`], limits: { response_bytes: 1024 * 1024 } };
    const { broker } = await makeBroker({ permissions });
    const { body } = await fetchUrl(broker, `http://127.0.0.1:${port}/`);
    expect(await codeOf(readAll(broker, body))).toBe("too_large");
  });

  test("and fails what is damaged, cut off or not known", async () => {
    const half = gzipSync(text).subarray(0, 30);
    const { port } = await serve((request, response) => {
      const encoding = request.url === "/odd" ? "rot13" : "gzip";
      response.writeHead(200, { "content-encoding": encoding }).end(request.url === "/half" ? half : "not gzip");
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    expect(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/odd`))).toBe("network_error");
    for (const path of ["", "half"]) {
      const { body } = await fetchUrl(broker, `http://127.0.0.1:${port}/${path}`);
      expect(await codeOf(readAll(broker, body))).toBe("network_error");
    }
  });
});

describe("fetch follows redirects", () => {
  const headers = { authorization: "Bearer x", "x-api-key": "k", accept: "text/plain" };

  test("to the same origin with all headers", async () => {
    const { port, requests } = await serve((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/next" }).end();
      else response.end("there");
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    const { status, body } = await fetchUrl(broker, `http://127.0.0.1:${port}/`, { headers });
    expect([status, await readAll(broker, body)]).toEqual([200, "there"]);
    expect(requests[1]?.headers).toMatchObject(headers);
  });

  test("to another granted origin without credentials", async () => {
    const there = await serve((_request, response) => response.end());
    const here = await serve((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${there.port}/` }).end();
    });
    const { broker } = await makeNet([`127.0.0.1:${here.port}`, `127.0.0.1:${there.port}`]);
    await fetchUrl(broker, `http://127.0.0.1:${here.port}/`, { method: "POST", body: "x", headers });
    expect(there.requests[0]?.method).toBe("POST");
    expect(there.requests[0]?.headers).toMatchObject({ accept: "text/plain" });
    expect(there.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(there.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });

  test("never to a place that is not granted", async () => {
    const there = await serve((_request, response) => response.end());
    const here = await serve((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${there.port}/` }).end();
    });
    const { broker } = await makeNet([`127.0.0.1:${here.port}`]);
    expect(await errorOf(fetchUrl(broker, `http://127.0.0.1:${here.port}/`))).toMatchObject({
      code: "permission_denied",
      hint: `bulkhead plugin grant acme net:127.0.0.1:${there.port}`,
    });
    expect(there.requests).toEqual([]);
  });

  test.each(["file:///etc/passwd", "http://u:p@127.0.0.1/", "http://["])("never to %s", async (location) => {
    const { port } = await serve((_request, response) => response.writeHead(302, { location }).end());
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    expect(["invalid_request", "network_error"]).toContain(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/`)));
  });

  test("five times at most", async () => {
    const { port, requests } = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("end");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const { broker } = await makeNet([`127.0.0.1:${port}`]);
    expect((await fetchUrl(broker, `http://127.0.0.1:${port}/5`)).status).toBe(200);
    requests.length = 0;
    expect(await codeOf(fetchUrl(broker, `http://127.0.0.1:${port}/6`))).toBe("network_error");
    expect(requests).toHaveLength(6);
  });

  test.each([[301, "GET"], [302, "GET"], [303, "GET"], [307, "POST"], [308, "POST"]])(
    "after a %i to a POST with %s",
    async (status, method) => {
      const { port, requests } = await serve((request, response) => {
        if (request.url === "/") response.writeHead(status, { location: "/next" }).end();
        else response.end();
      });
      const { broker } = await makeNet([`127.0.0.1:${port}`]);
      await fetchUrl(broker, `http://127.0.0.1:${port}/`, { method: "POST", body: "x" });
      expect(requests[1]?.method).toBe(method);
    },
  );
});
