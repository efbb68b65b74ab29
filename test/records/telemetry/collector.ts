import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type TSchema, Type } from "@sinclair/typebox";
import { Check } from "@sinclair/typebox/value";

const closed = { additionalProperties: false };
const id = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${2 * bytes}}$` });
const nanos = Type.String({ pattern: "^[1-9][0-9]{18}$" });
const value = Type.Union([
  Type.Object({ stringValue: Type.String() }, closed),
  Type.Object({ boolValue: Type.Boolean() }, closed),
  Type.Object({ intValue: Type.String({ pattern: "^-?[0-9]+$" }) }, closed),
  Type.Object({ doubleValue: Type.Number() }, closed),
]);
const attributes = Type.Array(Type.Object({ key: Type.String({ minLength: 1 }), value }, closed));
const resource = Type.Object({ attributes }, closed);
const scope = Type.Object({ name: Type.String(), version: Type.String(), attributes }, closed);

const span = Type.Object({
  traceId: id(16),
  spanId: id(8),
  parentSpanId: Type.Optional(id(8)),
  name: Type.String({ minLength: 1 }),
  kind: Type.Integer({ minimum: 1, maximum: 5 }),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  links: Type.Optional(Type.Array(Type.Object({ traceId: id(16), spanId: id(8) }, closed))),
  status: Type.Object({ code: Type.Optional(Type.Literal(2)) }, closed),
}, closed);

const schemas: Record<string, TSchema> = {
  "/v1/traces": Type.Object({
    resourceSpans: Type.Array(
      Type.Object({
        resource,
        scopeSpans: Type.Array(Type.Object({ scope, spans: Type.Array(span, { minItems: 1 }) }, closed)),
      }, closed),
    ),
  }, closed),
  "/v1/metrics": Type.Object({
    resourceMetrics: Type.Array(
      Type.Object({
        resource,
        scopeMetrics: Type.Array(
          Type.Object({
            scope,
            metrics: Type.Array(
              Type.Object({
                name: Type.String(),
                unit: Type.String(),
                histogram: Type.Object({
                  aggregationTemporality: Type.Literal(1),
                  dataPoints: Type.Array(
                    Type.Object({
                      startTimeUnixNano: nanos,
                      timeUnixNano: nanos,
                      attributes,
                      count: Type.String({ pattern: "^[1-9][0-9]*$" }),
                      sum: Type.Number(),
                      min: Type.Number(),
                      max: Type.Number(),
                      bucketCounts: Type.Array(Type.String({ pattern: "^[0-9]+$" })),
                      explicitBounds: Type.Array(Type.Number()),
                    }, closed),
                    { minItems: 1 },
                  ),
                }, closed),
              }, closed),
              { minItems: 1 },
            ),
          }, closed),
        ),
      }, closed),
    ),
  }, closed),
};

/** A span as it came, its attributes by name. */
export interface TakenSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  links?: { traceId: string; spanId: string }[];
  status: { code?: number };
  attributes: Record<string, string | number | boolean>;
}

/** A point of a histogram as it came. */
export interface TakenPoint {
  metric: string;
  count: number;
  sum: number;
  buckets: number[];
  attributes: Record<string, string | number | boolean>;
}

/** What a collector answers a request with; null: it is gone before it answers. */
export interface CollectorAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  afterMs?: number;
}

type Answer = (path: string, request: number) => CollectorAnswer;

/** A collector on this machine that takes nothing which breaks the protocol's schema. */
export class Collector {
  readonly spans: TakenSpan[] = [];
  readonly points: TakenPoint[] = [];
  /** Whole bodies that it took. */
  readonly bodies: string[] = [];
  readonly headers: IncomingMessage["headers"][] = [];
  /** What broke the schema. */
  readonly faults: string[] = [];
  requests = 0;
  answer: Answer = () => ({ status: 200, body: "{}" });
  readonly #server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      const path = request.url ?? "";
      this.headers.push(request.headers);
      const { status, headers = {}, body: said = "{}", afterMs = 0 } = this.answer(path, ++this.requests);
      if (status === 200) this.#take(path, body);
      setTimeout(() => response.writeHead(status, headers).end(said), afterMs);
    });
  });

  /** Starts it; on the same port as before where one is given. */
  static async start(port = 0): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.#server.listen(port, "127.0.0.1", resolve));
    return collector;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(path: string, body: string): void {
    const data = JSON.parse(body);
    const schema = schemas[path];
    if (schema === undefined || !Check(schema, data)) this.faults.push(`${path}: ${body.slice(0, 500)}`);
    this.bodies.push(body);
    for (const { scopeSpans } of data.resourceSpans ?? []) {
      for (const { spans } of scopeSpans) {
        this.spans.push(...spans.map((one: { attributes: never }) => ({ ...one, attributes: named(one.attributes) })));
      }
    }
    for (const { scopeMetrics } of data.resourceMetrics ?? []) {
      for (const { metrics } of scopeMetrics) {
        for (const { name, histogram } of metrics) {
          for (const point of histogram.dataPoints) {
            const { count, sum, bucketCounts, attributes } = point;
            const buckets = bucketCounts.map(Number);
            this.points.push({ metric: name, count: Number(count), sum, buckets, attributes: named(attributes) });
          }
        }
      }
    }
  }
}

function named(attributes: { key: string; value: Record<string, unknown> }[]): TakenSpan["attributes"] {
  return Object.fromEntries(attributes.map(({ key, value: { intValue, ...other } }) => [
    key,
    intValue === undefined ? Object.values(other)[0] as string : Number(intValue),
  ]));
}
