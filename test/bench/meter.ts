import { Buffer } from "node:buffer";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { loadCore } from "./load-core.ts";
import { aimed, type Figure, quantile, timed } from "./measure.ts";

interface Egress {
  listen(): Promise<number>;
  close(): Promise<void>;
}
interface EgressModule {
  createEgress(options: object): Egress;
}
interface MeterModule {
  createMeter(options: object): object;
}

const path = "/v1/messages";

/**
 * One model's streamed answers by way of an endpoint that reads them and by way of one that does not, in turns: when the
 * first byte of a short answer comes, and how fast a long one passes.
 */
export async function meter({ quick }: { quick: boolean }): Promise<Figure[]> {
  const { createEgress } = await loadCore<EgressModule>("walls/agent/egress-server");
  const { createMeter } = await loadCore<MeterModule>("walls/agent/meter/meter");
  let counted = 0;
  const read = createMeter({ onRequest() {}, onCall: () => counted++, spent: () => null });
  const model = await startModel();
  const egresses = [[], [read]].map((wires) =>
    createEgress({
      token: "token",
      most: 64,
      route: () => Promise.resolve({ addresses: ["127.0.0.1"], port: model.port }),
      endpoint: () => ({ url: new URL(`http://127.0.0.1:${model.port}`), keys: [], wires }),
    })
  );
  try {
    const ports = await Promise.all(egresses.map((egress) => egress.listen()));
    const firsts: number[][] = [[], []];
    const longs: number[][] = [[], []];
    const bytes = quick ? 50_000_000 : 200_000_000;
    for (let round = -5; round < (quick ? 100 : 1000); round++) {
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const { firstMs } = await ask(ports[at]!, 1000);
        if (round >= 0) firsts[at]!.push(firstMs);
      }
    }
    for (let round = -1; round < (quick ? 5 : 9); round++) {
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const took = await timed(() => ask(ports[at]!, bytes));
        if (round >= 0) longs[at]!.push(took);
      }
    }
    if (counted === 0) throw new Error("The endpoint read no answer.");
    const [plain = 0, metered = 0] = firsts.map((one) => quantile(one, 0.5));
    const rates = longs.map((one) => bytes / quantile(one, 0.5) / 1000);
    const ratios = longs[0]!.map((ms, at) => ms / longs[1]![at]!);
    return [
      { name: "meter.first_byte.without", value: plain, unit: "ms" },
      { name: "meter.first_byte.with", value: metered, unit: "ms" },
      aimed({ name: "meter.first_byte.more", value: metered - plain, unit: "ms" }, { most: 1 }),
      { name: "meter.throughput.without", value: rates[0]!, unit: "mb_per_second" },
      { name: "meter.throughput.with", value: rates[1]!, unit: "mb_per_second" },
      aimed({ name: "meter.throughput.ratio", value: quantile(ratios, 0.5), unit: "ratio" }, { least: 0.9 }),
    ];
  } finally {
    for (const egress of egresses) await egress.close();
    await model.close();
  }
}

/** A model whose answer has as many bytes as its caller's `x-bytes` says. */
async function startModel(): Promise<{ port: number; close(): Promise<void> }> {
  const delta = { type: "content_block_delta", delta: { type: "text_delta", text: "words ".repeat(20) } };
  const piece = Buffer.from(`event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`);
  const many = Buffer.concat(new Array(100).fill(piece));
  const server = createServer((request, response) => {
    let left = Number(request.headers["x-bytes"]);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}\n\n');
    const more = () => {
      while (left > 0) {
        const next = left > many.length ? many : piece;
        left -= next.length;
        if (!response.write(next)) return void response.once("drain", more);
      }
      response.end('data: {"type":"message_delta","usage":{"output_tokens":9}}\n\n');
    };
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, close };
}

/** Asks the model by way of a proxy, and reads all of the answer. */
function ask(port: number, bytes: number): Promise<{ firstMs: number }> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { "x-bytes": String(bytes), "x-api-key": "none" };
    get({ port, host: "127.0.0.1", path: `/model${path}`, method: "POST", headers, agent: false }, (answer) => {
      let firstMs = 0;
      answer.on("data", () => firstMs ||= performance.now() - started);
      answer.on("end", () => resolve({ firstMs }));
      answer.on("error", reject);
    }).on("error", reject);
  });
}
