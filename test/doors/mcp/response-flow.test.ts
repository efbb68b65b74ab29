import { describe, expect, test } from "vitest";
import { ResponseFlow } from "../../../core/doors/mcp/response-flow.ts";

const big = "x".repeat(300 * 1024);

/** An answer that a library writes without asking whether anybody reads. */
function streamed(): { response: Response; write(text: string): void; close(): void } {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  return {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    write: (text) => controller.enqueue(new TextEncoder().encode(text)),
    close: () => controller.close(),
  };
}

async function settles(work: Promise<void>): Promise<boolean> {
  let settled = false;
  void work.then(() => (settled = true));
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
  return settled;
}

describe("ResponseFlow", () => {
  test("holds back whoever tells much until the client has read it, and nobody who tells little", async () => {
    const flow = new ResponseFlow();
    const { response, write } = streamed();
    const reader = flow.watch(response).body!.getReader();
    write("first");
    expect(flow.told("little")).toBeNull();
    const waits = flow.told(big)!;
    expect(await settles(waits)).toBe(false);
    expect((await reader.read()).value).toEqual(new TextEncoder().encode("first"));
    expect(await settles(waits)).toBe(false);
    const next = reader.read();
    expect(await settles(waits)).toBe(true);
    write("second");
    expect((await next).value).toEqual(new TextEncoder().encode("second"));
  });

  test.each(["cancelled", "closed"])("holds back nobody for a client whose answer is %s", async (how) => {
    const flow = new ResponseFlow();
    const { response, write, close } = streamed();
    const reader = flow.watch(response).body!.getReader();
    write("first");
    const waits = flow.told(big)!;
    expect(await settles(waits)).toBe(false);
    if (how === "cancelled") await reader.cancel();
    else {
      close();
      while (!(await reader.read()).done);
    }
    expect(await settles(waits)).toBe(true);
    expect(await settles(flow.told(big)!)).toBe(true);
  });

  test("leaves an answer alone that is no stream", async () => {
    const response = Response.json({ result: 1 });
    expect(new ResponseFlow().watch(response)).toBe(response);
    expect(await response.json()).toEqual({ result: 1 });
  });
});
